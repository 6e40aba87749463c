"""Servers under faults for long: memory, files, threads and tasks stay flat, and dropped connections lose nothing.

`SOAK_MINUTES=30 SOAK_DROPS=1000 pytest -m slow -s -o faulthandler_timeout=4000 FILE` runs them at full size.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.server.http.process.ledger import ROOT, Serving, call, write_and_leave
from tests.server.processes import BOUND_S

MINUTES = float(os.environ.get("SOAK_MINUTES", "0"))
DROPS = int(os.environ.get("SOAK_DROPS", "30"))
CALLS, ROUNDS, AT_ONCE = 120, 2, 8
"""Calls of one round, rounds if no time is given, and callers."""
GROWTH_BYTES = 16 * 1024 * 1024
APP = "tests.slow.soak.soak_tools:Soak"
SHORT = "defaults.idempotency = {ttl_s = 2, lease_s = 1}"
_numbers = itertools.count()

Caller: TypeAlias = Callable[[str, dict[str, Any], str | None], Awaitable[Any]]


class Cold(Serving):
    """A server whose process is looked at by its id."""

    python = sys.executable


class Soaking(Cold):
    """A server of the tools that fail."""

    program = ("-m", "failsoft", "serve", "--app", APP)


def resident_bytes(process: int) -> int:
    """Return the memory that a process uses."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files(process: int) -> int:
    """Return how many files and sockets a process has open."""
    return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())


async def one_call(caller: Caller, chance: random.Random) -> None:
    """Make one call of any kind; some are left in the middle."""
    number = next(_numbers)
    kinds: list[tuple[str, dict[str, Any], str | None]] = [
        ("flaky", {}, None),
        ("cached", {"number": number % 50}, None),
        ("missing", {"name": f"shelf {number}"}, None),
        ("crash", {}, None),
        ("hang", {}, None),
        ("cached", {"number": "no number", "other": number}, None),
        ("book", {"text": f"t{number}"}, f"key-{number}"),
        ("book", {"text": f"t{number}", "seconds": 0.01}, f"key-{number}"),
    ]
    with suppress(TimeoutError, httpx2.TransportError):
        async with asyncio.timeout(chance.choice([0.005, 30, 30, 30, 30])):
            await caller(*chance.choice(kinds))


async def a_round(caller: Caller, seed: int) -> None:
    """Make the calls of one round, and let their records expire."""
    chance = random.Random(seed)  # noqa: S311 - a choice of calls

    async def some() -> None:
        for _ in range(CALLS // AT_ONCE):
            await one_call(caller, chance)

    await asyncio.gather(*(some() for _ in range(AT_ONCE)))


async def soaked(caller: Caller, process: int, census: Callable[[], Awaitable[dict[str, int]]]) -> None:
    """Make rounds until the time is up; assert that nothing grew after the first ones."""
    await a_round(caller, 0)
    await a_round(caller, 1)
    before = await settled(process, census)
    ends, seed = time.monotonic() + 60 * MINUTES, 2
    while seed < 2 + ROUNDS or time.monotonic() < ends:
        await a_round(caller, seed)
        seed += 1
    after = await settled(process, census)
    print(f"{(seed - 2) * CALLS} calls: {before} -> {after}")  # noqa: T201 - the figures of a long run, with `pytest -s`
    for what in ("files", "threads", "tasks"):
        assert after[what] <= before[what] + AT_ONCE, (what, before, after)
    assert after["bytes"] <= before["bytes"] + GROWTH_BYTES, (before, after)


async def settled(process: int, census: Callable[[], Awaitable[dict[str, int]]]) -> dict[str, int]:
    """Return what a process uses once calls that were left are over: the least of some looks."""
    looks = []
    for _ in range(10):
        looks.append({**await census(), "files": open_files(process), "bytes": resident_bytes(process)})
        await asyncio.sleep(0.05)
    return {name: min(look[name] for look in looks) for name in looks[0]}


def test_an_http_server_stays_as_it_is_under_faults(tmp_path: Path) -> None:
    server = Soaking("--port", "0", XDG_STATE_HOME=str(tmp_path), FAILSOFT_RECOVERY=SHORT)

    async def main(url: str) -> None:
        limits = httpx2.Limits(max_connections=AT_ONCE)
        async with httpx2.AsyncClient(base_url=url, timeout=BOUND_S, limits=limits) as client:

            async def caller(tool: str, arguments: dict[str, Any], key: str | None) -> Any:
                return await call(client, tool, arguments, key)

            async def census() -> dict[str, int]:
                counted: dict[str, int] = (await call(client, "census", {}))["data"]
                return counted

            await soaked(caller, server.process.pid, census)

    try:
        asyncio.run(main(server.url()))
    finally:
        server.close()


def test_a_stdio_server_stays_as_it_is_under_faults(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    program = (
        f"import os, pathlib, sys; pathlib.Path({str(mark)!r}).write_text(str(os.getpid())); "
        "sys.argv[0] = 'failsoft'; from tests.doors import command; sys.exit(command())"
    )
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "FAILSOFT_RECOVERY": SHORT, "PYTHONPATH": str(ROOT)}
    parameters = StdioServerParameters(
        command=sys.executable, args=["-c", program, "serve", "--app", APP], env=environment
    )

    async def main() -> None:
        with (tmp_path / "log").open("w") as log:
            async with Client(stdio_client(parameters, errlog=log)) as client:

                async def caller(tool: str, arguments: dict[str, Any], key: str | None) -> Any:
                    meta: Any = None if key is None else {"dev.failsoft/idempotency-key": key}
                    return await client.call_tool(tool, arguments, meta=meta)

                async def census() -> dict[str, int]:
                    found = (await client.call_tool("census", {})).structured_content
                    assert found is not None
                    return dict(found["data"])

                await census()
                await soaked(caller, int(mark.read_text()), census)

    asyncio.run(main())


def test_every_repetition_of_a_call_whose_connection_was_dropped_gets_its_outcome(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    server = Cold("--port", "0", XDG_STATE_HOME=str(tmp_path), LEDGER=str(ledger))
    try:
        dropped = asyncio.run(write_and_leave(server.url(), DROPS))
    finally:
        server.close()
    assert Counter(ledger.read_text().splitlines()) == dict.fromkeys((f"write-{number}" for number in range(DROPS)), 1)
    assert dropped
