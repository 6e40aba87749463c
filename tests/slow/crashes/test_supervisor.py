"""Of two workers one dies, does not start or hangs: the other serves on, and log and metrics say so."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.ports import reserved_ports
from tests.server.processes import Served
from tests.zygote import program_of

WITHIN_S = 20
"""How long anything may take; nothing that works comes near it."""
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "connection": "close",
}
FRAGILE = """
import asyncio
import atexit
import os
import time
from pathlib import Path

from failsoft import BaseTool, operation

FOLDER = Path(__file__).parent


@atexit.register
def end_slowly() -> None:
    while (FOLDER / "slow-end").exists():
        time.sleep(0.01)


class Fragile(BaseTool):
    '''Tools that end or block the process that they run in.'''

    async def startup(self) -> None:
        (FOLDER / f"starting-{os.getpid()}").touch()
        while (FOLDER / "slow-start").exists():
            await asyncio.sleep(0.01)
        if (FOLDER / "no-start").exists():
            raise RuntimeError("no fuel")
        try:
            (FOLDER / "one-start-fails").unlink()
        except FileNotFoundError:
            pass
        else:
            raise RuntimeError("no fuel")

    @operation(read_only=True)
    async def process_id(self) -> int:
        '''Return the id of the process.'''
        return os.getpid()

    @operation(read_only=True)
    async def end(self, status: int) -> None:
        '''End the process.'''
        os._exit(status)

    @operation(read_only=True, timeout=60)
    async def wait(self, path: str) -> int:
        '''Return the id of the process once there is this file.'''
        Path(path).with_suffix(".waiting").touch()
        while not Path(path).exists():
            await asyncio.sleep(0.01)
        return os.getpid()

    @operation(read_only=True, timeout=60)
    async def block(self, seconds: float) -> None:
        '''Block the event loop.'''
        time.sleep(seconds)
"""


class Fragile(Served):
    """`failsoft serve` of these tools, over HTTP."""

    program = ("-m", "failsoft", "serve", "--app", "fragile:Fragile", "--transport", "http")

    def ready(self) -> str:
        """Return its address, once it says that it serves."""
        until = time.monotonic() + WITHIN_S
        while time.monotonic() < until:
            for line in tuple(self.errors):
                if found := re.search(r"(http://[^/\s\"]+)/mcp", line):
                    return found[1]
            time.sleep(0.02)
        raise RuntimeError(self.errors)

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return the log's records of this event."""
        lines = [json.loads(line) for line in tuple(self.errors) if line.startswith("{")]
        return [line for line in lines if line.get("event") == name]


def comes_true(condition: Callable[[], Any], within_s: float = WITHIN_S) -> Any:
    """Return what the condition returns once it is true, or the last of what it returned."""
    until = time.monotonic() + within_s
    while not (found := condition()) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def call(url: str, tool: str, *, within_s: float = 2, **arguments: Any) -> Any:
    """Return the data of a call, or None if nobody answers, or not in time."""
    params = {"name": tool, "arguments": arguments, "_meta": ENVELOPE}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    try:
        response = httpx2.post(f"{url}/mcp", json=body, headers={**HEADERS, "mcp-name": tool}, timeout=within_s)
    except httpx2.HTTPError:
        return None
    if response.status_code != 200:
        return None
    return response.json()["result"]["structuredContent"].get("data")


def workers_of(url: str, count: int) -> set[int]:
    """Return the process ids that answered, once there were so many."""
    seen: set[int] = set()

    def enough() -> bool:
        if (found := call(url, "process_id")) is not None:
            seen.add(found)
        return len(seen) >= count

    comes_true(enough)
    return seen


@pytest.fixture
def fragile(tmp_path: Path) -> Iterator[Callable[..., Fragile]]:
    (tmp_path / "fragile.py").write_text(FRAGILE)
    made: list[Fragile] = []

    def start(*arguments: str, **environment: str) -> Fragile:
        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        server = Fragile(*arguments, FAILSOFT_LOG_JSON="true", PYTHONPATH=path, **environment)
        made.append(server)
        return server

    yield start
    for server in made:
        server.close()


def pair(fragile: Callable[..., Fragile], **environment: str) -> tuple[Fragile, str, set[int]]:
    """Return a server of two workers that both answer, its address and their process ids."""
    server = fragile("--port", "0", "--workers", "2", **environment)
    url = server.ready()
    workers = workers_of(url, 2)
    if len(workers) != 2:
        raise RuntimeError(server.errors)
    return server, url, workers


def test_a_worker_that_ends_with_the_status_of_a_failed_start_is_replaced(fragile: Callable[..., Fragile]) -> None:
    server, url, workers = pair(fragile)
    assert call(url, "end", status=3) is None
    comes_true(lambda: server.process.poll() is not None, within_s=5)
    assert server.process.poll() is None
    assert workers_of(url, 2) - workers


