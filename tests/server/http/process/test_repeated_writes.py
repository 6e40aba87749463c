"""A write that is sent again is done once: after a lost connection, and when the worker that ran it was killed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.http.process.ledger import (
    Outcome,
    Serving,
    Supervised,
    assert_done_once,
    write_and_leave,
    write_twice,
)

WRITES, DROPS = 24, 12


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return what a server is started with that keeps its state and its ledger in this folder."""
    return {"LEDGER": str(tmp_path / "ledger"), "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.fixture
def supervised(environment: dict[str, str]) -> Iterator[Supervised]:
    server = Supervised(FAILSOFT_RECOVERY="defaults.idempotency.lease_s = 1", **environment)
    yield server
    server.close()


def test_writes_that_are_sent_twice_are_done_once_though_a_worker_is_killed(
    tmp_path: Path, supervised: Supervised
) -> None:
    async def kill_one(outcomes: list[Outcome]) -> None:
        while len(outcomes) < WRITES // 3:  # noqa: ASYNC110 - other tasks write meanwhile
            await asyncio.sleep(0.01)
        await supervised.kill_one()

    outcomes = asyncio.run(write_twice(supervised.url, WRITES, kill_one))
    assert_done_once(tmp_path / "ledger", outcomes, WRITES)


@pytest.fixture
def url(environment: dict[str, str]) -> Iterator[str]:
    server = Serving("--port", "0", **environment)
    yield server.url()
    server.close()


def test_every_repetition_of_a_call_whose_connection_was_dropped_gets_its_outcome(tmp_path: Path, url: str) -> None:
    assert asyncio.run(write_and_leave(url, DROPS))
    done = Counter((tmp_path / "ledger").read_text().splitlines())
    assert done == dict.fromkeys((f"write-{number}" for number in range(DROPS)), 1)
