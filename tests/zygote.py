"""Start Python programs in a tenth of the time, as forks of a process that has failsoft loaded.

`PYTHON` is an executable that takes a Python command line (`-m MODULE`, `-c CODE` or a file; `-B`, `-P`, `-u`, `-W`;
with `-I`, Python itself runs). It is a small launcher that hands its arguments, folder, environment and open files to
the fork server of this worker, forwards signals, and ends as the program ends; if the launcher is killed, so is the
program. The program is a process of its own in a process group of its own: its pid is not that of the launcher but what
`program_of` returns. It can import `tests` without a path. `python_with` is an executable of the same kind, with more
modules loaded.
Where a fork shows something else than a start (imports, warnings, resource limits, terminals, ignored signals, locales,
SIGSTOP, tracing), and in one test of each kind of start (`tests/slow/cold`), use `sys.executable`.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import fcntl
import functools
import gc
import importlib
import io
import marshal
import os
import pkgutil
import random
import runpy
import select
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, NamedTuple, NoReturn

LOADED = (
    *("failsoft.adapters.mcpserver", "failsoft.testing", "mcp.client.stdio", "mcp.client.streamable_http", "uvloop"),
    *("failsoft.tools.docs", "failsoft.tools.edit", "failsoft.tools.workspace", "failsoft.tools.flux", "httptools"),
    *("rich.markdown", "multiprocessing.spawn", "multiprocessing.resource_tracker", "sqlite3", "jsonschema"),
    *("anyio._backends._asyncio", "anyio._core._subprocesses", "h11", "httpcore2._async", "truststore", "platformdirs"),
    *("uvicorn.lifespan.on", "uvicorn.loops.auto", "uvicorn.protocols.http.httptools_impl", "wsgiref.simple_server"),
    *("platformdirs.unix", "shellingham", "typer.completion", "typer._adapters"),
)
WHOLE = ("cli", "client", "framework", "proxy", "recovery", "server")
"""What the fork server imports before it forks, and areas of failsoft with all their modules.

None of it may start a thread, or keep what it reads from the environment, as `prometheus_client` does.
"""

ROOT = Path(__file__).resolve().parents[1]

_LAUNCHER = """#!{python} -IS
import _signal, _socket, marshal, posix, select, sys
if sys.argv[1:2] == ["-I"]:  # a script that needs no packages starts faster than a fork
    posix.execv(sys.executable, [sys.executable, *sys.argv[1:]])
forwarded = {{1, 2, 3, 10, 12, 15}}
_signal.pthread_sigmask(_signal.SIG_BLOCK, forwarded)  # until there is a program to forward them to
open_files = []
for number in map(int, posix.listdir("/proc/self/fd")):
    try:
        posix.fstat(number)
        open_files.append(number)
    except OSError:
        pass  # that of the listing
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
server.connect({address!r})
request = marshal.dumps((sys.argv[1:], posix.getcwd(), posix.environ, posix.umask(0), open_files))
rights = b"".join(number.to_bytes(4, sys.byteorder) for number in open_files)
files = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)] if open_files else []
server.sendmsg([len(request).to_bytes(4, "big")], files)
server.sendall(request)
for number in open_files:
    posix.close(number)  # or whoever waits for their end would wait for this process, too
program = int.from_bytes(server.recv(4), "big")
woken, wake = posix.pipe()  # a signal just before a wait would not end it; the byte that it leaves here does
posix.set_blocking(wake, False)
_signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
def forward(number, frame):
    try:
        posix.kill(program, number)
    except OSError:
        pass  # it has ended
for number in forwarded:
    if _signal.getsignal(number) is not _signal.SIG_IGN:
        _signal.signal(number, forward)
_signal.pthread_sigmask(_signal.SIG_UNBLOCK, forwarded)
while server not in select.select([server, woken], [], [])[0]:
    posix.read(woken, 100)
told = server.recv(4)
code = int.from_bytes(told, "big", signed=True) if told else -9
if code < 0:
    if code != -9:
        _signal.signal(-code, _signal.SIG_DFL)
    posix.kill(posix.getpid(), -code)
