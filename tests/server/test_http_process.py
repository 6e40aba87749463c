"""HTTP servers as processes: how they start, what they refuse, how they end, and several of them on one port."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp_types import CallToolResult

from tests.server.processes import BOUND_S, Served

MODES = ["2026-07-28", "legacy"]


def told(result: CallToolResult) -> dict[str, Any]:
    """Return the structured answer."""
    assert isinstance(result.structured_content, dict)
    return result.structured_content


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_disconnects_cancels_its_call(http_url: str, mode: str) -> None:
    key = f"disconnect {mode} {time.monotonic_ns()}"
    async with Client(f"{http_url}/mcp", mode=mode) as witness:
        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:

                async def leave_early() -> None:
                    async with Client(f"{http_url}/mcp", mode=mode) as leaving:
                        await leaving.call_tool("hang", {"key": key})

                group.start_soon(leave_early)
                assert told(await witness.call_tool("witness", {"event": f"{key} started"}))["data"] is True
                group.cancel_scope.cancel()
            assert told(await witness.call_tool("witness", {"event": f"{key} cancelled"}))["data"] is True


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_lets_calls_in_flight_finish_and_refuses_new_ones(
    served: Callable[..., Served], mode: str, number: signal.Signals
) -> None:
    server = served("http", "tools=announced", FAILSOFT_SHUTDOWN_GRACE_S="60")
    url = server.wait_for("ready")
    finished: list[CallToolResult] = []
    with anyio.fail_after(BOUND_S):
        async with (
            Client(f"{url}/mcp", mode=mode) as client,
            httpx2.AsyncClient(base_url=url) as probe,
            anyio.create_task_group() as group,
        ):

            async def wait() -> None:
                finished.append(await client.call_tool("count_when_let_go", {"path": server.gate}))

            group.start_soon(wait)
            told(await client.call_tool("witness", {"event": "counting"}))
            server.send(number)
            while (await probe.get("/readyz")).status_code == 200:
                pass
            refused = told(await client.call_tool("process_id"))
            assert (refused["error"]["code"], refused["error"]["effect"]) == ("UNAVAILABLE", "none")
            assert (await probe.get("/healthz")).status_code == 200
            server.open_gate()
    assert told(finished[0])["data"] == 3
    assert server.wait() == 0
    assert server.errors[-1] == "stopped"


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("signals", [1, 2])
async def test_a_call_that_outlasts_the_grace_or_a_second_signal_is_told_so(
    served: Callable[..., Served], mode: str, signals: int
) -> None:
    server = served("http", "tools=announced", FAILSOFT_SHUTDOWN_GRACE_S="0.2" if signals == 1 else "600")
    url = server.wait_for("ready")
    cut: list[CallToolResult] = []
    with anyio.fail_after(BOUND_S):
        async with (
            Client(f"{url}/mcp", mode=mode) as client,
            httpx2.AsyncClient(base_url=url) as probe,
            anyio.create_task_group() as group,
        ):

            async def hang() -> None:
                cut.append(await client.call_tool("hang", {"key": "k"}))

            group.start_soon(hang)
            told(await client.call_tool("witness", {"event": "k started"}))
            server.send(signal.SIGTERM)
            if signals == 2:
                while (await probe.get("/readyz")).status_code == 200:
                    pass
                server.send(signal.SIGTERM)
        assert await anyio.to_thread.run_sync(server.wait) == 0
    assert told(cut[0])["error"]["code"] == "UNAVAILABLE"
    assert server.errors[-1] == "stopped"


def test_a_signal_while_nothing_happens_ends_the_server_at_once(served: Callable[..., Served]) -> None:
    server = served("http", "tools=announced", FAILSOFT_SHUTDOWN_GRACE_S="600")
    server.wait_for("ready")
    server.send(signal.SIGTERM)
    assert server.wait() == 0
    assert [line for line in server.errors if line in {"started", "stopped"}] == ["started", "stopped"]


def test_a_failed_start_ends_the_process_with_a_typed_error(served: Callable[..., Served]) -> None:
    server = served("http", "tools=unstartable")
    assert server.wait() == 1
    assert server.errors[-1].startswith("INIT_ERROR")
    assert [line for line in server.errors if line in {"started", "stopped"}] == ["started", "stopped"]
    assert not any(line.startswith("ready") for line in server.errors)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_serving_beyond_this_machine_without_a_token_is_refused(served: Callable[..., Served], host: str) -> None:
    server = served("http", f"host={host}")
    assert server.wait() == 1
    assert server.errors[-1].startswith("CONFIG_ERROR")


def test_serving_every_address_with_a_token_still_checks_the_host(served: Callable[..., Served]) -> None:
    server = served("http", "host=0.0.0.0", FAILSOFT_AUTH_TOKEN="a long token", FAILSOFT_ALLOWED_HOSTS="tools.example")
    port = server.wait_for("ready").rpartition(":")[2]
    for host, code in (("tools.example", 200), ("127.0.0.1", 200), ("evil.example", 421)):
        response = httpx2.get(f"http://127.0.0.1:{port}/healthz", headers={"host": f"{host}:{port}"})
        assert response.status_code == code


@pytest.fixture
def taken_port() -> Iterator[int]:
    """Return a port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


