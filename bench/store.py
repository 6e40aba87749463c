"""How fast breakers and keyed calls are over a Redis server: of 1 and 16 processes, at once and 1 ms away.

Each process makes its calls 8 at a time; the rate is that of all of them together. The millisecond is added to each
round trip by a proxy. Needs `redis-server`.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from measure import Figure, benchmark, figure
from pydantic import SecretStr

from failsoft import BaseTool, CircuitBreaker, Idempotency, Runtime, Settings, operation
from failsoft.framework.call import META_KEY, NO_SCOPE, CallScope

AT_ONCE = 8
DELAY_S = 0.001
PROCESSES = (1, 16)
KINDS = ("breaker", "keyed")


class Till(BaseTool):
    """Takes money."""

    @operation(read_only=True, recovery=[CircuitBreaker("bank")])
    async def breaker(self, amount: int) -> int:
        """Look at an amount."""
        return amount

    @operation(recovery=[Idempotency()])
    async def keyed(self, amount: int) -> int:
        """Take an amount."""
        return amount


async def calls_of(kind: str, calls: int, url: str, ready: Barrier) -> tuple[float, float]:
    """Make the calls of one process once all are ready; return when they began and ended."""
    # The limit is far off, so that a busy machine does not count as a lost store.
    till = Till(runtime=Runtime(settings=Settings(state_url=SecretStr(url), state_timeout_s=10)))
    pay = till.operations[kind]

    async def client(number: int, times: int) -> None:
        for turn in range(times):
            meta = {META_KEY: f"{os.getpid()}-{number}-{turn}"}
            answer = await pay.call({"amount": 1}, CallScope(meta=meta) if kind == "keyed" else NO_SCOPE)
            if not answer.success:
                raise RuntimeError(answer)

    await client(AT_ONCE, 5)
    ready.wait()
    began = time.monotonic()
    await asyncio.gather(*(client(number, calls // AT_ONCE) for number in range(AT_ONCE)))
    ended = time.monotonic()
    await till.runtime.state.close()
    return began, ended


def rate(url: str, kind: str, processes: int, calls: int) -> float:
    """Return the calls a second of so many processes."""
    each = max(AT_ONCE, calls // processes // AT_ONCE * AT_ONCE)
    forks = multiprocessing.get_context("fork")  # to import everything 16 times would take a minute
    ready, told = forks.Barrier(processes), forks.SimpleQueue()

    def made() -> None:
        told.put(asyncio.run(calls_of(kind, each, url, ready)))

    running = [forks.Process(target=made, daemon=True) for _ in range(processes)]
    for one in running:
        one.start()
    times: list[tuple[float, float]] = [told.get() for _ in running]
    for one in running:
        one.join()
    return processes * each / (max(end for _, end in times) - min(begin for begin, _ in times))


@asynccontextmanager
async def redis_server(folder: Path) -> AsyncIterator[Path]:
    """Run a server without persistence, and yield its socket."""
    path = folder / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(folder)]
    server = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    try:
        while b"ccept" not in await server.stdout.readline():  # type: ignore[union-attr]  # it is a pipe
            pass
        yield path
    finally:
        server.kill()
        await server.wait()


@asynccontextmanager
async def proxy(server: Path, folder: Path, delay_s: float) -> AsyncIterator[Path]:
    """Yield the socket of a proxy that holds back what is sent to the server for a while, without limiting its rate."""

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        held: deque[bytes] = deque()

        def send() -> None:
            writer.write(held.popleft())

        while data := await reader.read(65_536):
            held.append(data)
            loop.call_later(delay_s, send)
        loop.call_later(delay_s, writer.close)

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
        writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, asked = await asyncio.open_unix_connection(server)
        await asyncio.gather(late(reader, asked), forward(answers, writer), return_exceptions=True)

    path = folder / "proxy.sock"
    async with await asyncio.start_unix_server(connected, path):
        yield path


@benchmark("Calls over a Redis server", rounds=(3, 1), calls=(1_600, 320))
async def measure(given: Any) -> list[Figure]:
    """Return the figures."""
    figures = []
    with tempfile.TemporaryDirectory(prefix="fs") as name:
        folder = Path(name)
        async with redis_server(folder) as near, proxy(near, folder, DELAY_S) as far:
            for kind in KINDS:  # imports what the processes need, so that none of them has to
                await calls_of(kind, AT_ONCE, f"unix://{near}", multiprocessing.Barrier(1))
            for place, path in (("at once", near), ("1 ms away", far)):
                for kind in KINDS:
                    for processes in PROCESSES:
                        job = (f"unix://{path}", kind, processes, given.calls)
                        rates = [await asyncio.to_thread(rate, *job) for _ in range(given.rounds)]
                        figures.append(figure(f"{kind}, {processes} processes, {place}", rates, "calls/s"))
    return figures
