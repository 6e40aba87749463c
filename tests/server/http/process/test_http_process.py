"""HTTP servers as processes: how they start, what they refuse, how they end, and several of them on one port."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from tests.server.processes import BOUND_S, Served

MODES = ["2026-07-28", "legacy"]


def answer_of(result: CallToolResult) -> dict[str, Any]:
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
                assert answer_of(await witness.call_tool("witness", {"event": f"{key} started"}))["data"] is True
                group.cancel_scope.cancel()
            assert answer_of(await witness.call_tool("witness", {"event": f"{key} cancelled"}))["data"] is True


@pytest.mark.anyio
async def test_a_client_that_disconnects_with_another_request_in_the_pipeline_cancels_its_call(http_url: str) -> None:
    key = f"disconnect pipelined {time.monotonic_ns()}"
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "hang", "arguments": {"key": key}}}
    body = json.dumps(call)
    address, port = http_url.removeprefix("http://").split(":")
    head = f"POST /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: application/json, text/event-stream\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    async with Client(f"{http_url}/mcp") as witness:
        with anyio.fail_after(BOUND_S):
            async with await anyio.connect_tcp(address, int(port)) as connection:
                await connection.send(f"{head}{body}GET /readyz HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
                assert answer_of(await witness.call_tool("witness", {"event": f"{key} started"}))["data"] is True
        with anyio.fail_after(12):  # after 15 s a ping to the client fails, which ends the call as well
            assert answer_of(await witness.call_tool("witness", {"event": f"{key} cancelled"}))["data"] is True


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
            answer_of(await client.call_tool("witness", {"event": "counting"}))
            server.send(number)
            while (await probe.get("/readyz")).status_code == 200:
                pass
            with pytest.raises(MCPError):  # 503, so that a proxy tries another replica
                await client.call_tool("process_id")
            assert (await probe.get("/healthz")).status_code == 200
            server.open_gate()
    assert answer_of(finished[0])["data"] == 3
    assert server.wait() == 0
    assert server.errors[-1] == "stopped"


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("signals", [1, 2])
async def test_a_call_that_outlasts_the_grace_or_a_second_signal_is_unavailable(
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
            answer_of(await client.call_tool("witness", {"event": "k started"}))
            server.send(signal.SIGTERM)
            if signals == 2:
                while (await probe.get("/readyz")).status_code == 200:
                    pass
                server.send(signal.SIGTERM)
        assert await anyio.to_thread.run_sync(server.wait) == 0
    assert answer_of(cut[0])["error"]["code"] == "UNAVAILABLE"
    assert server.errors[-1] == "stopped"


def test_a_signal_while_nothing_happens_ends_the_server_at_once(served: Callable[..., Served]) -> None:
    server = served("http", "tools=announced", FAILSOFT_SHUTDOWN_GRACE_S="600")
    server.wait_for("ready")
    server.send(signal.SIGTERM)
    assert server.wait() == 0
    assert [line for line in server.errors if line in {"started", "stopped"}] == ["started", "stopped"]


def test_idle_streams_are_ended_without_a_word_in_the_log(served: Callable[..., Served]) -> None:
    server = served("http", "tools=announced")
    url = server.wait_for("ready")
    headers = {"Accept": "text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    with httpx2.stream("GET", f"{url}/mcp", headers=headers, timeout=BOUND_S) as idle:
        assert idle.status_code == 200
        server.send(signal.SIGTERM)
        assert list(idle.iter_raw()) == []
    assert server.wait() == 0
    assert not any("ASGI" in line for line in server.errors)


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
        response = httpx2.get(f"http://127.0.0.1:{port}/status.json", headers={"host": f"{host}:{port}"})
        assert response.status_code == code


@pytest.fixture
def taken_port() -> Iterator[int]:
    """Return a port that is in use."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


def test_a_port_that_is_taken_is_a_configuration_error(served: Callable[..., Served], taken_port: int) -> None:
    server = served("http", f"port={taken_port}")
    assert server.wait() == 1
    assert server.errors[-1].startswith("CONFIG_ERROR")
    assert str(taken_port) in server.errors[-1]


