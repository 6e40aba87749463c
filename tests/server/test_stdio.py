"""stdio as bytes: lines that are no messages, the end of the input, signals, and what must never reach the wire."""

from __future__ import annotations

import fcntl
import json
import os
import queue
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.server.processes import BOUND_S, SERVING, Served
from tests.zygote import PYTHON

HELLO = (
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)
SOON_S = 3
"""How long a test waits for what may never come; what works takes a fraction of it."""


def call(number: int, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Return a request that calls a tool."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


class Wire:
    """Both ends of the pipes of a served process. No wait is without a bound."""

    def __init__(self, server: Served) -> None:
        self.server = server
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._early: dict[Any, dict[str, Any]] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.server.process.stdout is not None
        for line in self.server.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def send(self, *messages: Any) -> None:
        """Write messages, or raw bytes, each as one line."""
        assert self.server.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.server.process.stdin.write(line + b"\n")
        self.server.process.stdin.flush()

    def end(self) -> None:
        """Close the input."""
        assert self.server.process.stdin is not None
        self.server.process.stdin.close()

    def answer(self, number: int | str) -> dict[str, Any]:
        """Return the message that answers this request."""
        while number not in self._early:
            line = self._lines.get(timeout=BOUND_S)
            if not line:
                pytest.fail(f"the server ended: {self.server.errors}")
            message = json.loads(line)
            self._early[message.get("id")] = message
        return self._early.pop(number)

    def comes(self, number: int | str) -> bool:
        """Return whether this request is answered soon."""
        with suppress(queue.Empty):
            while number not in self._early:
                message = json.loads(self._lines.get(timeout=SOON_S))
                self._early[message.get("id")] = message
        return number in self._early

    def rest(self) -> list[bytes]:
        """Return the lines that came after all that was asked for, up to the end."""
        return list(iter(lambda: self._lines.get(timeout=BOUND_S), b""))

    def result(self, number: int) -> dict[str, Any]:
        """Return the tool's answer to this call."""
        structured = self.answer(number)["result"]["structuredContent"]
        assert isinstance(structured, dict)
        return structured


@pytest.fixture
def wire(served: Callable[..., Served]) -> Wire:
    """Return a connection after its handshake."""
    connected = Wire(served("stdio"))
    connected.send(*HELLO)
    connected.answer(0)
    return connected


MALFORMED = [
    b"",
    b"   ",
    b"{",
    b"not json",
    b"[]",
    b"null",
    b"5",
    b"\xff\xfe\x00",
    b'{"jsonrpc":"2.0"}',
    b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":1}}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
    b'{"jsonrpc":"2.0","method":"notifications/nothing"}',
    b'{"jsonrpc":"2.0","id":77,"result":{}}',
    b"[" * 20_000,
]


def test_lines_that_are_no_messages_are_dropped_and_the_next_call_is_answered(wire: Wire) -> None:
    for number, line in enumerate(MALFORMED, start=100):
        wire.send(line, call(number, "double", number=number))
        assert wire.result(number)["data"] == 2 * number


def test_a_call_with_a_lone_surrogate_is_answered(wire: Wire) -> None:
    wire.send(json.dumps(call(1, "find", name="file\udcff")).encode(), call(2, "process_id"))
    wire.result(2)
    assert wire.comes(1)


def test_a_line_above_the_limit_is_not_read_and_a_request_so_long_is_refused(served: Callable[..., Served]) -> None:
    wire = Wire(served("stdio", FAILSOFT_MAX_REQUEST_BYTES="2000"))
    long = call(1, "find", name="x" * 5_000)
    wire.send(*HELLO, b" " * 100_000, long, call(2, "double", number=2), dict(reversed({**long, "id": "last"}.items())))
    wire.answer(0)
    assert wire.result(2)["data"] == 4
    for request_id in (1, "last"):
        assert wire.answer(request_id)["error"]["code"] == -32600


def test_calls_in_flight_are_answered_when_the_input_ends(served: Callable[..., Served]) -> None:
    wire = Wire(served("stdio", "tools=announced"))
    wire.send(*HELLO, call(1, "finish_when", key="k"), call(2, "count", steps=3), call(3, "let_go", key="k"))
    wire.end()
    assert wire.result(1)["data"] == "finished"
    assert wire.result(2)["data"] == 3
    assert wire.server.wait() == 0
    assert wire.server.errors == ["started", "stopped"]


def test_a_call_that_outlasts_the_grace_is_cancelled_when_the_input_ends(served: Callable[..., Served]) -> None:
    wire = Wire(served("stdio", "tools=announced", FAILSOFT_SHUTDOWN_GRACE_S="0.2"))
    wire.send(*HELLO, call(1, "hang", key="k"))
    wire.end()
    wire.answer(0)
    assert wire.result(1)["error"]["code"] == "UNAVAILABLE"
    assert wire.server.wait() == 0
    assert wire.server.errors == ["started", "stopped"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_calls_in_flight_finish_and_refuses_new_ones(
    served: Callable[..., Served], number: signal.Signals
) -> None:
    wire = Wire(served("stdio", "tools=announced"))
    wire.send(*HELLO, call(1, "finish_when", key="k"), call(2, "witness", event="k started"))
    assert wire.result(2)["data"] is True
    wire.server.send(number)
    refused: dict[str, Any] = {"success": True}
    attempt = 10
    while refused["success"]:
        attempt += 1
        wire.send(call(attempt, "double", number=1))
        refused = wire.result(attempt)
    assert (refused["error"]["code"], refused["error"]["effect"]) == ("UNAVAILABLE", "none")
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert wire.server.wait() == 0
    assert wire.server.errors == ["started", "stopped"]


def test_a_signal_while_nothing_happens_ends_the_server_at_once(served: Callable[..., Served]) -> None:
    wire = Wire(served("stdio", "tools=announced", FAILSOFT_SHUTDOWN_GRACE_S="600"))
    wire.send(*HELLO)
    wire.answer(0)
    wire.server.send(signal.SIGTERM)
    assert wire.server.wait() == 0
    assert wire.server.errors == ["started", "stopped"]


def test_a_second_signal_ends_the_wait(served: Callable[..., Served]) -> None:
    wire = Wire(served("stdio", "tools=announced", FAILSOFT_SHUTDOWN_GRACE_S="600"))
    wire.send(*HELLO, call(1, "hang", key="k"), call(2, "witness", event="k started"))
    assert wire.result(2)["data"] is True
    wire.server.send(signal.SIGTERM)
    attempt = 10
    wire.send(call(attempt, "double", number=1))
    while wire.result(attempt)["success"]:
        attempt += 1
        wire.send(call(attempt, "double", number=1))
    wire.server.send(signal.SIGTERM)
    assert wire.result(1)["error"]["code"] == "UNAVAILABLE"
    assert wire.server.wait() == 0
    assert wire.server.errors == ["started", "stopped"]


def test_what_tools_print_or_read_never_touches_the_wire(wire: Wire) -> None:
    wire.send(call(1, "print_and_read"), call(2, "double", number=1))
    assert wire.result(1)["data"] == {"read": "", "child": ""}
    assert wire.result(2)["data"] == 2


def test_a_failed_start_ends_the_process_with_a_typed_error(served: Callable[..., Served]) -> None:
    server = served("stdio", "tools=unstartable")
    assert server.wait() == 1
    assert server.errors[:2] == ["started", "stopped"]
    assert server.errors[-1].startswith("INIT_ERROR")
    assert server.process.stdout is not None
    assert server.process.stdout.read() == b""


def fill(server: Served) -> None:
    """Have the server answer until the pipe to us is full, and read nothing."""
    assert server.process.stdin is not None
    assert server.process.stdout is not None
    size = fcntl.fcntl(server.process.stdout, fcntl.F_SETPIPE_SZ, 4_096)
    answered = [call(number, "double", number=number) for number in range(1, 101)]
    server.process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in (*HELLO, *answered)))
    server.process.stdin.flush()
    until = time.monotonic() + BOUND_S
    held = 0
    while held < size - 1_000:  # an answer that does not fit is not written in part
        assert time.monotonic() < until
        (held,) = struct.unpack("i", fcntl.ioctl(server.process.stdout, termios.FIONREAD, b"\0" * 4))


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a pipe is set as Linux does")
@pytest.mark.parametrize("way", ["signal", "end of input"])
def test_a_client_that_does_not_read_cannot_keep_the_server_from_ending(
    served: Callable[..., Served], way: str
) -> None:
    server = served("stdio", "tools=announced", "last_bytes_s=0.2", FAILSOFT_SHUTDOWN_GRACE_S="0.2")
    fill(server)
    if way == "signal":
        server.send(signal.SIGTERM)
    else:
        assert server.process.stdin is not None
        server.process.stdin.close()
    assert server.wait() == 0
    assert server.errors == ["started", "stopped"]


