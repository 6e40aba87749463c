"""A store that is lost and comes back: what is announced, and what its gauge says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from failsoft.events import Events, StoreEvent, StoreFault
from failsoft.testing import InstantClock
from tests.doors import (
    Changed,
    Held,
    LocalState,
    MemoryBackend,
    SharedStore,
    StoreLost,
    UnreadableValue,
    WatchedBackend,
    Write,
    WriteRefused,
)

DAY_S = 86_400.0


class Faulty(MemoryBackend):
    """Takes writes unless it has a fault; it is told when it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: StoreLost | None = None

    async def swap(self, key: str, version: str, write: Write) -> Held | None:
        if self.lost is not None:
            raise self.lost
        return await super().swap(key, version, write)

    async def fullest(self) -> int:
        if self.lost is not None:
            raise self.lost
        return await super().fullest()


def seen(
    act: Callable[[Faulty, WatchedBackend, SharedStore], Awaitable[None]], backend: Faulty | None = None
) -> list[StoreEvent]:
    """Return what is announced while something is done with a store."""
    events, announced = Events(), []
    events.subscribe(announced.append, StoreEvent)
    backend = Faulty() if backend is None else backend
    watched = WatchedBackend(backend, events, probe="probe:write")

    async def main() -> None:
        store = SharedStore(watched)
        await act(backend, watched, store)
        await store.close()

    InstantClock().run(main())
    return announced


def more(value: Any, _now: float) -> Changed:
    number = 1 if value is None else value["number"] + 1
    return Changed({"number": number}, number, DAY_S)


@pytest.mark.parametrize("fault", ["lost", "read_only", "full", "busy", "denied", "loading", "damaged"])
def test_a_fault_is_announced_once_when_it_begins_and_once_when_it_ends(fault: StoreFault) -> None:
    gauges: list[dict[Any, float]] = []

    async def act(backend: Faulty, watched: WatchedBackend, store: SharedStore) -> None:
        assert await store.change(more, "count:a") == 1
        backend.lost = StoreLost("for a test", fault=fault)
        assert [await store.change(more, "count:a") for _ in range(3)] == [1, 2, 3]
        gauges.append({key: on for key, on in watched.gauges["mcp_state_store_unavailable"][0]().items() if on})
        await asyncio.sleep(60)
        backend.lost = None
        await asyncio.sleep(60)
        assert await store.change(more, "count:a") == 2
        gauges.append({key: on for key, on in watched.gauges["mcp_state_store_unavailable"][0]().items() if on})

    lost = StoreEvent(available=False, fault=fault, reason="for a test")
    assert seen(act) == [lost, StoreEvent(available=True, fault=fault, reason="")]
    assert gauges == [{(fault,): 1.0}, {}]


def test_a_store_that_comes_and_goes_is_announced_less_and_less() -> None:
    async def act(backend: Faulty, watched: WatchedBackend, store: SharedStore) -> None:
        for _ in range(3_600):
            backend.lost = WriteRefused("for a test", fault="busy") if watched.fault is None else None
            await store.change(more, "count:a")
            await asyncio.sleep(1)

    assert len(seen(act)) <= 2 * (8 + 3_600 / 15)


def test_an_operation_that_began_before_the_return_of_a_store_does_not_lose_it_again() -> None:
    async def act(backend: Faulty, watched: WatchedBackend, store: SharedStore) -> None:
        backend.lost = StoreLost("for a test")
        await store.change(more, "count:a")
        before = watched.returns
        backend.lost = None
        await asyncio.sleep(60)
        watched.lose(StoreLost("late"), before)
        assert watched.fault is None

    assert [event.available for event in seen(act)] == [False, True]


def test_a_value_that_cannot_be_read_is_no_fault_of_its_store() -> None:
    async def act(backend: Faulty, _watched: WatchedBackend, store: SharedStore) -> None:
        backend.lost = UnreadableValue("damaged")
        await store.change(more, "count:a")

    assert seen(act) == []


class Overtaken(Faulty):
    """A store of several processes: some writes are overtaken by another's."""

    def __init__(self) -> None:
        super().__init__()
        self.overtaken = 0
        self.written: list[bool] = []

    async def swap(self, key: str, version: str, write: Write) -> Held | None:
        if self.lost is None and self.overtaken:
            self.overtaken -= 1
            await super().swap(key, version, Write(f"another's {self.overtaken}", {}, 5.0))
        found = await super().swap(key, version, write)
        self.written.append(found is None)
        return found


def test_a_store_is_back_only_once_a_write_of_this_process_was_taken() -> None:
    backend = Overtaken()

    async def act(_backend: Faulty, watched: WatchedBackend, _store: SharedStore) -> None:
        watched.lose(StoreLost("for a test"), watched.returns)
        backend.overtaken = 2
        await asyncio.sleep(60)
        assert watched.fault is None

    assert [event.available for event in seen(act, backend)] == [False, True]
    assert backend.written == [False, False, True]


def test_a_scrape_that_fails_does_not_lose_the_store() -> None:
    async def act(backend: Faulty, watched: WatchedBackend, _store: SharedStore) -> None:
        backend.lost = StoreLost("a script that is not permitted", fault="denied")
        with pytest.raises(StoreLost):
            await watched.fullest()
        assert watched.fault is None

    assert seen(act) == []


def test_records_over_states_in_memory_have_the_gauge_of_their_store() -> None:
    watched = WatchedBackend(MemoryBackend(), Events(), probe="probe:write")
    assert watched.gauges.items() <= LocalState(records=watched).gauges.items()
