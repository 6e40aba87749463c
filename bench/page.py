"""What the page of a server costs: its first paint, an update in the browser, and its readers in a worker.

A server in a process of its own has 200 operations and 5,000 series, of which some change all the time. Readers follow
`/events` over HTTP; the processor's time of the server is compared with that without readers, in turns. Headless
Chromium (Debian's, with `playwright` of the group `dev`) opens the page and follows it; without it those figures are
left out.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from measure import Figure, benchmark, figure

from failsoft import BaseTool, Runtime, Settings, asgi_app, operation
from failsoft.metrics import PrometheusRecorder

READERS = 3
CHANGES_PER_S = 40
_CODES = ("NOT_FOUND", "UNAVAILABLE", "TIMEOUT", "UPSTREAM_ERROR")
_FIRST = "performance.getEntriesByName('failsoft-update', 'measure')[0]"


class Served(BaseTool):
    """The tools of the server; its other operations exist in its numbers alone."""

    @operation(read_only=True)
    async def find(self, number: int) -> int:
        """Find it, or not."""
        return [number][number % 2]


def _serve(listener: socket.socket, operations: int) -> None:
    """Serve until the process is ended."""
    recorder = PrometheusRecorder(label_limit=operations + 10)
    bound = [recorder.bind("bench", f"operation_{number:03}") for number in range(operations)]
    tools = Served(runtime=Runtime(settings=Settings(), metrics=recorder))

    def count(one: Any) -> None:
        one.started()
        one.attempted("ok")
        if random.random() < 0.1:  # noqa: S311 - no secret
            one.finished("error", 0.02)
            one.failed("unavailable", random.choice(_CODES))  # noqa: S311 - no secret
        else:
            one.finished("ok", random.random() / 10)  # noqa: S311 - no secret

    async def work() -> None:
        server = uvicorn.Server(uvicorn.Config(asgi_app(tools, name="bench"), log_level="error"))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        for one in bound * 3:
            count(one)
        for number in range(200):
            await tools.find(number=number)
        while not serving.done():
            await asyncio.sleep(1 / CHANGES_PER_S)
            count(random.choice(bound))  # noqa: S311 - no secret
            await tools.find(number=1)

    asyncio.run(work())


@contextmanager
def _server(operations: int) -> Iterator[tuple[str, int]]:
    """Start a server; the value is its address and its process id."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        spawned = multiprocessing.get_context("spawn").Process(target=_serve, args=(listener, operations), daemon=True)
        spawned.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        try:
            httpx2.get(url, timeout=60).raise_for_status()
            yield url, spawned.pid or 0
        finally:
            spawned.kill()
            spawned.join()


def _cpu_s(pid: int) -> float:
    """Return the processor's time of a process and its threads, in seconds."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


async def _share(url: str, pid: int, readers: int, duration_s: float) -> float:
    """Return the share of a processor that the server uses with so many readers."""

    async def read(client: httpx2.AsyncClient) -> None:
        async with client.stream("GET", f"{url}events") as answer:
            async for _ in answer.aiter_bytes():
                pass

    async with httpx2.AsyncClient(timeout=60) as client:
        reading = [asyncio.create_task(read(client)) for _ in range(readers)]
        await asyncio.sleep(1.0)  # the first event is the whole status
        before, began = _cpu_s(pid), time.perf_counter()
        await asyncio.sleep(duration_s)
        share = (_cpu_s(pid) - before) / (time.perf_counter() - began)
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
    return share


def _in_browser(url: str, rounds: int, duration_s: float) -> list[Figure]:
    """Return first paint and the work of an update, as Chromium measures them."""
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - it may be missing
    except ImportError:
        return []
    if shutil.which("chromium") is None:
        return []
    paints, drawn, updates, scripts = [], [], [], []
    with ExitStack() as held:
        started = held.enter_context(sync_playwright()).chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        held.callback(started.close)
        for _ in range(rounds):
            tab = started.new_page(viewport={"width": 1400, "height": 900})
            tab.goto(url)
            tab.wait_for_selector("#operations tbody tr")
            drawn.append(tab.evaluate(f"{_FIRST}.startTime + {_FIRST}.duration"))
            paints.append(tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            tab.wait_for_timeout(2_000)
            session = tab.context.new_cdp_session(tab)
            session.send("Performance.enable")
            before, count = _metrics(session), tab.evaluate("performance.getEntriesByType('measure').length")
            tab.wait_for_timeout(duration_s * 1_000)
            after, entries = (
                _metrics(session),
                tab.evaluate("performance.getEntriesByType('measure').map(e => e.duration)"),
            )
            updates.append((after["TaskDuration"] - before["TaskDuration"]) * 1_000 / max(1, len(entries) - count))
            scripts += entries[count:]
            tab.close()
    return [
        figure("first paint", paints, "ms", goal="<= 1000", note="the bar, before the numbers are there"),
        figure("numbers are shown", drawn, "ms", goal="<= 1000", note="after the navigation began"),
        figure("main thread, an update", updates, "ms", goal="<= 50", note="all tasks: scripts, styles, layout, paint"),
        figure("scripts of an update", scripts, "ms", note="part of it"),
    ]


def _metrics(session: Any) -> dict[str, float]:
    return {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}


@benchmark("The page of a server", rounds=(5, 1), operations=(200, 20), phase_s=(8.0, 1.5))
async def measure(given: Any) -> list[Figure]:
    """Return the figures."""
    with _server(given.operations) as (url, pid):
        async with httpx2.AsyncClient(timeout=60) as client:
            series = (await client.get(f"{url}metrics")).text.count("\nmcp_")
            size = len((await client.get(f"{url}status.json")).content)
        idle, read = [], []
        for _ in range(given.rounds):
            idle.append(await _share(url, pid, 0, given.phase_s))
            read.append(await _share(url, pid, READERS, given.phase_s))
        costs = [100 * (one - other) for one, other in zip(read, idle, strict=True)]
        in_browser = await asyncio.to_thread(_in_browser, url, given.rounds, given.phase_s)
    note = f"{given.operations} operations, {series:,} series, status of {size / 1_000:.0f} kB"
    return [
        figure(f"{READERS} readers of a worker", costs, "% of a core", goal="<= 1", note=note),
        figure("the worker without readers", [100 * one for one in idle], "% of a core"),
        *in_browser,
    ]
