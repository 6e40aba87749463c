"""What two workers say about themselves after one of them was killed, seen from outside: counts kept, gauges true."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.slow.crashes.test_supervisor import ENVELOPE, HEADERS, WITHIN_S, Fragile, comes_true

SCRAPES = 20
STALL_S = 2
KIOSK = """
import asyncio
import os
import time

from failsoft import BaseTool, CircuitBreaker, Conflict, Unavailable, operation


class Kiosk(BaseTool):
    '''Tools that work, fail, wait or block.'''

    @operation(read_only=True)
    async def sell(self) -> int:
        '''Return the id of the process.'''
        return os.getpid()

    @operation(read_only=True)
    async def refuse(self) -> None:
        '''Fail.'''
        raise Conflict(message="sold")

    @operation(read_only=True, recovery=[CircuitBreaker("bank", min_calls=2, confidence=0.5, open_s=3600)])
    async def pay(self) -> None:
        '''Fail as a service that is down.'''
        raise Unavailable(message="down")

    @operation(read_only=True, timeout=60)
    async def wait(self, seconds: float) -> int:
        '''Wait without blocking.'''
        await asyncio.sleep(seconds)
        return os.getpid()

    @operation(read_only=True, timeout=60)
    async def block(self, seconds: float) -> int:
        '''Block the event loop.'''
        time.sleep(seconds)
        return os.getpid()
"""
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]
"""Name and labels -> value."""


class Kiosk(Fragile):
    program = (
        "-m",
        "failsoft",
        "serve",
        "--app",
        "kiosk:Kiosk",
        "--transport",
        "http",
        "--port",
        "0",
        "--workers",
        "2",
    )


def call(url: str, tool: str, timeout: float = WITHIN_S, **arguments: Any) -> Any:
    """Return the structured answer, over a connection of its own; None if no worker answers."""
    params = {"name": tool, "arguments": arguments, "_meta": ENVELOPE}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    try:
        answer = httpx2.post(f"{url}/mcp", json=body, headers={**HEADERS, "mcp-name": tool}, timeout=timeout)
    except httpx2.HTTPError:
        return None
    return answer.json()["result"]["structuredContent"] if answer.status_code == 200 else None


def exposed(url: str) -> str:
    """Return the exposition, from whichever worker takes the connection."""
    return httpx2.get(f"{url}/metrics", headers={"connection": "close"}, timeout=WITHIN_S).text


def scrape(url: str) -> Series:
    """Return all samples."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(exposed(url))
        for sample in family.samples
    }


def values(series: Series, name: str, **labels: str) -> list[float]:
    """Return the samples of this name whose labels include these."""
    return [value for (found, own), value in series.items() if found == name and labels.items() <= {*own}]


def counts(series: Series) -> Series:
    """Return what never goes down while the server runs: counters and histograms of calls."""
    endings = ("_total", "_count", "_sum", "_bucket")
    return {key: value for key, value in series.items() if key[0].startswith("mcp_") and key[0].endswith(endings)}


def lost(before: Series, after: Series) -> dict[Any, Any]:
    """Return the series that are gone or went down."""
    return {key: (value, after.get(key)) for key, value in before.items() if after.get(key, -1.0) < value}


@pytest.fixture
def kiosk(tmp_path: Path) -> Iterator[Callable[..., Kiosk]]:
    (tmp_path / "kiosk.py").write_text(KIOSK)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    state = f"sqlite:{tmp_path / 'state.sqlite'}"
    made: list[Kiosk] = []

    def start(**environment: str) -> Kiosk:
        made.append(Kiosk(FAILSOFT_LOG_JSON="true", PYTHONPATH=path, FAILSOFT_STATE_URL=state, **environment))
        return made[-1]

    yield start
    for server in made:
        server.close()


@pytest.fixture
def url(kiosk: Callable[..., Kiosk]) -> str:
    return kiosk().ready()


def sold(url: str, times: int) -> set[int]:
    """Sell so often, fail as often, and return the ids of the workers that sold."""
    found = set()
    for _ in range(times):
        found.add(call(url, "sell")["data"])
        assert call(url, "refuse")["error"]["code"] == "CONFLICT"
    return found


def both(url: str) -> set[int]:
    """Return the ids of both workers, once each has sold."""
    found: set[int] = set()

    def enough() -> bool:
        found.update(answer["data"] for answer in [call(url, "sell")] if answer)
        return len(found) >= 2

    if not comes_true(enough):
        raise RuntimeError(found)
    return found


def killed(url: str, workers: set[int]) -> set[int]:
    """Kill one of the workers and return those that sell once it was replaced."""
    gone = min(workers)
    os.kill(gone, signal.SIGKILL)
    found: set[int] = set()

    def replaced() -> bool:
        found.update(answer["data"] for answer in [call(url, "sell")] if answer)
        return len(found - {gone}) >= 2

    if not comes_true(replaced):
        raise RuntimeError(found)
    return found - {gone}


def test_no_count_is_lost_and_none_goes_down_when_a_worker_is_killed(url: str) -> None:
    workers = both(url)
    sold(url, 20)
    before = scrape(url)
    assert values(before, "mcp_tool_calls_total", operation="refuse", outcome="error") == [20.0]
    killed(url, workers)
    earlier = counts(before)
    assert earlier
    for _ in range(SCRAPES):
        later = counts(scrape(url))
        assert lost(earlier, later) == {}
        earlier = later
    assert values(earlier, "mcp_tool_calls_total", operation="refuse", outcome="error") == [20.0]
    assert values(earlier, "mcp_tool_errors_total", operation="refuse", code="CONFLICT") == [20.0]
    assert values(earlier, "mcp_tool_call_duration_seconds_count", operation="refuse") == [20.0]


