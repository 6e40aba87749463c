"""The point of no return: what a repetition does after a crash before, in, and after an effect."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from failsoft import NOT_DONE, BaseTool, CallContext, ToolResponse, Unavailable, operation
from failsoft.testing import InstantClock
from tests.doors import Held, LocalState, StoreLost, Write, WriteRefused
from tests.framework.recording import quiet_runtime
from tests.recovery.idempotency.processes import SharedRecords, keyed, left_behind, shared

LONG_S = 100.0
LEASE_OVER_S = 15.0


class Till(BaseTool):
    """Charges cards at a provider that the test plays."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.charged: list[int] = []
        self.looks = 0
        self.pauses = {"before": 0.0, "in": 0.0, "after": 0.0}
        self.fault: Exception | None = None
        self.cannot_tell = False

    @operation(timeout=300, effects=True)
    async def charge(self, amount: int, call: CallContext) -> str:
        """Charge an amount."""
        await asyncio.sleep(self.pauses["before"])
        number = await call.effect("charge", run=lambda: self._run(amount), probe=self._probe)
        if self.fault is not None:
            raise self.fault
        await asyncio.sleep(self.pauses["after"])
        return f"charge {number}"

    @operation(timeout=300, effects=True)
    def charge_in_a_thread(self, amount: int, call: CallContext) -> str:
        """Charge an amount, from a thread."""
        return f"charge {call.effect('charge', run=lambda: self._now(amount), probe=self._probe)}"

    @operation(timeout=300)
    async def plain(self, amount: int) -> int:
        """Charge an amount, and mark nothing."""
        self.charged.append(amount)
        await asyncio.sleep(self.pauses["in"])
        return amount

    @operation(timeout=300, atomic=True)
    async def book(self, amount: int) -> int:
        """Book an amount in one transaction."""
        if self.fault is not None:
            raise self.fault
        self.charged.append(amount)
        return amount

    async def _run(self, amount: int) -> int:
        await asyncio.sleep(self.pauses["in"])
        return self._now(amount)

    def _now(self, amount: int) -> int:
        self.charged.append(amount)
        return len(self.charged)

    def _probe(self) -> Any:
        self.looks += 1
        if self.cannot_tell:
            raise Unavailable
        return len(self.charged) or NOT_DONE


@pytest.fixture
def till() -> Till:
    return Till(runtime=quiet_runtime(state=shared()))


async def send(tool: Till, name: str = "charge") -> ToolResponse[Any]:
    return await tool.operations[name].call({"amount": 5}, keyed())


def outcome_of(response: ToolResponse[Any]) -> Any:
    return response.data if response.error is None else (response.error.code, response.error.effect)


@pytest.mark.parametrize("name", ["charge", "charge_in_a_thread"])
def test_an_effect_is_done_once_and_its_value_goes_on(till: Till, name: str) -> None:
    async def main() -> list[Any]:
        return [outcome_of(await send(till, name)) for _ in range(2)]

    assert asyncio.run(main()) == ["charge 1"] * 2
    assert (till.charged, till.looks) == ([5], 0)


def test_without_a_key_an_effect_just_runs(till: Till) -> None:
    async def main() -> list[Any]:
        return [outcome_of(await till.charge(amount=5)) for _ in range(2)]  # type: ignore[arg-type]

    assert InstantClock().run(main()) == ["charge 1", "charge 2"]


@pytest.mark.parametrize(
    ("place", "was_charged", "answer", "looks"),
    [("before", False, "charge 1", 0), ("in", False, "charge 1", 1), ("in", True, "charge 1", 1)],
    ids=["before the effect", "in it, and it was not done", "in it, and it was done"],
)
def test_a_repetition_after_a_crash_goes_on_from_there(
    till: Till, place: str, was_charged: bool, answer: str, looks: int
) -> None:
    async def main() -> Any:
        till.pauses[place] = LONG_S
        await left_behind(till, "charge", {"amount": 5}, 1)
        till.pauses[place] = 0
        if was_charged:
            till.charged.append(5)
        await asyncio.sleep(LEASE_OVER_S)
        return outcome_of(await send(till))

    assert InstantClock().run(main()) == answer
    assert (till.charged, till.looks) == ([5], looks)


def test_after_a_crash_behind_the_effect_its_value_is_known(till: Till) -> None:
    async def main() -> Any:
        till.pauses["after"] = LONG_S
        await left_behind(till, "charge", {"amount": 5}, 1)
        till.pauses["after"] = 0
        await asyncio.sleep(LEASE_OVER_S)
        return outcome_of(await send(till))

    assert InstantClock().run(main()) == "charge 1"
    assert (till.charged, till.looks) == ([5], 0)


def test_a_probe_that_cannot_tell_leaves_the_outcome_unknown_until_it_can(till: Till) -> None:
    async def main() -> list[Any]:
        till.pauses["in"] = LONG_S
        await left_behind(till, "charge", {"amount": 5}, 1)
        till.pauses["in"] = 0
        await asyncio.sleep(LEASE_OVER_S)
        till.cannot_tell = True
        first = outcome_of(await send(till))
        till.cannot_tell = False
        return [first, outcome_of(await send(till))]

    assert InstantClock().run(main()) == [("IDEMPOTENCY_OUTCOME_UNKNOWN", "unknown"), "charge 1"]