def test_a_replacement_that_does_not_start_leaves_the_other_worker_serving(
    fragile: Callable[..., Fragile], tmp_path: Path
) -> None:
    server, url, workers = pair(fragile)
    (tmp_path / "no-start").touch()
    os.kill(min(workers), signal.SIGKILL)
    failed = comes_true(lambda: server.process.poll() is not None or any("no fuel" in line for line in server.errors))
    if not failed:
        raise RuntimeError(server.errors)
    comes_true(lambda: server.process.poll() is not None, within_s=3)
    assert server.process.poll() is None
    assert workers_of(url, 1) == {max(workers)}
    (tmp_path / "no-start").unlink()
    assert len(workers_of(url, 2)) == 2


def test_a_worker_that_drains_but_does_not_end_is_killed_and_replaced(
    fragile: Callable[..., Fragile], tmp_path: Path
) -> None:
    server, url, workers = pair(fragile, FAILSOFT_SHUTDOWN_GRACE_S="1")
    (tmp_path / "slow-end").touch()
    os.kill(min(workers), signal.SIGTERM)
    [ended] = comes_true(lambda: server.events("worker_ended"), within_s=2 * WITHIN_S) or [{}]
    assert (ended.get("exit_status"), ended.get("reason")) == (-signal.SIGKILL, "exited")
    (tmp_path / "slow-end").unlink()
    assert len(workers_of(url, 2) - {min(workers)}) == 2


def test_a_worker_that_does_not_finish_its_start_is_logged_and_the_other_serves_on(
    fragile: Callable[..., Fragile], tmp_path: Path
) -> None:
    server, url, workers = pair(fragile, FAILSOFT_WORKER_STALL_S="2")
    (tmp_path / "slow-start").touch()
    os.kill(min(workers), signal.SIGKILL)
    assert comes_true(lambda: any("has been starting for" in line for line in server.errors))
    assert workers_of(url, 1) == {max(workers)}
    (tmp_path / "slow-start").unlink()
    assert len(workers_of(url, 2)) == 2
    assert sum("has been starting for" in line for line in server.errors) == 1


def test_a_first_start_that_fails_in_one_worker_only_is_tried_again(
    fragile: Callable[..., Fragile], tmp_path: Path
) -> None:
    (tmp_path / "one-start-fails").touch()
    server = fragile("--port", "0", "--workers", "2")
    comes_true(lambda: server.process.poll() is not None or any("/mcp" in line for line in server.errors))
    comes_true(lambda: server.process.poll() is not None, within_s=3)
    assert not (tmp_path / "one-start-fails").exists()
    assert server.process.poll() is None
    assert len(workers_of(server.ready(), 2)) == 2


def test_a_first_start_that_fails_in_every_worker_is_a_failed_start(
    fragile: Callable[..., Fragile], tmp_path: Path
) -> None:
    (tmp_path / "no-start").touch()
    server = fragile("--port", "0", "--workers", "2")
    assert server.wait() == 4
    assert any("INIT_ERROR" in line for line in server.errors)


@pytest.mark.parametrize("status", [0, 1, -9])
def test_the_end_of_a_worker_is_logged_with_its_exit_status(fragile: Callable[..., Fragile], status: int) -> None:
    server, url, workers = pair(fragile)
    if status < 0:
        os.kill(min(workers), -status)
    else:
        call(url, "end", status=status)
    comes_true(lambda: workers_of(url, 2) - workers)
    (ended,) = comes_true(lambda: server.events("worker_ended"), within_s=5) or [{}]
    assert ended.get("pid") in workers
    assert (ended.get("exit_status"), ended.get("reason")) == (status, "exited")


def test_the_start_of_each_worker_is_logged(fragile: Callable[..., Fragile]) -> None:
    server, _, workers = pair(fragile)
    comes_true(lambda: len(server.events("worker_started")) >= 2, within_s=5)
    assert {event["pid"] for event in server.events("worker_started")} == workers


def test_the_end_of_a_worker_is_counted(fragile: Callable[..., Fragile]) -> None:
    _, url, workers = pair(fragile)
    os.kill(min(workers), signal.SIGKILL)
    assert comes_true(lambda: workers_of(url, 2) - workers)
    counted = re.compile(r'^mcp_worker_restarts_total\{[^}]*reason="exited"[^}]*\} 1(\.0)?$', re.MULTILINE)
    assert comes_true(lambda: counted.search(httpx2.get(f"{url}/metrics").text), within_s=5)


def test_a_worker_whose_event_loop_is_blocked_is_replaced(fragile: Callable[..., Fragile]) -> None:
    server, url, workers = pair(fragile, FAILSOFT_WORKER_STALL_S="1", FAILSOFT_SHUTDOWN_GRACE_S="0")
    assert call(url, "block", seconds=30) is None
    (stalled,) = comes_true(lambda: server.events("worker_stalled"), within_s=10) or [{}]
    assert stalled.get("pid") in workers
    assert stalled.get("operation") == "block"
    assert workers_of(url, 2) - workers


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_listens_only_when_it_can_answer(
    fragile: Callable[..., Fragile], tmp_path: Path, workers: int
) -> None:
    (tmp_path / "slow-start").touch()
    with reserved_ports(1) as (port,):
        server = fragile("--port", str(port), "--workers", str(workers))

        if not comes_true(lambda: len(list(tmp_path.glob("starting-*"))) == workers):
            raise RuntimeError(server.errors)
        with socket.socket() as client:
            accepted_early = client.connect_ex(("127.0.0.1", port)) == 0
        (tmp_path / "slow-start").unlink()
        assert workers_of(server.ready(), workers)
    assert not accepted_early


