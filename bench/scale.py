"""How throughput and CPU time a call change with workers, connections, payload, tools and failures, over HTTP.

Beside each figure stands the limit of the machine: a raw ASGI app that sends the same bytes on the same uvicorn. Both
servers take turns, and so does the client, which shares the machine with them. Linux only. `--plots FOLDER` draws the
figures as SVG (with `pip install -r bench/requirements.txt`).
"""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from load import Clients, request
from measure import Figure, benchmark, figure, interleave, ratios
from servers import Running, running

__all__ = ["Point"]

CLIENTS, SIZE = 8, 20
CORES = os.cpu_count() or 1
WORKERS = range(1, CORES + 1)
IDLE, BUSY = (100, 1_000, 5_000), (8, 100, 1_000, 5_000)
SIZES = (20, 1_000, 10_000, 100_000, 400_000)
TOOLS = (1, 10, 100, 1_000)
FAILURES = (0, 25, 50, 75, 100)


@dataclass(frozen=True, slots=True)
class Point:
    """One step of one dimension: calls a second in each round, and microseconds of CPU a call."""

    at: int
    rates: dict[str, Sequence[float]]
    cpu_us: dict[str, float]


@dataclass(frozen=True, slots=True)
class Load:
    """What the clients do: how many there are, how long the answers, how many percent of them fail."""

    clients: int = CLIENTS
    size: int = SIZE
    failing: int = 0

    def requests(self, port: int, *, is_raw: bool) -> list[bytes]:
        """Return what each client sends."""
        many = [request("get_text", {"size": self.size}, port=port)] * self.clients
        if is_raw:
            return [one.replace(b"POST /mcp ", b"POST /mcp/%d " % self.size, 1) for one in many]
        failing = request("get_text", {"size": -1}, port=port)
        return [failing if 100 * place < self.failing * self.clients else one for place, one in enumerate(many)]


@dataclass(frozen=True, slots=True)
class Measure:
    """How long to measure."""

    rounds: int
    calls: int

    async def point(self, at: int, servers: dict[str, Running], load: Load) -> Point:
        """Return what the servers do under a load."""
        async with AsyncExitStack() as stack:
            clients = {}
            for name, server in servers.items():
                sent = load.requests(server.port, is_raw=name == "raw")
                clients[name] = await stack.enter_async_context(Clients(server.port, sent))
            times = max(self.calls, load.clients) if load.size < SIZES[-2] else max(1, self.calls // 8)
            before = {name: server.cpu_s() for name, server in servers.items()}
            seconds = await interleave(
                {name: one.calls for name, one in clients.items()}, rounds=self.rounds, times=times
            )
            made = (self.rounds + 1) * times
            cpu_us = {name: 1e6 * (server.cpu_s() - before[name]) / made for name, server in servers.items()}
        return Point(at, {name: [1 / one for one in taken] for name, taken in seconds.items()}, cpu_us)


@asynccontextmanager
async def _both(*, workers: int = 1, tools: int = 1) -> AsyncIterator[dict[str, Running]]:
    async with AsyncExitStack() as stack:
        yield {
            name: await stack.enter_async_context(
                running(factory, module="scale_servers", workers=workers, SCALE_TOOLS=str(tools))
            )
            for name, factory in (("ours", "our_app"), ("raw", "raw_app"))
        }


@contextmanager
def _idle(servers: dict[str, Running], count: int) -> Iterator[None]:
    """Keep connections open on which nothing is sent."""
    opened = [socket.create_connection(("127.0.0.1", one.port)) for one in servers.values() for _ in range(count)]
    try:
        yield
    finally:
        for connection in opened:
            connection.close()


async def _points(how: Measure, steps: int | None) -> dict[str, list[Point]]:
    """Return the points of each dimension, the first `steps` of them."""
    found: dict[str, list[Point]] = {}
    async with _both() as servers:
        idle = []
        for count in IDLE[:steps]:
            with _idle(servers, count):
                idle.append(await how.point(count, servers, Load()))
        found["idle connections"] = idle
        busy = [await how.point(count, servers, Load(clients=count)) for count in BUSY[:steps]]
        found["busy connections"] = busy
        found["characters of the result"] = [await how.point(n, servers, Load(size=n)) for n in SIZES[:steps]]
        found["failing calls (%)"] = [await how.point(n, servers, Load(failing=n)) for n in FAILURES[:steps]]
    for name, counts in (("tools", TOOLS), ("workers", WORKERS)):
        found[name] = []
        for count in counts[:steps]:
            async with _both(**{name: count}) as servers:
                found[name].append(await how.point(count, servers, Load(clients=CLIENTS * CORES)))
    return found


def _figures(found: dict[str, list[Point]]) -> list[Figure]:
    figures = []
    for dimension, points in found.items():
        for point in points:
            ours, raw = point.rates["ours"], point.rates["raw"]
            cpu = f"{point.cpu_us['ours']:.0f} us of CPU a call, raw {point.cpu_us['raw']:.0f}"
            note = f"{median(ours):.0f} calls/s; {cpu}"
            figures.append(figure(f"{dimension}: {point.at:,}", ratios(ours, raw), "of the raw app", note=note))
    return figures


PLOTS = {"type": Path, "metavar": "FOLDER", "help": "draw the figures as SVG in this folder; needs matplotlib"}


@benchmark("Scale, over HTTP", own={"--plots": PLOTS}, rounds=(5, 1), calls=(800, 16), steps=(None, 1))
async def measure(given: Any) -> list[Figure]:
    """Return the figures, and draw them if asked to."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    found = await _points(Measure(given.rounds, given.calls), given.steps)
    if given.plots is not None:
        from scale_plots import draw  # noqa: PLC0415 - matplotlib may be missing

        draw(found, given.plots)
    return _figures(found)