def test_every_worker_counts_at_once_what_the_others_have_done(url: str) -> None:
    both(url)
    for made in range(1, SCRAPES + 1):
        call(url, "refuse")
        assert values(scrape(url), "mcp_tool_calls_total", operation="refuse", outcome="error") == [float(made)]


def test_counts_survive_the_end_of_every_worker_in_turn(url: str) -> None:
    workers = both(url)
    sold(url, 5)
    for _ in range(4):
        workers = killed(url, workers)
    found = scrape(url)
    assert values(found, "mcp_tool_calls_total", operation="refuse", outcome="error") == [5.0]


def test_promtool_finds_nothing_to_say_after_a_worker_was_killed(url: str, promtool: str) -> None:
    workers = both(url)
    sold(url, 3)
    for _ in range(3):
        call(url, "pay")
    killed(url, workers)
    command = [promtool, "check", "metrics"]
    checked = subprocess.run(command, input=exposed(url), capture_output=True, text=True, check=False, timeout=60)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_calls_of_a_killed_worker_are_no_longer_in_flight(url: str) -> None:
    workers = both(url)
    callers = [threading.Thread(target=call, args=(url, "wait"), kwargs={"seconds": 40}) for _ in range(8)]
    for caller in callers:
        caller.start()
    in_flight = comes_true(lambda: values(scrape(url), "mcp_tool_inflight", operation="wait") == [8.0])
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    for caller in callers:
        caller.join()
    assert comes_true(lambda: call(url, "sell", timeout=2))
    assert in_flight
    assert values(scrape(url), "mcp_tool_inflight", operation="wait") in ([], [0.0])


def test_a_breaker_is_in_one_state_whichever_worker_is_asked_and_whoever_died(url: str) -> None:
    workers = both(url)
    refused = [call(url, "pay")["error"]["code"] for _ in range(30)]
    if "CIRCUIT_OPEN" not in refused:
        raise RuntimeError(refused)
    killed(url, workers)
    states = ("closed", "half_open", "open")
    found = [scrape(url) for _ in range(SCRAPES)]
    assert [
        {state: sum(values(one, "mcp_circuit_state", dependency="bank", state=state)) for state in states}
        for one in found
    ] == [{"closed": 0, "half_open": 0, "open": 1}] * SCRAPES


def test_the_number_of_workers_is_true_at_each_scrape(url: str) -> None:
    workers = both(url)
    assert values(scrape(url), "mcp_workers") == [2.0]
    killed(url, workers)
    for _ in range(SCRAPES):
        found = scrape(url)
        assert values(found, "mcp_workers") == [2.0]
        assert values(found, "mcp_worker_restarts_total", reason="exited") == [1.0]
        assert len(values(found, "process_resident_memory_bytes")) == 2


def test_a_scrape_says_that_a_worker_is_gone_before_it_was_replaced(
    kiosk: Callable[..., Kiosk], tmp_path: Path
) -> None:
    url = kiosk().ready()
    workers = both(url)
    (tmp_path / "kiosk.py").write_text("import time\ntime.sleep(8)\n" + KIOSK)  # its replacement takes its time
    os.kill(min(workers), signal.SIGKILL)
    assert comes_true(lambda: values(scrape(url), "mcp_workers") == [1.0], within_s=5)
    assert comes_true(lambda: values(scrape(url), "mcp_workers") == [2.0])


def test_a_blocked_event_loop_shows_in_the_scrape_of_the_other_worker(url: str) -> None:
    both(url)
    blocking = threading.Thread(target=call, args=(url, "block"), kwargs={"seconds": 6})
    blocking.start()

    def lag() -> float:
        try:
            text = httpx2.get(f"{url}/metrics", headers={"connection": "close"}, timeout=1).text
        except httpx2.HTTPError:  # the blocked worker was asked
            return 0.0
        found = re.findall(r"^mcp_event_loop_lag_seconds(?:\{[^}]*\})? (\S+)", text, re.MULTILINE)
        return max(map(float, found), default=0.0)

    seen = comes_true(lambda: lag() > 1, within_s=5)
    blocking.join()
    assert seen
    assert comes_true(lambda: max(values(scrape(url), "mcp_event_loop_lag_seconds")) < 1)  # the longest of 10 s


def test_a_worker_that_stalls_is_counted_and_a_long_call_is_none(kiosk: Callable[..., Kiosk]) -> None:
    url = kiosk(FAILSOFT_WORKER_STALL_S=str(STALL_S), FAILSOFT_SHUTDOWN_GRACE_S="0").ready()
    both(url)
    assert call(url, "wait", seconds=STALL_S * 2)["success"]
    assert sum(values(scrape(url), "mcp_worker_restarts_total")) == 0
    call(url, "block", timeout=3 * STALL_S, seconds=30)
    stalled = comes_true(lambda: sum(values(scrape(url), "mcp_worker_restarts_total", reason="stalled")))
    assert stalled == 1
    assert sum(values(scrape(url), "mcp_worker_restarts_total", reason="exited")) == 0
