"""Two server processes, two clients, one store: a key sent to both is one piece of work."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.zygote import PYTHON

KEY = "dev.failsoft/idempotency-key"
BOUND_S = 60.0


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'state.sqlite'}"
    return str(request.getfixturevalue("redis_server").url)


@asynccontextmanager
async def process(ledger: Path, url: str) -> AsyncIterator[Client]:
    """Hold a client of a server process of its own."""
    short = "defaults.idempotency.lease_s = 1"
    environment = {**os.environ, "FAILSOFT_STATE_URL": url, "FAILSOFT_RECOVERY": short}
    program = str(Path(__file__).with_name("counting_server.py"))
    parameters = StdioServerParameters(command=PYTHON, args=[program, str(ledger)], env=environment)
    async with Client(stdio_client(parameters)) as client:
        yield client


async def book(client: Client, key: str, text: str = "a", **arguments: Any) -> Any:
    result = await client.call_tool("book", {"text": text, **arguments}, meta={KEY: key})
    assert result.structured_content is not None
    return result.structured_content


def test_a_key_holds_across_processes_and_their_clients(tmp_path: Path, url: str) -> None:
    """One test for three promises: it is starting the processes that takes long."""
    ledger, gate = tmp_path / "ledger", tmp_path / "gate"
    kept: list[str] = []

    async def main() -> None:
        async with process(ledger, url) as first, process(ledger, url) as second:
            done = await a_repetition_gets_the_first_outcome(first, second)
            kept.append("replay")
            await concurrent_calls_are_one(first, second, gate, ledger)
            kept.append("waiting")
            await nothing_is_done_again_after_a_crash(first, second, done["data"]["process"], ledger)
            kept.append("crash")

    try:
        asyncio.run(main())
    except BaseExceptionGroup:
        if kept[-1:] != ["crash"]:  # else it is the client whose server was killed
            raise
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # that client does not close its transport
        gc.collect()  # here, not in a later test
    assert kept == ["replay", "waiting", "crash"]
    assert lines(ledger) == ["a", "a", "a", "end"]


async def a_repetition_gets_the_first_outcome(first: Client, second: Client) -> Any:
    done = await book(first, "k1")
    again = await book(second, "k1")
    assert again["data"] == done["data"]
    assert again["metadata"]["cache_hit"] is True
    assert again["metadata"]["recovery"]["strategy"] == "idempotency"
    other = await book(second, "k1", "b")
    assert other["error"]["code"] == "IDEMPOTENCY_CONFLICT"
    return done


async def concurrent_calls_are_one(first: Client, second: Client, gate: Path, ledger: Path) -> None:
    clients = (first, second, first, second)
    calls = [asyncio.create_task(book(client, "k2", hold=str(gate))) for client in clients]
    await until(lambda: len(lines(ledger)) == 2)
    gate.touch()  # noqa: ASYNC240 - at once
    answers = await asyncio.gather(*calls)
    assert len({answer["data"]["process"] for answer in answers}) == 1
    assert [answer.get("metadata", {}).get("cache_hit") for answer in answers].count(True) == 3


async def nothing_is_done_again_after_a_crash(first: Client, second: Client, process_id: int, ledger: Path) -> None:
    dying = asyncio.create_task(book(first, "k3", hold="/never"))
    await until(lambda: len(lines(ledger)) == 3)
    os.kill(process_id, signal.SIGKILL)
    answer = await book(second, "k3", hold="/never")
    assert (answer["error"]["code"], answer["error"]["effect"]) == ("IDEMPOTENCY_OUTCOME_UNKNOWN", "unknown")
    assert (await book(second, "k4", "end"))["success"]
    dying.cancel()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(BOUND_S):
        while not holds():  # noqa: ASYNC110 - another process writes the file
            await asyncio.sleep(0.01)


def lines(ledger: Path) -> list[str]:
    return ledger.read_text().splitlines() if ledger.exists() else []