posix._exit(code)
"""
_STREAMS = (("stdin", "r", "strict"), ("stdout", "w", "strict"), ("stderr", "w", "backslashreplace"))


def __getattr__(name: str) -> Any:
    """Start the fork server when `PYTHON` is first named; on a system that cannot serve one, name Python itself."""
    if name != "PYTHON":
        raise AttributeError(name)
    globals()["PYTHON"] = _start_server(sys.executable)
    return globals()["PYTHON"]


@functools.cache
def python_with(*modules: str) -> str:
    """Return such an executable whose fork server has more modules loaded; they must not start a thread either."""
    from tests.zygote import PYTHON  # noqa: PLC0415 - it starts now, and loads for both what both need

    return _start_server(PYTHON, *modules)


def program_of(launcher: int) -> int:
    """Return the process id of the program that a launcher has started; of another process, its own."""
    for folder in _folders:
        with contextlib.suppress(OSError):
            return int((folder / f"socket{launcher}").readlink().name)
    return launcher


_folders: list[Path] = []
"""One for each fork server."""


def _start_server(python: str, *modules: str) -> str:
    """Start a fork server that ends with this process, and return the path of its launcher.

    On a system that cannot serve one, return Python itself.
    """
    if not hasattr(os, "pidfd_open"):
        return sys.executable
    folder = Path(tempfile.mkdtemp(prefix="failsoft-zygote-"))
    _folders.append(folder)
    launcher, address = folder / "python", str(folder / "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen(128)  # before the server runs, so that a launcher never finds nobody
        launcher.write_text(_LAUNCHER.format(python=sys.executable, address=address))
        launcher.chmod(0o700)
        process = subprocess.Popen(
            [python, "-P", __file__, str(listener.fileno()), str(launcher), *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
            start_new_session=True,
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith("FAILSOFT_")},
                "OPENBLAS_NUM_THREADS": "1",  # or numpy would start some
            },
        )

    def end() -> None:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)

    atexit.register(end)
    return str(launcher)


class _Request(NamedTuple):
    """What a launcher asks for: a command line, where it runs, and its open files: their numbers there and here."""

    arguments: list[str]
    folder: str
    environment: dict[bytes, bytes]
    mask: int
    numbers: list[int]
    files: list[int]


class _Program(NamedTuple):
    """A program that runs: its process, the file descriptor that tells its end, and the connection of its launcher.

    `note` is a symbolic link to its process id, named for the launcher.
    """

    pid: int
    note: Path
    ending: int
    connection: socket.socket


class _Server:
    """Forks a program for each connection, until standard input ends; then no program is left."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._running: list[_Program] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(0, selectors.EVENT_READ)
        self._selector.register(listener, selectors.EVENT_READ)

    def serve(self) -> _Request | None:
        """Return the request in each forked process, and None in this one at the end."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == 0:
                    for program in self._running:
                        os.kill(program.pid, signal.SIGKILL)
                    shutil.rmtree(Path(self._listener.getsockname()).parent, ignore_errors=True)
                    return None
                if key.fileobj is self._listener:
                    if (request := self._fork()) is not None:
                        return request
                elif key.data in self._running:
                    self._look_after(key.data)

    def _fork(self) -> _Request | None:
        connection = self._listener.accept()[0]
        try:
            request = _receive(connection)
        except (EOFError, ValueError, OSError):  # the launcher was killed before it had asked
            connection.close()
            return None
        launcher, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        note = Path(f"{self._listener.getsockname()}{launcher}")
        threads = len(list(Path("/proc/self/task").iterdir()))
        assert threads == 1, f"a process with {threads} threads must not fork"
        pid = os.fork()
        if pid == 0:
            note.unlink(missing_ok=True)
            note.symlink_to(str(os.getpid()))
            self._selector.close()
            for opened in (self._listener, connection, *(program.connection for program in self._running)):
                opened.close()  # now: when they are collected, the program may have files of these numbers
            return request
        for file in request.files:
            os.close(file)
        program = _Program(pid, note, os.pidfd_open(pid), connection)
        with contextlib.suppress(OSError):  # the launcher has ended already
            connection.sendall(pid.to_bytes(4, "big"))
        self._running.append(program)
        self._selector.register(program.ending, selectors.EVENT_READ, program)
        self._selector.register(connection, selectors.EVENT_READ, program)
        return None

    def _look_after(self, program: _Program) -> None:
        """Tell the launcher the exit code of a program that has ended; kill a program whose launcher has ended."""
        if not select.select([program.ending], [], [], 0)[0]:
            self._selector.unregister(program.connection)
            os.kill(program.pid, signal.SIGKILL)
            return
        self._running.remove(program)
        self._selector.unregister(program.ending)
        with contextlib.suppress(KeyError):  # unregistered above
            self._selector.unregister(program.connection)
        code = os.waitstatus_to_exitcode(os.waitpid(program.pid, 0)[1])
        with contextlib.suppress(OSError):
            program.connection.sendall(code.to_bytes(4, "big", signed=True))
        program.note.unlink(missing_ok=True)
        program.connection.close()
        os.close(program.ending)


def _receive(connection: socket.socket) -> _Request:
    files = array.array("i")
    head, ancillary, _, _ = connection.recvmsg(4, socket.CMSG_SPACE(253 * files.itemsize))
    for _, _, data in ancillary:
        files.frombytes(data)
    body = connection.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
    return _Request(*marshal.loads(body), files=list(files))  # noqa: S302 - from a launcher of this user's, in a private folder


def _become(request: _Request, launcher: str) -> None:
    """Take over the open files, folder, environment and mask of the launcher."""
    os.setpgid(0, 0)
    above = max(request.numbers, default=2) + 1
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, above) for file in request.files]
    os.closerange(0, above)
    for file, number in zip(moved, request.numbers, strict=True):
        os.dup2(file, number)
    os.closerange(above, 65_536)
    os.chdir(request.folder)
    os.umask(request.mask)
    os.environ.clear()
    os.environb.update(request.environment)
    time.tzset()
    asked, _, treated = os.environ.get("PYTHONIOENCODING", "").partition(":")
    for number, (name, mode, usual) in enumerate(_STREAMS):
        stream: Any = None
        if number in request.numbers:
            errors = usual if name == "stderr" else treated or usual
            stream = open(number, mode, encoding=asked or "utf-8", errors=errors, closefd=False)  # noqa: SIM115 - for good
            stream.reconfigure(line_buffering=name == "stderr" or bool(os.environ.get("PYTHONUNBUFFERED")))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    random.seed()
    sys.executable = launcher  # what it starts in turn is as cheap
    sys.modules["multiprocessing.spawn"].set_executable(launcher)  # type: ignore[attr-defined]


def _run(arguments: list[str]) -> None:
    """Run what a Python command line names, as Python does."""
    safe = False
    while arguments[0][:2] in {"-B", "-P", "-W", "-u"}:
        option = arguments.pop(0)
        safe = safe or option == "-P"
        if option.startswith("-W"):
            warnings.simplefilter(option[2:] or arguments.pop(0))  # type: ignore[arg-type]
    kind, *given = arguments
    sys.path[:] = [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *sys.path, str(ROOT)]
    sys.modules["__main__"] = main = ModuleType("__main__")
    sys.excepthook = _show_program_only
    if kind == "-m":
        sys.path[:0] = [] if safe else [str(Path.cwd())]
        sys.argv = ["-m", *given[1:]]
        if not hasattr(sys.modules.get(given[0]), "__path__"):
            sys.modules.pop(given[0], None)  # which runpy would warn of, as a start imports packages alone
        runpy._run_module_as_main(given[0])  # type: ignore[attr-defined]
        return
    if kind == "-c":
        sys.path[:0] = [] if safe else [""]
        sys.argv = ["-c", *given[1:]]
        code = compile(given[0], "<string>", "exec")
    else:
        assert not kind.startswith("-"), f"the fork server does not know {kind}"
        sys.path[:0] = [] if safe else [str(Path(kind).resolve().parent)]
        sys.argv = [kind, *given]
        main.__file__ = kind
        code = compile(Path(kind).read_bytes(), kind, "exec")
    exec(code, vars(main))  # noqa: S102 - that is its task


def _end(code: int) -> NoReturn:
    """End this process as Python does at the end of a program, but leave the taking apart of modules to the system.

    That would touch, and thereby copy, all that the fork server has loaded: four fifths of the costs of a fork.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads that are no daemons
    atexit._run_exitfuncs()
    for opened in gc.get_objects():
        if isinstance(opened, (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)) and not opened.closed:
            try:
                opened.flush()
            except OSError:
                code = 120 if opened is sys.stdout else code
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _code_of(ended: SystemExit) -> int:
    if ended.code is None or isinstance(ended.code, int):
        return (ended.code or 0) & 0xFF
    print(ended.code, file=sys.stderr)  # noqa: T201 - as Python does
    return 1


def _show_program_only(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print a traceback without the frames of this file."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


if __name__ == "__main__":
    for module in (*LOADED, *sys.argv[3:]):
        with contextlib.suppress(ImportError):  # the inner modules of libraries differ from version to version
            importlib.import_module(module)
    for area in map(importlib.import_module, (f"failsoft.{name}" for name in WHOLE)):
        for found in pkgutil.walk_packages(area.__path__, f"{area.__name__}."):
            if not found.name.endswith("__main__"):
                with contextlib.suppress(ImportError):  # of an extra that is not installed
                    importlib.import_module(found.name)
    assert "prometheus_client" not in sys.modules
    gc.collect()
    gc.freeze()
    if (asked := _Server(socket.socket(fileno=int(sys.argv[1]))).serve()) is not None:
        _become(asked, launcher=sys.argv[2])
        exit_code = 0
        try:
            _run(asked.arguments)
        except SystemExit as ended:
            exit_code = _code_of(ended)
        except BaseException as error:  # noqa: BLE001 - whatever ends the program
            sys.excepthook(type(error), error, error.__traceback__)
            exit_code = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
        _end(exit_code)
