"""Servers of a ledger, and clients that send each write again: after a lost connection, or while workers are killed."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2

from tests.ports import reserved_ports
from tests.server.processes import BOUND_S, Served

__all__ = ["ROOT", "Serving", "Supervised", "call", "write_and_leave", "write_twice"]

ROOT = Path(__file__).parents[4]
VERSION = "2026-07-28"
AT_ONCE = 6
Outcome = tuple[str, str, str]
"""The key of a write, and what its two callers got: `ok` or a code."""


class Serving(Served):
    """`failsoft serve` with the ledger, over HTTP."""

    program = ("-m", "failsoft", "serve", "--app", "tests.server.http.process.ledger_tools:Ledger")

    def __init__(self, *arguments: str, **environment: str) -> None:
        super().__init__("--transport", "http", *arguments, **environment)

    def url(self) -> str:
        """Return where it listens, once it does."""
        return self.wait_for("failsoft serves ").split("/mcp")[0]


async def call(client: httpx2.AsyncClient, tool: str, arguments: dict[str, Any], key: str | None = None) -> Any:
    """Return the answer to one call, as its structured content."""
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    if key is not None:
        meta["dev.failsoft/idempotency-key"] = key
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": meta},
    }
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": VERSION,
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }
    response = await client.post("/mcp", json=body, headers=headers)
    response.raise_for_status()
    text = response.text
    if response.headers["content-type"].startswith("text/event-stream"):
        text = [line for line in text.splitlines() if line.startswith("data:")][-1].removeprefix("data:")
    return json.loads(text)["result"]["structuredContent"]


async def booked(client: httpx2.AsyncClient, key: str) -> str:
    """Return `ok` or the code of the failure, sending a write again while its connection is lost or it should wait."""
    while True:
        try:
            answer = await call(client, "book", {"text": key}, key)
        except (httpx2.TransportError, IndexError):  # the process is gone, perhaps in the middle of its answer
            await asyncio.sleep(0.05)
            continue
        except httpx2.HTTPStatusError as error:
            if error.response.status_code != 503:  # a worker without its supervisor drains
                raise
            await asyncio.sleep(0.05)
            continue
        if answer["success"]:
            return "ok"
        if answer["error"]["retry"]["when"] != "after_delay":
            return str(answer["error"]["code"])
        await asyncio.sleep(0.05)


class Supervised:
    """`failsoft serve --workers 2` on one port, of which one worker can be killed."""

    kind: type[Serving] = Serving

    def __init__(self, **environment: str) -> None:
        self._reserved = ExitStack()
        [self._port] = self._reserved.enter_context(reserved_ports(1))
        self.environment = environment
        self.servers: list[Serving] = []
        self.url = ""
        self.start()

    def start(self) -> None:
        """Start it and wait until it listens."""
        self.servers.append(self.kind("--port", str(self._port), "--workers", "2", **self.environment))
        self.url = self.servers[-1].url()

    async def kill_one(self) -> None:
        """Kill the worker that answers."""
        async with httpx2.AsyncClient(base_url=self.url, timeout=BOUND_S) as client:
            os.kill((await call(client, "process_id", {}))["data"], signal.SIGKILL)

    def close(self) -> None:
        """End every process."""
        for server in self.servers:
            server.close()
        self._reserved.close()


async def write_twice(url: str, writes: int, meanwhile: Callable[[list[Outcome]], Awaitable[None]]) -> list[Outcome]:
    """Make each of so many writes twice at once, while something else happens, which sees the outcomes grow."""
    outcomes: list[Outcome] = []

    async def write(client: httpx2.AsyncClient, numbers: Iterator[int]) -> None:
        for number in numbers:
            key = f"write-{number}"
            first, second = await asyncio.gather(booked(client, key), booked(client, key))
            outcomes.append((key, first, second))

    numbers = iter(range(writes))
    async with asyncio.timeout(4 * BOUND_S + writes / 5), httpx2.AsyncClient(base_url=url, timeout=BOUND_S) as client:
        other = asyncio.ensure_future(meanwhile(outcomes))
        await asyncio.gather(*(write(client, numbers) for _ in range(AT_ONCE)))
        await other
    return outcomes


def assert_done_once(ledger: Path, outcomes: list[Outcome], writes: int) -> None:
    """Fail unless each write is in the ledger once, or its callers were told that its outcome is unknown."""
    done = Counter(ledger.read_text().splitlines())
    assert len(outcomes) == writes
    assert [key for key, count in done.items() if count > 1] == []
    assert [key for key, *said in outcomes if "ok" in said and done[key] != 1] == []
    assert {code for _, *said in outcomes for code in said} <= {"ok", "IDEMPOTENCY_OUTCOME_UNKNOWN"}


async def write_and_leave(url: str, writes: int) -> list[str]:
    """Make writes whose connections are dropped in the middle, and each again; return the keys that were dropped."""
    keys = iter([f"write-{number}" for number in range(writes)])
    dropped: list[str] = []

    async def write(key: str, chance: random.Random) -> None:
        arguments = {"text": key}
        async with httpx2.AsyncClient(base_url=url, timeout=BOUND_S) as client:
            await client.get(
                "/healthz"
            )  # connected: httpx2 leaves the socket open if it is cancelled while it connects
            try:
                async with asyncio.timeout(chance.uniform(0.005, 0.03)):
                    await call(client, "book", arguments, key)
            except TimeoutError:
                dropped.append(key)
        async with httpx2.AsyncClient(base_url=url, timeout=BOUND_S) as client:
            answer = await call(client, "book", arguments, key)
        assert (answer["success"], answer["data"]) == (True, key), answer

    async def some(seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311 - when to leave
        for key in keys:
            await write(key, chance)

    await asyncio.gather(*(some(seed) for seed in range(AT_ONCE)))
    return dropped
