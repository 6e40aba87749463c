"""`serve --reload`: runs the server in a separate process and restarts it when a file of the application changes."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from failsoft.cli.exits import ExitCode
from failsoft.framework.errors import ConfigurationError
from failsoft.server.signals import signals_handled

_ENDS_WITHIN_S = 15.0


class FileWatcher:
    """Watches files below a folder: Python, TOML and JSON, without caches and virtual environments.

    Args:
        folder: The folder to watch.

    Raises:
        CONFIG_ERROR: The extra `reload` is not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            import watchfiles  # noqa: PLC0415 - an extra, for development only
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                issue="--reload needs watchfiles", resolution="pip install 'failsoft[reload]'"
            ) from error
        self._watch = watchfiles.watch
        self._filter = watchfiles.PythonFilter(extra_extensions=(".toml", ".json"))
        self._folder = folder

    def wait(self, over: threading.Event) -> str:
        """Return the name of a file that changed; empty if `over` was set first."""
        # A signal sets `over`; watchfiles checks it at each time-out.
        how: dict[str, Any] = {"debounce": 200, "rust_timeout": 500, "raise_interrupt": False}
        changes = self._watch(self._folder, watch_filter=self._filter, stop_event=over, **how)
        for found in changes:
            return min(Path(path).name for _, path in found)
        return ""


def serve_and_reload(arguments: Sequence[str], folder: Path) -> int:
    """Run `failsoft` with these arguments until a signal, and restart it whenever a file in the folder changes.

    Returns:
        The exit code of the last server; 0 if it ended by a signal.

    Raises:
        CONFIG_ERROR: The extra `reload` is not installed.
    """
    changes = FileWatcher(folder)
    ended = threading.Event()
    with fixed_port(arguments) as fixed, signals_handled(lambda *_: ended.set()):
        command = [sys.executable, "-m", "failsoft", *fixed]
        while True:
            over = threading.Event()
            server = subprocess.Popen(command)  # noqa: S603 - our own program
            threading.Thread(target=_wait_for, args=(server, over, ended), daemon=True).start()
            changed = changes.wait(over)
            if not changed and not ended.is_set() and server.poll() not in (0, None):
                typer.echo("failsoft waits for a change of a file (Ctrl-C ends it)", err=True)
                changed = changes.wait(ended)
            if not changed:
                code = end_process(server)
                return int(ExitCode.OK) if ended.is_set() or code < 0 else code
            typer.echo(f"failsoft restarts: {changed} changed", err=True)
            end_process(server)


@contextmanager
def fixed_port(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Replace `--port 0` by a free port, so that the address stays the same across restarts.

    On Linux a bound socket that does not listen reserves the port between two servers, which may nevertheless listen
    on it, as both sides set SO_REUSEADDR; other systems would refuse that.
    """
    found = list(arguments)
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        for index, word in enumerate(found):
            if word == "--port=0" or (word == "0" and index and found[index - 1] == "--port"):
                found[index] = f"{word[:-1]}{held.getsockname()[1]}"
        if sys.platform != "linux":
            held.close()
        yield found


def end_process(process: subprocess.Popen[bytes]) -> int:
    """End a process as a service manager does, and return its exit code."""
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _wait_for(server: subprocess.Popen[bytes], over: threading.Event, ended: threading.Event) -> None:
    """Set `over` when the server ended, or when it is to end."""
    while server.poll() is None and not ended.wait(0.1):
        pass
    over.set()
