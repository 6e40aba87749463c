"""Run `failsoft` as far as Linux can act as another system: `python other_system.py win32|darwin ARGUMENTS...`.

Modules, names of `os` and `signal`, files below `/proc` and signal handlers of event loops are taken away. The standard
library and other packages are loaded before that, since what they need is the system itself.
"""

from __future__ import annotations

import asyncio
import builtins
import importlib
import io
import os
import runpy
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

MISSING_MODULES = {
    "win32": ("fcntl", "grp", "pwd", "resource", "termios", "tty", "pty", "readline", "uvloop", "posix"),
    "darwin": ("msvcrt", "spwd"),
}
MISSING_IN_OS = {
    "win32": (
        *("O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_NOCTTY", "O_CLOEXEC", "O_PATH", "O_TMPFILE", "O_NOATIME"),
        *("fork", "forkpty", "killpg", "getuid", "geteuid", "getgid", "getegid", "getpgid", "setsid", "mkfifo"),
        *("fchown", "chown", "lchown", "pread", "pwrite", "preadv", "pwritev", "register_at_fork", "uname"),
        *("sched_getaffinity", "statvfs", "getxattr", "setxattr", "listxattr", "getloadavg", "sendfile", "fdatasync"),
        *("copy_file_range", "memfd_create", "pidfd_open", "posix_fadvise", "wait4", "waitid", "posix_spawn"),
        *("fchdir", "sysconf", "confstr", "getpriority", "nice", "getgroups", "getgrouplist", "ctermid", "openpty"),
    ),
    "darwin": (
        *("O_PATH", "O_TMPFILE", "O_NOATIME", "sched_getaffinity", "getxattr", "setxattr", "listxattr", "removexattr"),
        *("fdatasync", "copy_file_range", "memfd_create", "pidfd_open", "posix_fadvise", "posix_fallocate", "waitid"),
    ),
}
MISSING_SIGNALS = {
    "win32": ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGQUIT", "SIGPIPE", "SIGALRM", "pthread_sigmask"),
    "darwin": ("SIGRTMIN", "SIGRTMAX", "SIGPOLL", "SIGPWR", "SIGSTKFLT", "sigtimedwait", "sigwaitinfo"),
}
OTHERS = (
    *("mcp", "mcp.server.stdio", "mcp.client.stdio", "mcp.client.streamable_http", "anyio._backends._asyncio"),
    *("anyio.abc", "anyio._core._subprocesses", "anyio.streams.file", "pydantic", "pydantic_settings", "httpx2"),
    *("loguru", "jsonschema", "rapidfuzz", "tenacity", "typer", "typer.main", "rich", "rich.markdown", "starlette"),
    *("starlette.requests", "uvicorn", "uvicorn.main", "sqlite3", "platformdirs", "platformdirs.unix", "markdown_it"),
    *("multiprocessing.spawn", "multiprocessing.popen_spawn_posix", "prometheus_client", "asyncio.unix_events"),
    *("shutil", "subprocess", "getpass", "yaml", "filelock", "http.cookiejar", "ctypes", "faulthandler"),
)


class _Missing:
    """Finds no module of these names."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)

    def find_spec(self, name: str, *_: Any) -> None:
        if name in self._names:
            msg = f"No module named {name!r}"
            raise ModuleNotFoundError(msg, name=name)


def act_as(system: str) -> None:
    """Take away what another system does not have."""
    for name in OTHERS:
        importlib.import_module(name)
    for name in MISSING_MODULES[system]:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, _Missing(MISSING_MODULES[system]))  # type: ignore[arg-type]  # a finder of names
    for module, names in ((os, MISSING_IN_OS[system]), (signal, MISSING_SIGNALS[system])):
        _take_away(module, names)
    tempfile._O_TMPFILE_WORKS = False  # type: ignore[attr-defined]  # as if it had seen no O_TMPFILE
    _hide_proc()
    if system == "win32":
        os.supports_dir_fd.clear()
        asyncio.ProactorEventLoop = asyncio.SelectorEventLoop  # type: ignore[attr-defined]  # it waits for files otherwise
        asyncio.unix_events._UnixSelectorEventLoop.add_signal_handler = _not_implemented  # type: ignore[attr-defined]
    sys.platform = system


def _take_away(module: ModuleType, names: Sequence[str]) -> None:
    for name in names:
        if hasattr(module, name):
            delattr(module, name)


def _not_implemented(*_: Any) -> None:
    raise NotImplementedError


def _hide_proc() -> None:
    """Let nothing below `/proc` or `/sys` exist."""

    def without(function: Any) -> Any:
        def look(path: Any, *arguments: Any, **named: Any) -> Any:
            if isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith(("/proc/", "/sys/")):
                raise FileNotFoundError(2, "No such file or directory", path)
            return function(path, *arguments, **named)

        return look

    for name in ("open", "stat", "lstat", "scandir", "listdir", "readlink"):
        setattr(os, name, without(getattr(os, name)))
    builtins.open = io.open = without(builtins.open)


if __name__ == "__main__":
    act_as(sys.argv.pop(1))
    sys.path.insert(0, str(Path.cwd()))
    runpy.run_module("failsoft", run_name="__main__")
