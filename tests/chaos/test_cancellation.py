"""A call that is cancelled at any of its await points leaves nothing behind: no slot, probe, lock, task or number."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

import pytest

from failsoft import CallContext, Chaos, Unavailable
from failsoft.recovery import Bulkhead, CircuitBreaker
from failsoft.testing import InstantClock
from tests.chaos.laboratory import KINDS, Subject, check_books, subject


class CancelAt:
    """Awaits a coroutine and cancels the running task at the n-th point where it waits."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], point: int) -> None:
        self._coroutine = coroutine
        self._point = point
        self.reached = False

    @types.coroutine
    def run(self) -> Generator[Any, Any, Any]:
        passed = 0
        resume: Callable[[], Any] = lambda: self._coroutine.send(None)  # noqa: E731 - one of two ways to go on
        while True:
            try:
                waited_for = resume()
            except StopIteration as stop:
                return stop.value
            passed += 1
            if passed == self._point:
                self.reached = True
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            try:
                yield waited_for
            except BaseException as error:  # noqa: BLE001 - handed on as it came
                resume = lambda error=error: self._coroutine.throw(error)  # noqa: E731 - the other way
            else:
                resume = lambda: self._coroutine.send(None)  # noqa: E731 - the first way


async def cancelled_at(tool: Subject, point: int, params: dict[str, Any]) -> bool:
    """Make a call and cancel it at a point; return whether it got there."""

    async def call() -> None:
        cancelling = CancelAt(tool.answer("work", **params), point)
        try:
            await cancelling.run()
        finally:
            reached.append(cancelling.reached)

    reached: list[bool] = []
    running = asyncio.create_task(call())
    await asyncio.wait([running])
    assert len(asyncio.all_tasks()) == 1, f"a task is left after point {point}"
    assert tool.ledger.running == 0, f"a handler still runs after point {point}"
    assert running.cancelled() or not running.exception()
    return reached[0]


class Behaviour:
    """A handler with several await points: fails first, is slow then, and works at last."""

    async def __call__(self, call: CallContext) -> int:
        await asyncio.sleep(0)
        if call.attempt == 1:
            raise Unavailable(effect="none")
        if call.attempt == 2:
            await asyncio.sleep(2.0)
        await asyncio.sleep(0.1)
        return call.attempt


async def everywhere(tool: Subject, params: dict[str, Any]) -> int:
    """Cancel call after call, each at the next point; return how many points there are."""
    point = 0
    is_reached = True
    while is_reached:
        point += 1
        await asyncio.sleep(600)  # what is in the cache is not fresh, a circuit that opened may be tried
        is_reached = await cancelled_at(tool, point, params)
        assert point < 500
    return point - 1


@pytest.mark.parametrize("chain", ["default", "full"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_call_may_be_cancelled_at_every_point_where_it_waits(kind: str, chain: str) -> None:
    tool = subject(kind, chain, Behaviour())
    points = InstantClock().run(everywhere(tool, {"item": 1}))
    assert points >= 4
    check_books(tool, calls=points + 1)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_held_by_calls_that_were_cancelled(kind: str) -> None:
    room, breaker = Bulkhead(1, dependency="d"), CircuitBreaker("d", min_calls=1, failure_ratio=1.0, open_s=1.0)
    failing = [True]

    async def behave(call: CallContext) -> int:
        await asyncio.sleep(0.1)
        if failing[0]:
            raise Unavailable
        return call.attempt

    async def probes() -> None:
        bound = tool.operations["work"]
        for point in range(1, 12):
            failing[0] = True
            for _ in range(3):
                await tool.answer("work")  # opens the circuit, or keeps it open
                await asyncio.sleep(2)
            failing[0] = False
            await cancelled_at(tool, point, {})  # the probe, cancelled somewhere
            await asyncio.sleep(2)
            assert (await tool.answer("work")).success, f"the probe cancelled at point {point} was not given back"
            assert room.compartment(bound).taken == 0

    tool = subject(kind, "default", behave, room, breaker)
    InstantClock().run(probes())


@pytest.mark.parametrize("kind", KINDS)
def test_chaos_may_be_cancelled_too(kind: str) -> None:
    tool = subject(kind, "full", Behaviour(), Chaos(1, latency_s=1.0, fault=0.3, lost=0.3, cancelled=0.2))
    points = InstantClock().run(everywhere(tool, {"item": "1"}))
    check_books(tool, calls=points + 1)


def test_those_who_wait_for_a_cancelled_call_are_not_left_waiting() -> None:
    async def everyone(point: int) -> bool:
        tool = subject("reading", "full", Behaviour())
        others = [asyncio.create_task(tool.answer("work")) for _ in range(3)]
        first = asyncio.create_task(cancelled(tool, point))
        done, _ = await asyncio.wait([first, *others])
        assert all(task in done for task in others)
        assert [task.result().success for task in others] == [True] * 3
        assert len(asyncio.all_tasks()) == 1
        return first.result()

    async def cancelled(tool: Subject, point: int) -> bool:
        cancelling = CancelAt(tool.answer("work"), point)
        try:
            await cancelling.run()
        except asyncio.CancelledError:
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
        return cancelling.reached

    point = 1
    while InstantClock().run(everyone(point)):
        point += 1
    assert point > 1
