"""Whether a scrape of 1,000 operations holds up the calls that run meanwhile.

A pacemaker asks the event loop to be woken every millisecond: the longest time that it came late is the longest stall.
Calls follow each other, each of which gives the loop away five times, as one that reads from somewhere does. Three
phases take turns: no scrape; scrapes one after the other, rendered as the server does it; and, to show what that
saves, scrapes rendered on the event loop itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from measure import Figure, benchmark, figure, ms

from failsoft import BaseTool, Runtime, operation
from failsoft.metrics import PrometheusRecorder, render, scrape

PAUSE_S = 0.001


class Reading(BaseTool):
    """Calls that wait a little, as for a disk."""

    @operation(read_only=True)
    async def read(self) -> int:
        """Give the loop away five times."""
        for _ in range(5):
            await asyncio.sleep(0)
        return 1


@dataclass(slots=True)
class Seen:
    """What one phase showed, in seconds."""

    longest_stall_s: float = 0.0
    p99_s: float = 0.0
    scrape_s: float = 0.0


def recorder_of(operations: int) -> PrometheusRecorder:
    """Return a recorder in which so many operations have been called."""
    recorder = PrometheusRecorder(label_limit=operations + 10)
    for number in range(operations):
        bound = recorder.bind("bench", f"operation_{number}")
        bound.started()
        bound.attempted("ok")
        bound.finished("ok", 0.001)
    return recorder


async def phase(tool: Reading, scraping: Callable[[], Awaitable[object]] | None, duration_s: float) -> Seen:
    """Return what was seen while calls ran for so long, with or without scrapes beside them."""
    seen = Seen()
    until = time.perf_counter() + duration_s
    latencies: list[float] = []
    scrapes: list[float] = []

    async def keep_pace() -> None:
        while (began := time.perf_counter()) < until:
            await asyncio.sleep(PAUSE_S)
            seen.longest_stall_s = max(seen.longest_stall_s, time.perf_counter() - began - PAUSE_S)

    async def call() -> None:
        while (began := time.perf_counter()) < until:
            await tool.execute_with_error_handling("read", {})
            latencies.append(time.perf_counter() - began)
            await asyncio.sleep(PAUSE_S)

    async def scrape_on() -> None:
        while scraping is not None and (began := time.perf_counter()) < until:
            await scraping()
            scrapes.append(time.perf_counter() - began)

    await asyncio.gather(keep_pace(), call(), scrape_on())
    seen.p99_s = sorted(latencies)[int(len(latencies) * 0.99)]
    seen.scrape_s = sum(scrapes) / len(scrapes) if scrapes else 0.0
    return seen


@benchmark("A scrape", rounds=(10, 1), operations=(1_000, 50), phase_s=(1.5, 0.2))
async def measure(given: Any) -> list[Figure]:
    """Return stalls and latencies of the three phases."""
    recorder = recorder_of(given.operations)
    tool = Reading(runtime=Runtime(metrics=recorder))

    async def on_the_loop() -> None:
        render(recorder)
        await asyncio.sleep(PAUSE_S)

    phases: dict[str, Callable[[], Awaitable[object]] | None] = {
        "no scrape": None,
        "scrapes": lambda: scrape(recorder),
        "scrapes on the loop": on_the_loop,
    }
    seen: dict[str, list[Seen]] = {name: [] for name in phases}
    for _ in range(given.rounds):
        for name, scraping in phases.items():
            seen[name].append(await phase(tool, scraping, given.phase_s))
    found = []
    for name, turns in seen.items():
        found.append(figure(f"longest stall, {name}", ms([turn.longest_stall_s for turn in turns]), "ms"))
        found.append(figure(f"p99 of a call, {name}", ms([turn.p99_s for turn in turns]), "ms"))
        if turns[0].scrape_s:
            note = f"{given.operations:,} operations"
            found.append(figure(f"one scrape, {name}", ms([turn.scrape_s for turn in turns]), "ms", note=note))
    return found
