"""The states of one process: atomic, bounded, forgotten when their time is over."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest

from failsoft import BaseTool, Runtime, operation
from failsoft.testing import InstantClock, fresh_runtime
from tests.doors import Changed, Lifecycle, LocalState, State, forgotten
from tests.recovery.state.stores import looked_at


def add(state: State | None, _now: float, amount: int, ttl_s: float) -> Changed:
    number = (0 if state is None else state["number"]) + amount
    return Changed({"number": number}, number, ttl_s)


def entries(store: LocalState) -> list[tuple[str, float, Any]]:
    return [(one.key, one.expires_in_s, one.value) for one in asyncio.run(store.states.find(""))]


def test_a_state_is_kept_until_its_time_is_over() -> None:
    now = 10.0
    store = LocalState(lambda: now)
    assert [store.change_now(add, "n:x", 1, 5.0) for _ in range(3)] == [1, 2, 3]
    now = 14.9
    assert entries(store) == [("n:x", pytest.approx(0.1), {"number": 3})]
    now = 15.0
    assert entries(store) == []
    assert store.change_now(add, "n:x", 1, 5.0) == 1


def test_time_is_the_event_loops() -> None:
    store = LocalState()

    async def main() -> list[Any]:
        await store.change(add, "key:x", 1, 3_600)
        before = await store.change(looked_at, "key:x")
        await asyncio.sleep(3_600)
        return [before, await store.change(looked_at, "key:x")]

    assert InstantClock().run(main()) == [{"number": 1}, None]


def test_beyond_its_capacity_what_was_changed_longest_ago_is_dropped() -> None:
    store = LocalState(lambda: 0.0, capacity=3)
    for name in "abcdbe":
        store.change_now(add, f"n:{name}", 1, 60.0)
    assert [key for key, _, _ in entries(store)] == ["n:b", "n:d", "n:e"]


def test_no_step_is_lost_between_threads() -> None:
    store = LocalState()

    def work() -> None:
        for _ in range(2_000):
            store.change_now(add, "n:x", 1, 60.0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.change_now(add, "n:x", 0, 60.0) == 8_000


def test_a_step_may_forget_its_state() -> None:
    store = LocalState()
    store.change_now(add, "n:x", 1, 60.0)
    assert store.change_now(forgotten, "n:x") is True
    assert entries(store) == []


def test_a_companion_is_made_once_for_its_key() -> None:
    store = LocalState()
    assert store.companion("a", list) is store.companion("a", list)
    assert store.companion("a", list) is not store.companion("b", list)


def test_what_is_private_to_an_owner_ends_with_it() -> None:
    class Owner:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            return True

    store = LocalState()
    one, other = Owner(), Owner()
    assert store.private_to(one) is store.private_to(one)
    assert store.private_to(one) is not store.private_to(other)
    del one
    gc.collect()
    assert len(store._private) == 1


class Closing(LocalState):
    """Notes that it was closed."""

    closed = 0

    async def close(self) -> None:
        self.closed += 1


class Shop(BaseTool):
    """A toolset."""

    @operation(read_only=True)
    async def count(self) -> int:
        """Return a number."""
        return 1


def test_a_server_lets_go_of_the_store_when_it_ends() -> None:
    state = Closing()
    runtime: Runtime = fresh_runtime(state=state)

    async def main() -> None:
        async with Lifecycle([Shop(runtime=runtime), Shop(runtime=runtime)], shutdown_limit_s=5.0).running():
            assert state.closed == 0

    asyncio.run(main())
    assert state.closed == 1