def test_a_client_that_stops_listening_has_left(served: Callable[..., Served]) -> None:
    server = served("stdio", "tools=announced")
    assert server.process.stdin is not None
    assert server.process.stdout is not None
    server.process.stdout.close()
    server.process.stdin.write(json.dumps(HELLO[0]).encode() + b"\n")
    server.process.stdin.flush()
    assert server.wait() == 0
    assert server.errors == ["started", "stopped"]


def test_an_output_that_does_not_block_takes_every_answer() -> None:
    output, theirs = os.pipe()
    os.set_blocking(theirs, False)
    with subprocess.Popen([PYTHON, str(SERVING), "stdio"], stdin=subprocess.PIPE, stdout=theirs) as process:
        os.close(theirs)
        asked = [call(number, "double", number=number) for number in range(1, 1_001)]
        written = b"".join(json.dumps(message).encode() + b"\n" for message in (*HELLO, *asked))
        assert process.stdin is not None
        threading.Thread(target=lambda: (process.stdin.write(written), process.stdin.close())).start()  # type: ignore[union-attr]
        with os.fdopen(output, "rb") as answers:
            assert {json.loads(line)["id"] for line in answers} == set(range(1_001))
        assert process.wait(BOUND_S) == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_standard_streams_it_is_a_configuration_error(closed: str) -> None:
    command = ["sh", "-c", f'exec "$0" "$@" {closed}', PYTHON, str(SERVING), "stdio"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=BOUND_S, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith(b"CONFIG_ERROR")


def test_what_tools_print_without_a_flush_never_touches_the_wire_either(served: Callable[..., Served]) -> None:
    wire = Wire(served("stdio", PYTHONUNBUFFERED=""))
    wire.send(*HELLO, call(1, "print_in_passing"))
    assert wire.result(1)["data"] is None
    wire.end()
    assert wire.server.wait() == 0
    assert wire.rest() == []
    assert "noise" in wire.server.errors