def accepts(url: str) -> bool:
    """Return whether connections are accepted."""
    host, port = url.removeprefix("http://").split(":")
    with socket.socket() as client:
        return client.connect_ex((host, int(port))) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a socket cannot stop listening")
def test_a_server_whose_workers_have_all_ended_refuses_connections_until_one_is_back(
    fragile: Callable[..., Fragile], tmp_path: Path
) -> None:
    server, url, workers = pair(fragile)
    (tmp_path / "no-start").touch()
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    assert comes_true(lambda: not accepts(url))
    (tmp_path / "no-start").unlink()
    assert len(workers_of(url, 2)) == 2
    assert server.process.poll() is None


def test_a_server_whose_workers_have_all_ended_twice_answers_each_call_afterwards(
    fragile: Callable[..., Fragile],
) -> None:
    _, url, workers = pair(fragile)
    for _ in range(2):
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        workers = workers_of(url, 2)
    assert None not in [call(url, "process_id") for _ in range(20)]


def test_a_crash_loop_is_told_once_and_loudly(fragile: Callable[..., Fragile], tmp_path: Path) -> None:
    server, url, workers = pair(fragile)
    (tmp_path / "no-start").touch()
    os.kill(min(workers), signal.SIGKILL)
    comes_true(lambda: len(server.events("worker_ended")) >= 5)
    loud = [line for line in server.errors if '"level":"CRITICAL"' in line]
    assert len(loud) == 1
    assert workers_of(url, 1) == {max(workers)}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_calls_in_flight_finish_when_all_processes_get_the_signal(
    fragile: Callable[..., Fragile], tmp_path: Path, number: signal.Signals
) -> None:
    """A service manager signals all processes of a service, and a terminal those of its foreground."""
    server, url, workers = pair(fragile, FAILSOFT_SHUTDOWN_GRACE_S="60")
    gate = tmp_path / "gate"
    with ThreadPoolExecutor() as threads:
        answer = threads.submit(call, url, "wait", path=str(gate), within_s=WITHIN_S)
        assert comes_true(gate.with_suffix(".waiting").exists)
        for process in (*workers, program_of(server.process.pid)):
            os.kill(process, number)
        comes_true(lambda: server.events("worker_ended"))  # the other one: now the supervisor has sent its own signal
        gate.touch()
        assert answer.result() in workers
    assert server.wait() == 0
    assert {event["exit_status"] for event in server.events("worker_ended")} == {0}


def test_a_second_signal_skips_the_grace_period(fragile: Callable[..., Fragile], tmp_path: Path) -> None:
    server, url, _ = pair(fragile, FAILSOFT_SHUTDOWN_GRACE_S="600")
    gate = tmp_path / "gate"
    with ThreadPoolExecutor() as threads:
        answer = threads.submit(call, url, "wait", path=str(gate), within_s=WITHIN_S)
        assert comes_true(gate.with_suffix(".waiting").exists)
        server.send(signal.SIGTERM)
        comes_true(lambda: server.events("worker_ended"))
        server.send(signal.SIGTERM)
        assert server.wait() == 0
        assert answer.result() is None


def test_a_machine_that_was_stopped_has_no_stalled_workers(fragile: Callable[..., Fragile]) -> None:
    server, url, workers = pair(fragile, FAILSOFT_WORKER_STALL_S="1")
    processes = [program_of(server.process.pid), *workers]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    time.sleep(3)
    for process in processes:
        os.kill(process, signal.SIGCONT)
    assert workers_of(url, 2) == workers
    time.sleep(1.5)
    assert server.events("worker_stalled") == []
    assert workers_of(url, 2) == workers


def test_a_hang_up_of_the_server_reaches_its_workers(fragile: Callable[..., Fragile], tmp_path: Path) -> None:
    file = tmp_path / "recovery.toml"
    file.write_text("")
    server, url, workers = pair(fragile, FAILSOFT_RECOVERY_FILE=str(file))
    file.write_text("[defaults]\nnonsense = true\n")
    server.send(signal.SIGHUP)
    told = comes_true(lambda: len([line for line in server.errors if "nonsense" in line]) >= 2)
    assert told, server.errors
    assert workers_of(url, 2) == workers


def test_a_server_that_ends_takes_no_connection_that_no_worker_answers(
    fragile: Callable[..., Fragile], tmp_path: Path
) -> None:
    server, url, _ = pair(fragile)
    address = ("127.0.0.1", int(url.rpartition(":")[2]))
    (tmp_path / "slow-end").touch()
    server.send(signal.SIGTERM)

    def refused() -> bool:
        with socket.socket() as client:
            return client.connect_ex(address) != 0

    is_refused = comes_true(refused, within_s=10)
    is_running = server.process.poll() is None
    (tmp_path / "slow-end").unlink()
    assert server.wait() == 0
    assert (is_refused, is_running) == (True, True)
