"""`serve --reload`: the server is started again when a file changes; over stdio its client keeps the connection.

Over stdio a relay stands between client and server: requests under way are answered before the restart, the handshake
is repeated with the new server, and the client is notified that the list of tools may have changed.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from failsoft.framework.logs.log_output import announce
from failsoft.framework.plugins import missing_extra
from failsoft.server.signals import signals_handled

_ENDS_WITHIN_S = 15
_DRAINS_WITHIN_S = 10.0
_CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'


def serve_and_reload(arguments: Sequence[str], folder: Path) -> int:
    """Run `failsoft` with these arguments, and restart it whenever a file in the folder changes.

    It ends with 0 at a signal, and when the server ends with 0; after a failure it waits for a change.

    Raises:
        CONFIG_ERROR: The extra `reload` is not installed.
    """
    watching, ended = _watchfiles(), threading.Event()
    with fixed_port(arguments) as fixed, signals_handled(lambda *_: ended.set()):
        command = [sys.executable, "-m", "failsoft", *fixed]
        server = subprocess.Popen(command)  # noqa: S603 - our own program
        waits = False
        for changes in watching.watch(folder, stop_event=ended, yield_on_timeout=True, **_how(watching)):
            if changes:
                _say(changes)
                _end_process(server)
                server, waits = subprocess.Popen(command), False  # noqa: S603 - the same
            elif server.poll() == 0:
                break
            elif server.returncode is not None and not waits:
                announce("failsoft waits for a change of a file (Ctrl-C ends it)")
                waits = True
        _end_process(server)
    return 0


def relay_and_reload(arguments: Sequence[str], folder: Path) -> int:
    """Serve the client on our standard streams until it leaves, and return the exit code of the last server.

    Raises:
        CONFIG_ERROR: The extra `reload` is not installed.
    """
    watching, over = _watchfiles(), threading.Event()
    relay = _Relay([sys.executable, "-m", "failsoft", *arguments], sys.stdout.buffer)
    relay.start()
    reader = threading.Thread(target=_read, args=(relay, sys.stdin.buffer, over), daemon=True)
    reader.start()
    for changes in watching.watch(folder, stop_event=over, **_how(watching)):
        _say(changes)
        relay.restart()
    return relay.end()


def _watchfiles() -> Any:
    try:
        import watchfiles  # noqa: PLC0415 - an extra, for development only
    except ModuleNotFoundError as error:
        raise missing_extra(extra="reload", what="--reload", package="watchfiles") from error
    return watchfiles


def _how(watching: Any) -> dict[str, Any]:
    """Return how files are watched: Python, TOML and JSON, without caches; the event is checked at each time-out."""
    watched = watching.PythonFilter(extra_extensions=(".toml", ".json"))
    return {"watch_filter": watched, "debounce": 200, "rust_timeout": 500, "raise_interrupt": False}


def _say(changes: set[tuple[Any, str]]) -> None:
    changed = min(Path(path).name for _, path in changes)
    announce(f"failsoft restarts: {changed} changed")


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


def _read(relay: _Relay, source: BinaryIO, over: threading.Event) -> None:
    for line in source:
        relay.send(line)
    over.set()


class _Relay:
    """Forwards lines between the client and the current server."""

    def __init__(self, command: Sequence[str], client: BinaryIO) -> None:
        self._command = command
        self._client = client
        self._turn = threading.Condition(threading.RLock())
        self._pending: set[Any] = set()
        self._handshake: list[bytes] = []
        self._greeted: Any = None
        self._repeated: Any = None

    def start(self) -> None:
        """Start a server, and repeat the client's handshake with it, if there was one."""
        self._server = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - ours
        self._writer = threading.Thread(target=self._pass_on, args=(self._server,), daemon=True)
        self._writer.start()
        if self._handshake:
            self._repeated = json.loads(self._handshake[0]).get("id")
            for line in self._handshake:
                self._write(line)
            self._tell(_CHANGED)

    def send(self, line: bytes) -> None:
        """Pass a line of the client to the server; it waits while one starts."""
        message = _parsed(line)
        with self._turn:
            if message.get("method") in {"initialize", "notifications/initialized"}:
                self._handshake.append(line)
                self._greeted = message.get("id", self._greeted)
            if "id" in message and "method" in message:
                self._pending.add(json.dumps(message["id"]))
            self._write(line)

    def restart(self) -> None:
        """End the server once it has answered, and start a new one."""
        with self._turn:
            self._turn.wait_for(lambda: not self._pending, _DRAINS_WITHIN_S)
            self._pending.clear()
            self.end()
            self.start()

    def end(self) -> int:
        """End the server and return its exit code; its last responses are forwarded."""
        with suppress(OSError):
            self._server.stdin.close()  # type: ignore[union-attr]  # it is a pipe
        with suppress(subprocess.TimeoutExpired):
            self._server.wait(_DRAINS_WITHIN_S)
        code = _end_process(self._server)
        self._writer.join()
        return code

    def _write(self, line: bytes) -> None:
        with suppress(OSError):  # a server that does not start has logged why; the next change may fix it
            self._server.stdin.write(line)  # type: ignore[union-attr]  # it is a pipe
            self._server.stdin.flush()  # type: ignore[union-attr]  # the same

    def _pass_on(self, server: subprocess.Popen[bytes]) -> None:
        for line in server.stdout or ():
            message = _parsed(line)
            if "method" not in message and message.get("id") is not None and message["id"] == self._repeated:
                self._repeated = None
                continue
            if "error" in message and message.get("id") is not None and message["id"] == self._greeted:
                self._handshake.clear()  # refused: the client speaks the protocol that has none
            self._tell(line)
            if "method" not in message:
                self._answered(json.dumps(message.get("id")))

    def _answered(self, request: str) -> None:
        self._pending.discard(request)
        if self._turn.acquire(blocking=False):
            self._turn.notify_all()
            self._turn.release()

    def _tell(self, line: bytes) -> None:
        with suppress(OSError):
            self._client.write(line)
            self._client.flush()


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _end_process(process: subprocess.Popen[bytes]) -> int:
    """End a process as a service manager does, and return its exit code."""
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