@pytest.fixture
def workers(served: Callable[..., Served]) -> Iterator[Callable[[], tuple[Served, str, list[int]]]]:
    """Start a server with two workers and return it, its URL and their process ids; no worker outlives the test."""
    servers: list[Served] = []

    def start(**environment: str) -> tuple[Served, str, list[int]]:
        server = served("http", "tools=numbered", "workers=2", FAILSOFT_SHUTDOWN_GRACE_S="60", **environment)
        servers.append(server)
        url = server.wait_for("ready")  # one of them is; the other one may have said that it started before, or not
        while len(started := [line for line in server.errors if line.startswith("worker started")]) < 2:
            time.sleep(0.01)
        return server, url, [int(line.split()[-1]) for line in started]

    yield start
    for server in servers:
        server.close()
        for line in server.errors:
            if line.startswith("worker started"):
                with suppress(ProcessLookupError):
                    os.kill(int(line.split()[-1]), signal.SIGKILL)


async def process_id(url: str, mode: str) -> int:
    """Return which process answers."""
    with anyio.fail_after(BOUND_S):
        async with Client(f"{url}/mcp", mode=mode) as client:
            return int(answer_of(await client.call_tool("process_id"))["data"])


async def in_flight(url: str) -> int:
    """Return how many calls are in flight."""
    async with httpx2.AsyncClient() as probe:
        return sum(worker["in_flight"] for worker in (await probe.get(f"{url}/status.json")).json()["workers"])


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
async def test_several_workers_share_a_port_and_a_dead_one_is_replaced(
    workers: Callable[[], tuple[Served, str, list[int]]], mode: str
) -> None:
    server, url, (first, second) = await anyio.to_thread.run_sync(workers)
    assert await process_id(url, mode) in {first, second}
    os.kill(first, signal.SIGKILL)
    third = int(await anyio.to_thread.run_sync(server.wait_for, "worker started"))
    assert await process_id(url, mode) in {second, third}
    os.kill(second, signal.SIGKILL)
    assert await process_id(url, mode) not in {first, second}
    async with httpx2.AsyncClient() as probe:  # a worker that was not there when the others ended
        found = (await probe.get(f"{url}/status.json")).json()["headline"]["findings"]
    assert ("ended", "A worker was killed") in {(finding["key"], finding.get("incident")) for finding in found}
    server.send(signal.SIGTERM)
    assert await anyio.to_thread.run_sync(server.wait) == 0


@pytest.mark.anyio
@pytest.mark.parametrize("bad", ["half a [", "[tools.nobody]\ntimeout_s = 3"])
async def test_a_worker_that_starts_while_the_recovery_file_is_bad_has_the_last_good_options(
    workers: Callable[..., tuple[Served, str, list[int]]], tmp_path: Path, bad: str
) -> None:
    file = tmp_path / "recovery.toml"
    file.write_text("defaults.retry.attempts = 2")
    server, url, started = await anyio.to_thread.run_sync(partial(workers, FAILSOFT_RECOVERY_FILE=str(file)))
    assert await reload_ok(url) == 1
    file.write_text(bad)
    for pid in started:
        os.kill(pid, signal.SIGKILL)
    for _ in started:
        await anyio.to_thread.run_sync(server.wait_for, "worker started")
    with anyio.fail_after(BOUND_S):
        while await reload_ok(url):
            pass
    file.write_text("defaults.retry.attempts = 3")
    with anyio.fail_after(BOUND_S):
        while not await reload_ok(url):
            pass


async def reload_ok(url: str) -> float:
    async with httpx2.AsyncClient() as client:
        text = (await client.get(f"{url}/metrics")).text
    return float(re.findall(r"^mcp_recovery_reload_ok (.*)$", text, re.MULTILINE)[0])


@pytest.mark.anyio
async def test_workers_end_when_their_supervisor_is_killed_and_calls_in_flight_finish(
    workers: Callable[[], tuple[Served, str, list[int]]],
) -> None:
    server, url, started = await anyio.to_thread.run_sync(workers)
    finished: list[CallToolResult] = []
    with anyio.fail_after(BOUND_S):
        async with Client(f"{url}/mcp") as client, anyio.create_task_group() as group:

            async def wait() -> None:
                finished.append(await client.call_tool("count_when_let_go", {"path": server.gate}))

            await client.list_tools()  # the SDK asks for the schema of an answer, when the server may have ended
            group.start_soon(wait)
            while not await in_flight(url):  # the other worker may be the one that is asked
                pass
            server.send(signal.SIGKILL)
            stopped = {int(await anyio.to_thread.run_sync(server.wait_for, "worker stopped"))}
            server.open_gate()
    assert answer_of(finished[0])["data"] == 3
    stopped.add(int(await anyio.to_thread.run_sync(server.wait_for, "worker stopped")))
    assert stopped == set(started)


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
