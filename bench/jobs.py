"""What jobs cost: their start, their wait, how soon a result is seen, and what one that computes does to others."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from measure import Figure, benchmark, figure, ms

from failsoft import BaseTool, operation
from failsoft.framework.call import CallScope
from failsoft.jobs.engine import Engine
from failsoft.jobs.toolset import Jobs, jobs_of
from failsoft.server.assembly import assemble

SCOPE = CallScope(principal="bench")
_CALLS = 200
_COMPUTE_S = 3.0


class Works(BaseTool):
    """Work."""

    @operation(read_only=True)
    async def look(self, number: int) -> int:
        """Look at once."""
        return number

    @operation(read_only=True, job="required")
    async def wait(self, number: int) -> float:
        """Say when it ended."""
        await asyncio.sleep(0.05)
        return time.time() + 0 * number

    @operation(read_only=True, job="required")
    def compute(self, seconds: float) -> int:
        """Compute."""
        until, turns = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            turns += 1
        return turns


class Nowhere(Engine):
    """Jobs wait for ever."""


@asynccontextmanager
async def server(folder: str) -> AsyncIterator[tuple[Works, Jobs]]:
    """Run a server whose jobs run in processes."""
    os.environ["FAILSOFT_STATE_URL"] = f"sqlite:{folder}/state.sqlite"
    assembly = assemble(Works, name="bench")
    async with assembly.lifecycle.running():
        works, jobs = assembly.tools[0], jobs_of(assembly.tools)
        if jobs is None or not isinstance(works, Works):
            raise RuntimeError
        yield works, jobs


async def start_s(works: Works, jobs: Jobs, first: int) -> tuple[list[float], list[float]]:
    """Return the seconds of starts of jobs that wait, and of plain calls."""
    desk = jobs.desk
    engine, desk.engine = desk.engine, Nowhere(desk.book)
    started, plain = [], []
    for number in range(first, first + _CALLS):
        began = time.perf_counter()
        await desk.call(works.operations["wait"], {"number": number}, SCOPE)
        middle = time.perf_counter()
        await works.operations["look"].call({"number": number}, SCOPE)
        started.append(middle - began)
        plain.append(time.perf_counter() - middle)
    desk.engine = engine
    return started, plain


async def seen_s(works: Works, jobs: Jobs, times: int) -> list[float]:
    """Return the seconds from the end of a handler until a waiting caller has the result."""
    found = []
    for number in range(times):
        response: Any = await jobs.desk.call(works.operations["wait"], {"number": -number}, SCOPE, inline_s=20.0)
        found.append(time.time() - response.data)
    return found


async def p99_s(works: Works, seconds: float) -> float:
    """Return the 99th percentile of a plain call that is made every two milliseconds, in seconds."""
    taken, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        await works.operations["look"].call({"number": 1}, SCOPE)
        taken.append(time.perf_counter() - began)
        await asyncio.sleep(0.002)
    return statistics.quantiles(taken, n=100)[98]


def resident_bytes() -> int:
    """Return the memory of this process."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def waiting_bytes(works: Works, jobs: Jobs, count: int, folder: str) -> tuple[float, float]:
    """Return the bytes of a waiting job in the memory of the server, and in the store."""
    desk = jobs.desk
    for number in range(4):
        await desk.call(works.operations["compute"], {"seconds": 3_600.0 + number}, SCOPE)
    file = Path(folder) / "state.sqlite"

    def stored() -> int:
        return sum(
            Path(f"{file}{ending}").stat().st_size for ending in ("", "-wal") if Path(f"{file}{ending}").exists()
        )

    memory, store = resident_bytes(), stored()
    for number in range(count):
        await desk.call(works.operations["wait"], {"number": 1_000_000 + number}, SCOPE)
    return (resident_bytes() - memory) / count, (stored() - store) / count


@benchmark("Jobs", rounds=(5, 1))
async def measure(given: Any) -> list[Figure]:
    """Return the figures."""
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        async with server(folder) as (works, jobs):
            await seen_s(works, jobs, 2)  # the processes are there
            added, seen, quiet, busy = [], [], [], []
            for turn in range(given.rounds):
                started, plain = await start_s(works, jobs, 10_000 * turn)
                added.append(statistics.median(started) - statistics.median(plain))
                seen.append(statistics.median(await seen_s(works, jobs, 20)))
                quiet.append(await p99_s(works, _COMPUTE_S / 2))
                await jobs.desk.call(works.operations["compute"], {"seconds": _COMPUTE_S + turn / 1e3}, SCOPE)
                await asyncio.sleep(0.5)
                busy.append(await p99_s(works, _COMPUTE_S / 2))
                await asyncio.sleep(_COMPUTE_S / 2)
            figures += [
                figure("start of a job over a plain call", ms(added), "ms", goal="<= 3"),
                figure("a result after the end of its handler", ms(seen), "ms", goal="<= 50"),
                figure(
                    "p99 of other calls beside a handler that computes",
                    ms([after - before for before, after in zip(quiet, busy, strict=True)]),
                    "ms",
                    goal="<= 5",
                ),
            ]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FAILSOFT_JOB_PROCESSES"] = "1"
        async with server(folder) as (works, jobs):
            memory, store = await waiting_bytes(works, jobs, 10_000 if given.rounds > 1 else 500, folder)
            begun, _ = await jobs.book.of(SCOPE.principal, None, at_most=20_000)
            for job in begun:
                if job.operation == "compute":
                    await jobs.desk.engine.cancel(job.id)
    figures.append(figure("a waiting job in memory", [memory / 1e3], "kB", goal="<= 5"))
    figures.append(figure("a waiting job in the store", [store / 1e3], "kB", goal="<= 5"))
    return figures
