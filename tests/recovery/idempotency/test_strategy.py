"""Idempotency keys: work is done once, repetitions get its outcome, and doubtful work is not repeated."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel

from failsoft import (
    AttemptEvent,
    BaseTool,
    CallContext,
    DocumentNotFound,
    IdempotencyEvent,
    Retry,
    ToolResponse,
    Unavailable,
    operation,
)
from failsoft.recovery import Idempotency
from failsoft.testing import CapturedEvents, Delay, FaultScript, Hang, InstantClock
from tests.doors import CallScope, LocalState
from tests.framework.recording import Recording, quiet_runtime
from tests.recovery.idempotency.processes import keyed, left_behind, shared

A_DAY_S = 86_400.0


class Receipt(BaseModel):
    """What a transfer returns."""

    number: int
    at: datetime


@dataclass
class Note:
    """What a note returns."""

    text: str
    tags: frozenset[str]


class Bank(BaseTool):
    """Moves money; `runs` is how often it did."""

    runs = 0

    @operation(timeout=30)
    async def transfer(self, amount: int, to: str = "savings") -> Receipt:
        """Move money."""
        self.runs += 1
        return Receipt(number=self.runs, at=datetime(2026, 1, 19, tzinfo=UTC))

    @operation(timeout=30, idempotent=True)
    async def put(self, amount: int) -> int:
        """Set a balance: again is harmless."""
        self.runs += 1
        return self.runs

    @operation(timeout=30)
    def note(self, text: str, call: CallContext) -> Note:
        """Keep a note, in a thread."""
        self.runs += 1
        call.warn("It was long")
        return Note(text, frozenset({"a", "b"}))

    @operation(timeout=30, recovery=[Idempotency(ttl_s=60, derive=lambda call: call.arguments.get("invoice"))])
    async def pay(self, invoice: str | None = None, amount: int = 1) -> int:
        """Pay an invoice once."""
        self.runs += 1
        return self.runs

    @operation(read_only=True)
    async def balance(self) -> int:
        """Look."""
        self.runs += 1
        return self.runs


RECEIPT = Receipt(number=7, at=datetime(2026, 1, 19, tzinfo=UTC))


@pytest.fixture(params=[LocalState, shared])
def bank(request: pytest.FixtureRequest) -> Bank:
    return Bank(runtime=quiet_runtime(state=request.param()))


async def send(
    tool: Bank, name: str = "transfer", key: Any = "k1", principal: str = "ann", /, **arguments: Any
) -> ToolResponse[Any]:
    given = arguments or {"amount": 5}
    return await tool.operations[name].call(given, keyed(key, principal))


def outcome_of(response: ToolResponse[Any]) -> tuple[str, str] | None:
    return None if response.error is None else (response.error.code, response.error.effect)


def test_a_repetition_gets_the_first_outcome_and_does_nothing(bank: Bank) -> None:
    async def main() -> list[ToolResponse[Any]]:
        return [await send(bank), await send(bank)]

    first, second = InstantClock().run(main())
    assert bank.runs == 1
    assert second.data == first.data == Receipt(number=1, at=datetime(2026, 1, 19, tzinfo=UTC))
    assert first.metadata.cache_hit is None
    assert first.metadata.recovery is None
    assert second.metadata.cache_hit is True
    assert second.metadata.recovery is not None
    assert (second.metadata.recovery.strategy, second.metadata.recovery.degraded) == ("idempotency", False)
    assert first.to_dict()["data"] == second.to_dict()["data"]


class Provider(BaseTool):
    """Sends its work on to a service, under a key; `sent` holds the keys."""

    def __init__(self) -> None:
        super().__init__(runtime=quiet_runtime())
        self.sent: list[str | None] = []

    @operation(timeout=30)
    async def charge(self, amount: int, call: CallContext) -> None:
        """Fail before anything was done."""
        self.sent.append(call.idempotency_key)
        raise Unavailable(effect="none")


def test_a_handler_has_a_key_for_its_own_requests() -> None:
    async def main() -> list[str | None]:
        provider = Provider()
        for scope in (keyed(), keyed(), keyed(principal="bob"), keyed("k2"), CallScope()):
            await provider.operations["charge"].call({"amount": 5}, scope)
        return provider.sent

    first, again, of_bob, other, none = InstantClock().run(main())
    assert first == again
    assert none is None
    assert first is not None
    assert first.isascii()
    assert " " not in first
    assert len({first, of_bob, other}) == 3


def test_what_a_thread_returned_comes_back_typed_with_its_warnings(bank: Bank) -> None:
    async def main() -> list[ToolResponse[Any]]:
        return [await send(bank, "note", text="hi"), await send(bank, "note", text="hi")]

    first, second = InstantClock().run(main())
    assert first.data == second.data == Note("hi", frozenset({"a", "b"}))
    assert first.metadata.warnings == second.metadata.warnings == ["It was long"]
    assert bank.runs == 1


@pytest.mark.parametrize(
    "other",
    [{"key": "k2"}, {"principal": "bob"}, {"name": "put"}],
    ids=["another key", "another caller", "another operation"],
)
def test_a_key_belongs_to_one_caller_and_one_operation(bank: Bank, other: dict[str, str]) -> None:
    async def main() -> None:
        await send(bank)
        second = await send(bank, other.get("name", "transfer"), other.get("key", "k1"), other.get("principal", "ann"))
        assert second.metadata.cache_hit is None

    InstantClock().run(main())
    assert bank.runs == 2


def test_other_arguments_under_the_same_key_are_a_conflict(bank: Bank) -> None:
    async def main() -> list[ToolResponse[Any]]:
        await send(bank, amount=5)
        return [await send(bank, amount=6), await send(bank, amount=5, to="savings")]

    other, same = InstantClock().run(main())
    assert outcome_of(other) == ("IDEMPOTENCY_CONFLICT", "none")
    assert other.error is not None
    assert other.error.retry.when == "after_fix"
    assert "Change the arguments" not in other.error.message  # with the same key that would be a conflict again
    assert same.metadata.cache_hit is True
    assert bank.runs == 1


@pytest.mark.parametrize("key", ["", " ", "a b", "ä", "x" * 256, 5, None, ["k"], "line\nbreak", "\ud800"])
def test_a_key_that_is_none_is_refused_before_anything_runs(bank: Bank, key: Any) -> None:
    response = InstantClock().run(send(bank, "transfer", key))
    assert outcome_of(response) == ("IDEMPOTENCY_KEY_INVALID", "none")
    assert bank.runs == 0


@pytest.mark.parametrize("key", ["!", "x" * 255, "5f1b9f5e-7a0c-4f0e-9a55-0d9b6c1f2a3b"])
def test_a_key_of_visible_characters_is_taken(bank: Bank, key: str) -> None:
    assert InstantClock().run(send(bank, "transfer", key)).success


def test_an_operation_that_changes_nothing_has_no_place_for_keys(bank: Bank) -> None:
    async def main() -> list[Any]:
        return [(await bank.operations["balance"].call({}, keyed(""))).data for _ in range(2)]

    assert InstantClock().run(main()) == [1, 2]
    assert "idempotency" not in bank.describe()["balance"]
    assert bank.describe()["transfer"].count("idempotency") == 1
    assert bank.describe()["pay"].count("idempotency") == 1


def test_an_outcome_is_forgotten_after_its_time(bank: Bank) -> None:
    async def main() -> None:
        await send(bank)
        await asyncio.sleep(A_DAY_S - 1)
        assert (await send(bank)).metadata.cache_hit is True
        await asyncio.sleep(1)
        assert (await send(bank)).metadata.cache_hit is None

    InstantClock().run(main())
    assert bank.runs == 2


def test_an_author_may_derive_the_key_and_a_caller_may_send_another(bank: Bank) -> None:
    async def main() -> list[Any]:
        plain = [await bank.pay(invoice="i1"), await bank.pay(invoice="i1"), await bank.pay(invoice="i2")]
        without = [await bank.pay(), await bank.pay()]
        sent = [await bank.operations["pay"].call({"invoice": "i1"}, keyed(principal=None))]
        return [response.data for response in (*plain, *without, *sent)]

    assert InstantClock().run(main()) == [1, 1, 2, 3, 4, 5]


def test_concurrent_calls_do_the_work_once_and_wait_for_it(bank: Bank) -> None:
    async def main() -> list[ToolResponse[Any]]:
        with FaultScript(Delay(5, RECEIPT)).replaces(bank.transfer) as script:
            answers = await asyncio.gather(*(send(bank) for _ in range(50)))
        assert len(script.calls) == 1
        return answers

    clock = InstantClock()
    answers = clock.run(main())
    assert {answer.data.number for answer in answers} == {7}
    assert [answer.metadata.cache_hit for answer in answers].count(True) == 49
    assert clock.elapsed_s == 5


def test_a_waiting_call_ends_before_its_own_deadline_with_an_answer_that_promises_nothing() -> None:
    class Hasty(Bank):
        name = "bank"

        @operation(timeout=10)
        async def transfer(self, amount: int, to: str = "savings") -> Receipt:
            """Move money, where calls may take less time."""
            raise AssertionError

    async def main() -> list[ToolResponse[Any]]:
        runtime = quiet_runtime(state=shared())
        bank, hasty = Bank(runtime=runtime), Hasty(runtime=runtime)
        with FaultScript(Delay(29, RECEIPT)).replaces(bank.transfer):
            first = asyncio.create_task(send(bank))
            await asyncio.sleep(1)
            return [await send(hasty), await first, await send(hasty)]

    clock = InstantClock()
    waiting, first, later = clock.run(main())
    assert outcome_of(waiting) == ("IDEMPOTENCY_IN_PROGRESS", "unknown")
    assert waiting.error is not None
    assert (waiting.error.retry.when, waiting.error.stop_reason) == ("after_delay", "effect_possible")
    assert first.data == later.data == RECEIPT
    assert clock.elapsed_s == 29


def test_a_failure_that_changed_nothing_frees_the_key(bank: Bank) -> None:
    async def main() -> list[Any]:
        with FaultScript(DocumentNotFound(path="a", effect="none"), RECEIPT).replaces(bank.transfer) as script:
            answers = [await send(bank), await send(bank)]
        assert len(script.calls) == 2
        return [outcome_of(answers[0]), answers[1].data, answers[1].metadata.cache_hit]

    assert InstantClock().run(main()) == [("DOC_NOT_FOUND", "none"), RECEIPT, None]


def test_a_failure_that_may_have_changed_something_is_an_outcome(bank: Bank) -> None:
    """Every fact of the error is sent again, and that this call did nothing."""
    error = DocumentNotFound(path="a.md", suggestions=["b.md"], effect="applied", details={"n": 1})

    async def main() -> list[ToolResponse[Any]]:
        with FaultScript(error, RECEIPT).replaces(bank.transfer) as script:
            answers = [await send(bank), await send(bank)]
        assert len(script.calls) == 1
        return answers

    first, second = InstantClock().run(main())
    assert outcome_of(first) == outcome_of(second) == ("DOC_NOT_FOUND", "applied")
    assert first.error is not None
    assert second.error is not None
    assert second.error.suggestions == first.error.suggestions
    assert second.error.public == first.error.public == {"path": "a.md"}
    assert second.error.exception.details == {"n": 1}
    assert (second.error.rejected, second.error.stop_reason) == (False, "effect_possible")
    assert (first.error.retry.when, second.error.retry.when) == (
        "after_fix",
        "never",
    )  # a replay
    assert second.metadata.warnings != []


def test_an_unexpected_failure_is_never_followed_by_a_second_run(bank: Bank) -> None:
    async def main() -> list[ToolResponse[Any]]:
        with FaultScript(ZeroDivisionError(), RECEIPT).replaces(bank.transfer) as script:
            answers = [await send(bank) for _ in range(3)]
        assert len(script.calls) == 1
        return answers

    assert {outcome_of(answer) for answer in InstantClock().run(main())} == {("UNKNOWN_ERROR", "unknown")}


def test_a_time_out_is_an_outcome_too(bank: Bank) -> None:
    async def main() -> list[ToolResponse[Any]]:
        with FaultScript(Hang(), RECEIPT).replaces(bank.transfer) as script:
            answers = [await send(bank), await send(bank)]
        assert len(script.calls) == 1
        return answers

    clock = InstantClock()
    first, second = clock.run(main())
    assert outcome_of(first) == outcome_of(second) == ("DEADLINE_EXCEEDED", "unknown")
    assert second.error is not None
    assert second.error.retry.when == "never"
    assert clock.elapsed_s == 30


@pytest.mark.parametrize("name", ["transfer", "put"])
def test_a_call_goes_on_when_its_caller_leaves_and_a_repetition_gets_its_outcome(bank: Bank, name: str) -> None:
    async def main() -> list[ToolResponse[Any]]:
        outcome: Any = RECEIPT if name == "transfer" else 7
        with FaultScript(Delay(5, outcome)).replaces(bank.operations[name]) as script:
            first = asyncio.create_task(send(bank, name))
            waiting = asyncio.create_task(send(bank, name))
            await asyncio.sleep(1)
            first.cancel()
            await asyncio.wait({first})
            assert first.cancelled()
            answers = [await waiting, await send(bank, name)]
        assert len(script.calls) == 1
        return answers

    for answer in InstantClock().run(main()):
        assert answer.success
        assert answer.metadata.cache_hit is True
    assert recorded(bank).of("finished") == ["ok", "replayed", "replayed"]


def test_a_call_cancelled_before_its_work_began_frees_the_key(bank: Bank) -> None:
    class Checked(Bank):
        @operation(timeout=30)
        async def transfer(self, amount: int, to: str = "savings") -> Receipt:
            """Move money."""
            self.runs += 1
            return RECEIPT

        @transfer.check
        async def slowly(self, amount: int) -> None:
            await asyncio.sleep(5)

    tool = Checked(runtime=bank.runtime)

    async def main() -> ToolResponse[Any]:
        first = asyncio.create_task(send(tool))
        await asyncio.sleep(1)
        first.cancel()
        await asyncio.wait({first})
        return await send(tool)

    assert InstantClock().run(main()).data == RECEIPT
    assert tool.runs == 1


def test_a_call_cancelled_while_it_claims_its_key_leaves_it_free() -> None:
    bank = Bank(runtime=quiet_runtime(state=shared()))

    async def main() -> ToolResponse[Any]:
        first = asyncio.create_task(send(bank))
        for _ in range(2):  # its own task, and the claim
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait({first})
        assert first.cancelled()
        await asyncio.sleep(0.001)
        return await send(bank)

    response = InstantClock().run(main())
    assert (bank.runs, response.success, response.metadata.cache_hit) == (1, True, None)


@pytest.mark.parametrize("after_s", [1, 60])
def test_a_process_that_died_is_noticed_when_its_lease_ends(after_s: int) -> None:
    bank = Bank(runtime=quiet_runtime(state=shared()))

    async def main() -> ToolResponse[Any]:
        with FaultScript(Hang()).replaces(bank.transfer):
            await left_behind(bank, "transfer", {"amount": 5}, 1)
        await asyncio.sleep(after_s)
        return await send(bank)

    clock = InstantClock()
    assert outcome_of(clock.run(main())) == ("IDEMPOTENCY_OUTCOME_UNKNOWN", "unknown")
    assert clock.elapsed_s == pytest.approx(max(10, 1.1 + after_s), abs=0.3)


def test_a_long_call_keeps_its_lease(bank: Bank) -> None:
    async def main() -> list[ToolResponse[Any]]:
        with FaultScript(Delay(29, RECEIPT)).replaces(bank.transfer):
            first = asyncio.create_task(send(bank))
            await asyncio.sleep(20)
            second = asyncio.create_task(send(bank))
            return [await first, await second]

    first, second = InstantClock().run(main())
    assert first.data == second.data == RECEIPT
    assert second.metadata.cache_hit is True


def test_a_retry_inside_is_part_of_the_one_outcome(bank: Bank) -> None:
    class Patient(Bank):
        @operation(timeout=30, recovery=[Retry(attempts=3)])
        async def transfer(self, amount: int, to: str = "savings") -> Receipt:
            """Move money."""
            self.runs += 1
            if self.runs < 3:
                raise Unavailable(effect="none")
            return RECEIPT

    tool = Patient(runtime=bank.runtime)

    async def main() -> list[ToolResponse[Any]]:
        return [await send(tool), await send(tool)]

    first, second = InstantClock().run(main())
    assert tool.runs == 3
    assert first.metadata.recovery is not None
    assert second.metadata.recovery is not None
    assert (first.metadata.recovery.strategy, second.metadata.recovery.strategy) == ("retry", "idempotency")
    assert second.metadata.recovery.attempts == 3


def test_a_result_that_is_too_large_to_keep_is_reported_as_such() -> None:
    bank = Bank(runtime=quiet_runtime(state=LocalState(), max_response_bytes=1_000))

    async def main() -> list[ToolResponse[Any]]:
        with FaultScript(Note("x" * 2_000, frozenset())).replaces(bank.operations["note"]):
            return [await send(bank, "note", text="a"), await send(bank, "note", text="a")]

    assert outcome_of(InstantClock().run(main())[1]) == ("RESULT_TOO_LARGE", "applied")


def test_what_happens_to_keys_is_announced_and_costs_no_attempt(bank: Bank) -> None:
    async def main() -> None:
        await send(bank, amount=1)
        await send(bank, amount=1)
        await send(bank, amount=2)

    with CapturedEvents(bank.runtime) as captured:
        InstantClock().run(main())
    assert [event.verdict for event in captured.of(IdempotencyEvent)] == ["replayed", "conflict"]
    assert len(captured.of(AttemptEvent)) == 1
    assert recorded(bank).of("finished") == ["ok", "replayed", "rejected"]
    assert recorded(bank).of("recovery") == [("idempotency", "recovered")]


def recorded(tool: Bank) -> Recording:
    metrics = tool.runtime.metrics
    assert isinstance(metrics, Recording)
    return metrics


@pytest.mark.parametrize("options", [{"ttl_s": 0}, {"lease_s": 0}, {"ttl_s": float("nan")}])
def test_options_that_make_no_sense_are_refused(options: Any) -> None:
    with pytest.raises(ValueError, match="Idempotency"):
        Idempotency(**options)
