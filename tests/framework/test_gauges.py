"""Gauges are read when somebody asks for them, and end with what they are about."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from loguru import logger

from tests.doors import Gauges

pytestmark = pytest.mark.anyio


class Depot:
    """Something with a number."""

    def __init__(self) -> None:
        self.value = 1.0
        self.elsewhere = 1.0

    def read(self) -> dict[tuple[str, ...], float]:
        return {("api",): self.value}

    async def refresh(self) -> None:
        self.value = self.elsewhere


def test_every_reading_says_what_is_true_now() -> None:
    gauges, depot = Gauges(), Depot()
    remove = gauges.add("mcp_retry_budget_tokens", depot.read)
    assert gauges.read(shared=False) == [("mcp_retry_budget_tokens", ("api",), 1.0)]
    depot.value = 2.0
    assert gauges.read(shared=False) == [("mcp_retry_budget_tokens", ("api",), 2.0)]
    remove()
    remove()
    assert gauges.read(shared=False) == []


def test_a_reader_ends_with_its_object() -> None:
    gauges, depot = Gauges(), Depot()
    gauges.add("mcp_retry_budget_tokens", depot.read)
    gauges.add("mcp_connections", lambda: {(): 3.0})
    del depot
    gc.collect()
    assert gauges.read(shared=False) == [("mcp_connections", (), 3.0)]


async def test_what_a_shared_store_knows_is_asked_for_first() -> None:
    gauges, depot = Gauges(), Depot()
    gauges.add("mcp_retry_budget_tokens", depot.read, refresh=depot.refresh)
    depot.elsewhere = 7.0
    assert gauges.read(shared=False) == []
    await gauges.refresh()
    assert gauges.read(shared=True) == [("mcp_retry_budget_tokens", ("api",), 7.0)]


@pytest.fixture
def lines() -> Iterator[list[str]]:
    kept: list[str] = []
    logger.enable("failsoft")
    sink = logger.add(lambda message: kept.append(message.record["message"]), level=0)
    yield kept
    logger.remove(sink)
    logger.disable("failsoft")


async def test_a_reader_that_raises_is_reported_once_and_left_out(lines: list[str]) -> None:
    gauges = Gauges()

    async def broken() -> None:
        raise OSError

    gauges.add("mcp_threads_busy", lambda: {}[()], refresh=broken)
    gauges.add("mcp_connections", lambda: {(): 3.0})
    for _ in range(2):
        await gauges.refresh()
        assert gauges.read(shared=False) == [("mcp_connections", (), 3.0)]
    assert lines == ["The gauge mcp_threads_busy could not be read"]
