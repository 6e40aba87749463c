"""SIGTERM ends a server whatever its tools do: its event loop, its threads or its toolsets may block."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.server.processes import Served

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}


SHORT_S, LONG_S = 0.2, 30.0
"""How long the server waits for what never ends, and for what ends."""


class _Blocking(Served):
    program = (str(Path(__file__).parent / "blocking.py"),)


@pytest.fixture
def blocking() -> Iterator[Callable[..., _Blocking]]:
    """Start servers, and end them after the test."""
    started: list[_Blocking] = []

    def start(*arguments: str, limit_s: float, **environment: str) -> _Blocking:
        limits = {"FAILSOFT_SHUTDOWN_GRACE_S": "0.1", "LIMIT_S": str(limit_s)}
        started.append(_Blocking(*arguments, **limits, **environment))
        return started[-1]

    yield start
    for server in started:
        server.process.kill()
        server.close()


def request(tool: str, **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


def post(url: str, body: bytes) -> None:
    with suppress(httpx2.HTTPError):
        httpx2.post(f"{url}/mcp", content=body, headers=HEADERS, timeout=60)


def call(server: _Blocking, transport: str, tool: str, **arguments: Any) -> None:
    """Send a call that blocks, and wait until it does."""
    body = request(tool, **arguments)
    if transport == "http":
        url = server.wait_for("ready")
        threading.Thread(target=post, args=(url, body), daemon=True).start()
    else:
        opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening}
        begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert server.process.stdin is not None
        server.process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in (hello, begun)) + body + b"\n")
        server.process.stdin.flush()
    server.wait_for("blocked")


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("how", ["loop", "sleep", "pattern"])
def test_a_blocked_event_loop(blocking: Callable[..., _Blocking], transport: str, how: str) -> None:
    server = blocking(transport, "call", limit_s=SHORT_S)
    call(server, transport, "block", how=how)
    server.send(signal.SIGTERM)
    assert server.wait() == 1
    assert any("blocking.py" in line and " in block" in line for line in server.errors), server.errors


@pytest.mark.parametrize("how", ["loop", "executor"])
def test_stacks_are_json_lines_where_the_log_is(blocking: Callable[..., _Blocking], how: str) -> None:
    server = blocking("http", "call", limit_s=SHORT_S, FAILSOFT_LOG_JSON="true")
    call(server, "http", "block", how=how)
    server.send(signal.SIGTERM)
    server.send(signal.SIGINT)
    assert server.wait() == 1
    said = [json.loads(line) for line in server.errors if not line.startswith(("ready", "blocked"))]
    stacks = {one["thread"]: one["stack_trace"] for one in said if one.get("event") == "forced_end"}
    assert (" in block" in stacks["MainThread"]) is (how == "loop")


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_blocked_worker_thread_does_not_even_delay_it(blocking: Callable[..., _Blocking], transport: str) -> None:
    server = blocking(transport, "call", limit_s=LONG_S)
    call(server, transport, "block_thread")
    server.send(signal.SIGTERM)
    assert server.wait() == 0


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("how", ["executor", "stubborn"])
def test_a_call_that_cannot_be_cancelled(blocking: Callable[..., _Blocking], transport: str, how: str) -> None:
    server = blocking(transport, "call", limit_s=SHORT_S)
    call(server, transport, "block", how=how)
    server.send(signal.SIGTERM)
    assert server.wait() == 1


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("when", ["start", "stop"])
def test_a_toolset_that_blocks_at_its_start_or_stop(
    blocking: Callable[..., _Blocking], transport: str, when: str
) -> None:
    server = blocking(transport, when, limit_s=SHORT_S)
    server.wait_for("blocked")
    server.send(signal.SIGTERM)
    assert server.wait() == 1


def test_workers_of_which_one_is_blocked(blocking: Callable[..., _Blocking]) -> None:
    server = blocking("http", "call", "2", limit_s=SHORT_S)
    call(server, "http", "block", how="loop")
    server.send(signal.SIGTERM)
    assert server.wait() == 0
