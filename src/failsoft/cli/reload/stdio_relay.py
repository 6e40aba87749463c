"""`serve --reload` over stdio: a relay between the client and a server that is started again when a file changes.

The client keeps its connection: requests under way are answered before the restart, the handshake is repeated with the
new server, and the client is notified that the list of tools may have changed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import typer

from failsoft.cli.reload.supervisor import FileWatcher, end_process

_DRAINS_WITHIN_S = 10.0
_CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'


def relay_and_reload(arguments: Sequence[str], folder: Path) -> int:
    """Serve the client on our standard streams until it leaves, and return the exit code of the last server.

    Raises:
        CONFIG_ERROR: The extra `reload` is not installed.
    """
    changes, over = FileWatcher(folder), threading.Event()
    relay = _Relay([sys.executable, "-m", "failsoft", *arguments], sys.stdout.buffer)
    relay.start()
    reader = threading.Thread(target=_read, args=(relay, sys.stdin.buffer, over), daemon=True)
    reader.start()
    while changed := changes.wait(over):
        typer.echo(f"failsoft restarts: {changed} changed", err=True)
        relay.restart()
    return relay.end()


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
        code = end_process(self._server)
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