def test_a_port_that_is_taken_is_a_configuration_error(served: Callable[..., Served], taken_port: int) -> None:
    server = served("http", f"port={taken_port}")
    assert server.wait() == 1
    assert server.errors[-1].startswith("CONFIG_ERROR")
    assert str(taken_port) in server.errors[-1]


@pytest.mark.anyio
@pytest.mark.slow
async def test_several_workers_share_a_port_and_a_dead_one_is_replaced(served: Callable[..., Served]) -> None:
    server = served("http", "tools=all", "workers=2")
    url = server.wait_for("ready")

    async def answering(known: set[int], target: int) -> set[int]:
        seen = set(known)

        async def ask(mode: str) -> None:
            async with Client(f"{url}/mcp", mode=mode) as client:
                seen.add(int(told(await client.call_tool("process_id"))["data"]))

        with anyio.fail_after(8 * BOUND_S):  # a new worker imports everything again
            while len(seen) < target:
                async with anyio.create_task_group() as together:  # one caller alone may always meet the same worker
                    for number in range(4):
                        together.start_soon(ask, MODES[number % 2])
        return seen

    first = await answering(set(), 2)
    assert server.process.pid not in first
    os.kill(min(first), signal.SIGKILL)
    assert len(await answering(first, 3)) == 3
    server.send(signal.SIGTERM)
    assert await anyio.to_thread.run_sync(server.wait) == 0


@pytest.mark.slow
def test_workers_that_cannot_start_end_the_server_with_a_typed_error(served: Callable[..., Served]) -> None:
    server = served("http", "tools=unstartable", "workers=2")
    assert server.wait() == 1
    assert server.errors[-1].startswith("INIT_ERROR")


def test_workers_need_tools_that_another_process_can_make(served: Callable[..., Served]) -> None:
    server = served("http", "tools=unsendable", "workers=2")
    assert server.wait() == 1
    assert server.errors[-1].startswith("CONFIG_ERROR")


def test_a_raw_batch_or_a_posted_answer_costs_nothing(http_url: str) -> None:
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    bodies: list[Any] = [[], [{}], {"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "method": "x"}]
    for body in bodies:
        response = httpx2.post(f"{http_url}/mcp", content=json.dumps(body), headers=headers)
        assert response.status_code < 500
    assert httpx2.get(f"{http_url}/readyz").status_code == 200


def test_a_body_that_cannot_be_read_is_answered_once_and_no_fault_of_the_server(served: Callable[..., Served]) -> None:
    server = served("http", "tools=polite")
    url = server.wait_for("ready")
    address, port = url.removeprefix("http://").split(":")
    for route, host in itertools.product(["/mcp", "/nothing"], [address, "elsewhere.example"]):
        head = f"POST {route} HTTP/1.1\r\nHost: {host}\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked"
        with socket.create_connection((address, int(port)), timeout=BOUND_S) as connection:
            connection.sendall(head.encode() + b"\r\n\r\nno length\r\n")
            assert connection.recv(1_000).startswith(b"HTTP/1.1 400 ")
    assert httpx2.get(f"{url}/readyz").status_code == 200
    server.send(signal.SIGTERM)
    assert server.wait() == 0
    assert not [line for line in server.errors if "Traceback" in line or "ASGI" in line]