def test_a_handler_without_effects_has_begun_its_effect_when_it_starts(till: Till) -> None:
    async def main() -> Any:
        till.pauses["in"] = LONG_S
        await left_behind(till, "plain", {"amount": 5}, 1)
        await asyncio.sleep(LEASE_OVER_S)
        return outcome_of(await send(till, "plain"))

    assert InstantClock().run(main()) == ("IDEMPOTENCY_OUTCOME_UNKNOWN", "unknown")
    assert till.charged == [5]


@pytest.mark.parametrize("is_asked_for", [True, False], ids=["cancelled", "connection lost"])
def test_before_the_effect_a_cancellation_cancels_and_a_lost_connection_does_not(
    till: Till, is_asked_for: bool
) -> None:
    async def main() -> Any:
        till.pauses["before"] = 5
        calling: Any = till.charge.call({"amount": 5}, keyed(cancels=lambda: is_asked_for))
        first = asyncio.get_running_loop().create_task(calling)
        await asyncio.sleep(1)
        first.cancel()
        await asyncio.wait({first})
        await asyncio.sleep(10)
        return [list(till.charged), outcome_of(await send(till))]

    assert InstantClock().run(main()) == [[] if is_asked_for else [5], "charge 1"]


@pytest.mark.parametrize("before_s", [0, 5], ids=["as it claims its key", "before it reaches its effect"])
def test_a_cancelled_repetition_keeps_the_marks_of_the_call_that_was_interrupted(till: Till, before_s: float) -> None:
    async def main() -> list[Any]:
        till.pauses["after"] = LONG_S
        await left_behind(till, "charge", {"amount": 5}, 1)
        await asyncio.sleep(LEASE_OVER_S)
        till.pauses.update(before=before_s, after=0)
        scope = keyed(cancels=lambda: True)
        repeating: Any = till.charge.call({"amount": 5}, scope)
        again = asyncio.get_running_loop().create_task(repeating)
        await (asyncio.sleep(1) if before_s else asyncio.sleep(0))
        again.cancel()
        await asyncio.wait({again})
        await asyncio.sleep(10)
        return [len(scope.left_running), outcome_of(await send(till)), till.charged]

    assert InstantClock().run(main()) == [int(before_s > 0), "charge 1", [5]]


class WithoutWrites(SharedRecords):
    """Records that take no writes while they are lost."""

    def __init__(self, lost: Exception) -> None:
        super().__init__()
        self.is_lost = False
        self._lost = lost

    async def swap(self, key: str, version: str, write: Write) -> Held | None:
        if self.is_lost:
            raise self._lost
        return await super().swap(key, version, write)


def test_an_effect_whose_mark_cannot_be_kept_is_not_begun() -> None:
    backend = WithoutWrites(WriteRefused("gone"))
    state = LocalState(records=backend)
    tool = Till(runtime=quiet_runtime(state=state))

    async def main() -> list[Any]:
        tool.pauses["before"] = 1
        calling: Any = tool.charge.call({"amount": 5}, keyed())
        first = asyncio.get_running_loop().create_task(calling)
        await asyncio.sleep(0.5)
        backend.is_lost = True
        refused = [outcome_of(await first), outcome_of(await send(tool))]
        backend.is_lost = False
        await asyncio.sleep(LEASE_OVER_S)
        return [*refused, list(tool.charged), outcome_of(await send(tool))]

    lost = ("STATE_UNAVAILABLE", "none")
    assert InstantClock().run(main()) == [lost, lost, [], "charge 1"]


def test_an_outcome_that_could_not_be_kept_is_kept_once_the_store_is_back() -> None:
    backend = WithoutWrites(StoreLost("gone"))
    state = LocalState(records=backend)
    tool = Till(runtime=quiet_runtime(state=state))

    async def main() -> list[Any]:
        tool.pauses["in"] = 1
        calling: Any = tool.plain.call({"amount": 5}, keyed())
        first = asyncio.get_running_loop().create_task(calling)
        await asyncio.sleep(0.5)
        backend.is_lost = True
        answer = outcome_of(await first)
        await asyncio.sleep(1)
        backend.is_lost = False
        await asyncio.sleep(30)
        return [answer, outcome_of(await send(tool, "plain"))]

    assert InstantClock().run(main()) == [5, 5]
    assert tool.charged == [5]


def test_a_failed_transaction_has_changed_nothing_and_frees_its_key(till: Till) -> None:
    async def main() -> list[Any]:
        till.fault = ZeroDivisionError()
        first = outcome_of(await send(till, "book"))
        till.fault = None
        return [first, outcome_of(await send(till, "book"))]

    assert InstantClock().run(main()) == [("UNKNOWN_ERROR", "none"), 5]
    assert till.charged == [5]
