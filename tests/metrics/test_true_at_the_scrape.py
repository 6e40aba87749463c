"""What `/metrics` says at the moment of a scrape: what is true now, whoever changed it, and all that operators need."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from failsoft import BaseTool, CircuitBreaker, Runtime, Settings, Unavailable, asgi_app, operation
from failsoft.events import Events
from failsoft.metrics import PrometheusRecorder
from tests.doors import open_state, run

pytestmark = pytest.mark.anyio

FOR_OPERATORS = (
    "mcp_workers",
    "mcp_worker_restarts_total",
    "mcp_event_loop_lag_seconds",
    "mcp_threads_busy",
    "mcp_threads_waiting",
    "mcp_connections",
    "process_resident_memory_bytes",
    "mcp_http_refused_total",
    "mcp_audit_failures_total",
    "mcp_recovery_reload_ok",
    "mcp_state_store_unavailable",
    "mcp_state_store_latency_seconds",
    "mcp_state_quota_used_ratio",
    "mcp_principal_calls_total",
    "mcp_repeated_failures_total",
    "mcp_next_steps_total",
)


class Shop(BaseTool):
    """A shop."""

    is_up = True

    @operation(read_only=True, recovery=[CircuitBreaker("stripe", min_calls=2, confidence=0.5, open_s=0.01)])
    async def pay(self) -> None:
        """Pay."""
        if not self.is_up:
            raise Unavailable(message="down", retry_after_seconds=600)


class Patient(Shop):
    """A shop whose breaker stays open until an operator closes it."""

    @operation(read_only=True, recovery=[CircuitBreaker("stripe", min_calls=2, confidence=0.5, open_s=600)])
    async def pay(self) -> None:
        """Pay."""
        if not self.is_up:
            raise Unavailable(message="down", retry_after_seconds=600)


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:{tmp_path / 'state.sqlite'}"
    monkeypatch.setenv("FAILSOFT_STATE_URL", url)
    return url


def shop(url: str, kind: type[Shop] = Shop) -> Shop:
    """Return the shop as a process of its own has it: with its own metrics, above the same store."""
    events = Events()
    state = open_state(url, events)
    return kind(runtime=Runtime(settings=Settings(), metrics=PrometheusRecorder(), events=events, state=state))


@asynccontextmanager
async def served(tool: BaseTool) -> AsyncIterator[Callable[[], Any]]:
    """Yield what scrapes the server of a tool."""
    app = asgi_app(tool)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1:8321") as client,
    ):

        async def scrape() -> str:
            return str((await client.get("/metrics")).text)

        yield scrape


def state_in(text: str) -> list[str]:
    """Return the states that the breaker is said to be in."""
    lines = re.findall(r"^mcp_circuit_state\{([^}]*)\} ([\d.]+)$", text, re.MULTILINE)
    labels = [dict(re.findall(r'(\w+)="([^"]*)"', found)) for found, value in lines if float(value)]
    return [found["state"] for found in labels if found["dependency"] == "stripe"]


async def opened(tool: Shop) -> None:
    tool.is_up = False
    for _ in range(20):
        answer = await tool.pay()
        if answer.error is not None and answer.error.code == "CIRCUIT_OPEN":
            return
    raise RuntimeError(answer)


async def recovered(tool: Shop) -> None:
    """Call until the breaker has let a probe through, and a call after it."""
    tool.is_up = True
    until = time.monotonic() + 5
    while not ((await tool.pay()).success and (await tool.pay()).success):
        if time.monotonic() > until:
            raise RuntimeError
        await anyio.sleep(0.01)


async def test_a_breaker_that_another_process_has_closed_is_closed(url: str) -> None:
    here, elsewhere = shop(url), shop(url)
    async with served(here) as scrape:
        await opened(here)
        before = state_in(await scrape())
        await recovered(elsewhere)
        after = state_in(await scrape())
    await elsewhere.runtime.state.close()
    if before != ["open"]:
        raise RuntimeError(before)
    assert after == ["closed"]


async def test_a_breaker_that_an_operator_holds_is_what_it_is_held_at(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    here = shop(url)
    async with served(here) as scrape:
        await recovered(here)
        code = await anyio.to_thread.run_sync(run, ["state", "open", "stripe"])
        text = await scrape()
    if code != 0:
        raise RuntimeError(code)
    assert state_in(text) == ["open"]


async def test_a_change_of_a_breaker_is_counted_once_however_many_processes_see_it(url: str) -> None:
    shops = [shop(url, Patient), shop(url, Patient), shop(url, Patient)]
    for one in shops:
        await one.pay()
    for one in shops:
        await opened(one)
    for one in shops:
        one.is_up = True
    for command in ("reset", "open", "reset"):
        assert await anyio.to_thread.run_sync(run, ["state", command, "stripe"]) == 0
        for one in shops:
            await one.pay()
    counts: Counter[str] = Counter()
    for one in shops:
        assert isinstance(one.runtime.metrics, PrometheusRecorder)
        for family in one.runtime.metrics.registry.collect():
            counts.update({sample.labels["to"]: sample.value for sample in family.samples if "to" in sample.labels})
        await one.runtime.state.close()
    assert counts == {"open": 2, "half_open": 0, "closed": 2}


async def test_there_is_a_metric_of_all_that_an_operator_has_to_watch(url: str) -> None:
    async with served(shop(url)) as scrape:
        text = await scrape()
    found = {name.removesuffix("_total") for name in re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE)}
    assert [name for name in FOR_OPERATORS if name.removesuffix("_total") not in found] == []


async def test_the_buckets_of_durations_reach_half_an_hour(url: str) -> None:
    async with served(shop(url)) as scrape:
        text = await scrape()
    bounds = re.findall(r'^mcp_tool_call_duration_seconds_bucket\{[^}]*le="([\d.]+)"', text, re.MULTILINE)
    assert max(map(float, bounds)) >= 1_800


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_the_fullest_principal_is_shown_whoever_has_filled_its_quota(tmp_path: Path, kind: str) -> None:
    address = "memory:" if kind == "memory" else f"sqlite:{tmp_path / 's.sqlite'}"

    def made() -> Shop:
        events = Events()
        state = open_state(address, events, quota_bytes=2_560)
        return Shop(runtime=Runtime(settings=Settings(), metrics=PrometheusRecorder(), events=events, state=state))

    here = made()
    elsewhere = here if kind == "memory" else made()
    async with served(here) as scrape:
        await here.runtime.state.records(here).put("note:0", 1, 60.0, principal="ann")
        for number in range(1, 3):
            await elsewhere.runtime.state.records(elsewhere).put(f"note:{number}", 1, 60.0, principal="bob")
        shown = await scrape()
    await elsewhere.runtime.state.close()
    assert re.findall(r"^mcp_state_quota_used_ratio (.*)$", shown, re.MULTILINE) == ["0.2"]
