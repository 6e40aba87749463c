"""Our server over stdio beside the bare SDK server: calls a second, p99, and CPU time of the server a call.

Both are processes of their own with the same tool. A client that costs next to nothing calls them in turn, with one and
with eight calls in flight, and for results of a megabyte. Linux only.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from load import message
from measure import Contender, Figure, Rounds, benchmark, figure, interleave, ms, ratios

HERE = Path(__file__).parent
SERVERS = {
    "bare SDK": [sys.executable, "-c", "import bare_server; bare_server.over_stdio()"],
    "ours": [sys.executable, "-m", "failsoft", "serve", "--app", "text_tool:Texts"],
    "ours, SDK streams": [sys.executable, "-c", "import bare_server; bare_server.ours_over_sdk_streams()"],
}
"""The last one has no reader and writer threads of ours, which is what those are compared with."""
KINDS = {"1 in flight": (1, 20, 400), "8 in flight": (8, 20, 800), "1 MB results": (1, 1_000_000, 16)}
"""Kind -> calls in flight, characters of a result, calls in one turn."""
QUICK_CALLS = 8
GOAL = ">= 1"
_LINE_AT_MOST = 16_000_000


class Client:
    """One server process and the calls that wait for it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._number = 0
        self.latencies: list[float] = []

    async def begin(self) -> None:
        """Open the session."""
        info = {"name": "bench", "version": "1"}
        await self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})
        self._write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())

    async def _ask(self, method: str, params: Mapping[str, Any]) -> None:
        self._write(message(method, dict(params)))
        _require(await self._line())

    async def calls(self, times: int, *, in_flight: int, size: int) -> None:
        """Make this many calls, so many at a time, and add what each took to `latencies`."""
        clock = asyncio.get_running_loop().time
        params = {"name": "get_text", "arguments": {"size": size}}
        began: dict[int, float] = {}
        for sent in range(times + in_flight):
            if sent >= in_flight:
                line = await self._line()
                _require(line)
                self.latencies.append(clock() - began.pop(_id_of(line)))
            if sent < times:
                self._number += 1
                began[self._number] = clock()
                self._write(message("tools/call", params, number=self._number))

    def cpu_s(self) -> float:
        """Return the CPU time that the process has used, with all its threads, in seconds."""
        tasks = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def _write(self, line: bytes) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(line + b"\n")

    async def _line(self) -> bytes:
        return b"" if self._process.stdout is None else await self._process.stdout.readline()


def _id_of(line: bytes) -> int:
    """Return the id, which both servers write before the result."""
    return int(line[: line.index(b'"result"')].rpartition(b'"id":')[2].strip(b" ,"))


def _require(line: bytes) -> None:
    if b'"result"' not in line or b'"isError":true' in line:
        msg = f"the server did not answer the call: {line[:500]!r}"
        raise RuntimeError(msg)


@asynccontextmanager
async def served(command: list[str]) -> AsyncIterator[Client]:
    """Run a server and begin a session with it."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=HERE,
        env={**os.environ, "FAILSOFT_MAX_RESPONSE_BYTES": str(_LINE_AT_MOST)},
        limit=_LINE_AT_MOST,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        client = Client(process)
        await client.begin()
        yield client
    finally:
        process.kill()
        await process.wait()


def _contender(client: Client, in_flight: int, size: int) -> Contender:
    async def call(times: int) -> None:
        await client.calls(times, in_flight=in_flight, size=size)

    return call


@benchmark("Over stdio", rounds=(15, 1))
async def measure(given: Any) -> list[Figure]:
    """Return all figures."""
    found = []
    async with AsyncExitStack() as stack:
        clients = {name: await stack.enter_async_context(served(command)) for name, command in SERVERS.items()}
        for kind, (in_flight, size, calls) in KINDS.items():
            times = QUICK_CALLS if given.quick else calls
            contenders = {name: _contender(client, in_flight, size) for name, client in clients.items()}
            before = {name: client.cpu_s() for name, client in clients.items()}
            seconds = await interleave(contenders, rounds=given.rounds, times=times)
            made = (given.rounds + 1) * times
            cpu_us = {name: 1e6 * (client.cpu_s() - before[name]) / made for name, client in clients.items()}
            p99 = {name: _p99(client, times) for name, client in clients.items()}
            found += _figures(kind, seconds, cpu_us, p99)
    return found


def _p99(client: Client, times: int) -> list[float]:
    """Return the p99 of each turn but the first, in milliseconds."""
    taken, client.latencies = client.latencies, []
    turns = [taken[start : start + times] for start in range(times, len(taken), times)]
    return ms([statistics.quantiles(turn, n=100, method="inclusive")[98] for turn in turns])


def _figures(kind: str, seconds: Rounds, cpu_us: Mapping[str, float], p99: Mapping[str, list[float]]) -> list[Figure]:
    bare, ours, without = seconds["bare SDK"], seconds["ours"], seconds["ours, SDK streams"]
    note = f"{cpu_us['ours'] / cpu_us['bare SDK']:.2f} of its CPU time ({cpu_us['ours']:.0f} us)"
    slower = ratios(p99["ours"], p99["bare SDK"])
    return [
        figure(f"{kind}, bare SDK server", [1 / value for value in bare], "calls/s"),
        figure(f"{kind}: throughput", ratios(bare, ours), "of bare", goal=GOAL, note=note),
        figure(
            f"{kind}: throughput",
            ratios(without, ours),
            "of ours on the SDK's streams",
            note=f"{cpu_us['ours'] / cpu_us['ours, SDK streams']:.2f} of its CPU time",
        ),
        figure(f"{kind}: p99", slower, "of bare", note=f"{statistics.median(p99['bare SDK']):.2f} ms there"),
    ]
