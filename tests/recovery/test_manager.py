"""The table from errors to strategies: lookup, order, the guard, and what becomes of strategies that break."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from failsoft import (
    BaseTool,
    CallContext,
    ConfigurationError,
    DocumentNotFound,
    InvalidArgument,
    NotFound,
    Overloaded,
    RateLimited,
    RecoveryManager,
    RecoveryResult,
    Runtime,
    Timeout,
    ToolError,
    Unavailable,
    operation,
)
from failsoft.recovery import AlternatePaths, Retry
from tests.framework.recording import Recording, quiet_runtime
from tests.framework.wellformed import check_wellformed

pytestmark = pytest.mark.anyio


class Noting:
    """Notes what it was asked, and answers as it was told to."""

    def __init__(self, name: str, answer: Any = None) -> None:
        self.name = name
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def attempt(self, error: ToolError, call: CallContext) -> Any:
        self.asked.append((error.code, dict(call.arguments)))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return await self.answer(call) if callable(self.answer) else self.answer


class Failing(BaseTool):
    """Raises what it is told to, run by run; then returns."""

    def __init__(self, *raised: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.raised = list(raised)
        self.runs: list[int] = []

    def _run(self, number: int) -> int:
        self.runs.append(number)
        if self.raised and (error := self.raised.pop(0)) is not None:
            raise error
        return number

    @operation(read_only=True)
    async def read(self, number: int = 1) -> int:
        """Return the number, changing nothing."""
        return self._run(number)

    @operation(idempotent=True)
    async def put(self, number: int = 1) -> int:
        """Return the number; again is harmless."""
        return self._run(number)

    @operation()
    async def write(self, number: int = 1) -> int:
        """Return the number; again does it twice."""
        return self._run(number)

    @write.check
    async def not_seven(self, number: int) -> None:
        if number == 7 and not self.runs:
            raise Unavailable(message="The list of numbers cannot be reached.")


def failing(manager: RecoveryManager, *raised: Any, metrics: Recording | None = None) -> Failing:
    return Failing(*raised, runtime=quiet_runtime(recovery=manager, metrics=metrics))


async def again(call: CallContext) -> RecoveryResult:
    return RecoveryResult(await call.retry(), "Ran again")


async def with_number_nine(call: CallContext) -> RecoveryResult:
    return RecoveryResult(await call.retry(number=9), "Took nine instead", {"number": 9})


async def test_strategies_are_looked_up_along_the_classes_most_specific_first() -> None:
    root, category, concrete = Noting("root"), Noting("category"), Noting("concrete")
    manager = RecoveryManager()
    manager.register(ToolError, root, concrete)
    manager.register(NotFound, category)
    manager.register(DocumentNotFound, concrete)
    assert manager.strategies_for(DocumentNotFound) == (concrete, category, root)
    assert manager.strategies_for(NotFound) == (category, root, concrete)
    assert manager.strategies_for(Timeout) == (root, concrete)
    assert manager.describe() == ["root", "concrete", "category"]
    manager.register(Timeout, category)
    assert manager.strategies_for(Timeout) == (category, root, concrete)


async def test_each_is_asked_until_one_answers(metrics: Recording) -> None:
    strategies = [Noting("none"), Noting("nine", with_number_nine), Noting("never")]
    manager = RecoveryManager()
    manager.register(NotFound, *strategies)
    tool = failing(manager, NotFound(), metrics=metrics)
    response = await tool.read(number=4)
    wire = check_wellformed(response, tool.operations["read"])
    assert wire["data"] == 9
    assert wire["metadata"]["recovery"] == {
        "strategy": "nine",
        "message": "Took nine instead",
        "attempts": 2,
        "changed": {"number": 9},
        "degraded": False,
    }
    assert [one.asked for one in strategies] == [[("NOT_FOUND", {"number": 4})], [("NOT_FOUND", {"number": 4})], []]
    assert metrics.of("recovery") == [("none", "skipped"), ("nine", "recovered")]
    assert metrics.of("attempted") == ["error", "ok"]
    assert metrics.of("finished") == ["recovered"]
    assert metrics.of("failed") == []


@pytest.fixture
def metrics() -> Recording:
    return Recording()


async def test_a_value_that_is_second_best_is_told_and_counted_so(metrics: Recording) -> None:
    manager = RecoveryManager()
    manager.register(NotFound, Noting("stale", RecoveryResult(3, "From yesterday", degraded=True)))
    tool = failing(manager, NotFound(), metrics=metrics)
    response = await tool.read()
    assert response.metadata.recovery is not None
    assert (response.data, response.metadata.recovery.degraded) == (3, True)
    assert metrics.of("finished") == ["degraded"]


async def test_a_better_error_takes_the_place_of_the_first(metrics: Recording) -> None:
    last = Noting("last")
    manager = RecoveryManager()
    manager.register(NotFound, Noting("better", DocumentNotFound(path="a", suggestions=["b"])), last)
    tool = failing(manager, NotFound(), metrics=metrics)
    response = await tool.read()
    assert response.error is not None
    assert response.error.code == "DOC_NOT_FOUND"
    assert [code for code, _ in last.asked] == ["DOC_NOT_FOUND"]
    assert metrics.of("recovery") == [("better", "failed"), ("last", "skipped")]


BROKEN: list[Any] = [
    ValueError("broken"),
    SystemExit(),
    GeneratorExit(),
    asyncio.CancelledError(),
    "no result",
    RecoveryResult("no number", "Wrong type"),
    RecoveryResult(1, None, None),  # type: ignore[arg-type]
    object(),
]


@pytest.mark.parametrize("answer", BROKEN, ids=range(len(BROKEN)))
async def test_a_strategy_that_breaks_costs_only_itself(answer: Any, metrics: Recording) -> None:
    manager = RecoveryManager()
    manager.register(NotFound, Noting("broken", answer), Noting("again", again))
    tool = failing(manager, NotFound(message="There is no such thing."), metrics=metrics)
    response = await tool.read()
    assert response.data == 1
    assert metrics.of("recovery") == [("broken", "failed"), ("again", "recovered")]
    alone = RecoveryManager()
    alone.register(NotFound, Noting("broken", answer))
    response = await failing(alone, NotFound(message="There is no such thing.")).read()
    assert response.error is not None
    assert response.error.code == "NOT_FOUND"


async def test_a_strategy_that_tried_other_arguments_does_not_pass_them_on() -> None:
    async def try_some(call: CallContext) -> None:
        for number in (5, 6):
            with pytest.raises(NotFound):
                await call.retry(number=number)

    second = Noting("second")
    manager = RecoveryManager()
    manager.register(NotFound, Noting("first", try_some), second)
    tool = failing(manager, *[NotFound() for _ in range(3)])
    await tool.read(number=4)
    assert tool.runs == [4, 5, 6]
    assert second.asked == [("NOT_FOUND", {"number": 4})]


async def test_a_retry_validates_what_it_changes() -> None:
    async def wrongly(call: CallContext) -> RecoveryResult:
        return RecoveryResult(await call.retry(number="nine"), "Wrong")

    manager = RecoveryManager()
    strategy = Noting("wrongly", wrongly)
    manager.register(NotFound, strategy)
    tool = failing(manager, NotFound())
    response = await tool.read(number=4)
    assert tool.runs == [4]
    assert response.error is not None


async def test_a_retry_runs_the_checks_again() -> None:
    manager = RecoveryManager()
    manager.register(Unavailable, Noting("nine", with_number_nine))
    tool = failing(manager)
    response = await tool.write(number=7)
    assert response.data == 9
    assert tool.runs == [9]


GUARDED: list[tuple[str, Any, list[int]]] = [
    ("read", Timeout(), [1, 1]),
    ("put", Timeout(), [1, 1]),
    ("write", Timeout(), [1]),
    ("write", RateLimited(effect="none"), [1, 1]),
    ("write", RateLimited(effect="applied"), [1]),
    ("write", ConnectionRefusedError(111, "refused"), [1, 1]),
    ("write", ValueError(), [1]),
    ("put", ValueError(), [1, 1]),
]


@pytest.mark.parametrize(("name", "raised", "runs"), GUARDED)
async def test_nothing_is_run_again_that_could_do_its_work_twice(name: str, raised: Any, runs: list[int]) -> None:
    manager = RecoveryManager()
    manager.register(ToolError, Noting("again", again))
    tool = failing(manager, raised)
    response = await tool.execute_with_error_handling(name, {"number": 1})
    assert tool.runs == runs
    assert response.success is (len(runs) == 2)


async def stubbornly(call: CallContext) -> RecoveryResult | None:
    for _ in range(5):
        try:
            return RecoveryResult(await call.retry(), "At last")
        except ToolError:
            continue
    return None


async def test_the_guard_judges_the_newest_run_and_not_the_first() -> None:
    manager = RecoveryManager()
    manager.register(ToolError, Noting("stubborn", stubbornly))
    tool = failing(manager, RateLimited(effect="none"), Timeout(), RateLimited(effect="none"))
    response = await tool.write()
    assert tool.runs == [1, 1]
    assert response.error is not None
    assert response.error.effect == "unknown"


async def test_a_run_that_succeeded_is_not_repeated_either() -> None:
    async def twice(call: CallContext) -> RecoveryResult:
        await call.retry()
        return RecoveryResult(await call.retry(), "Twice")

    manager = RecoveryManager()
    manager.register(ToolError, Noting("twice", twice))
    tool = failing(manager, RateLimited(effect="none"))
    response = await tool.write()
    assert tool.runs == [1, 1]
    assert response.error is not None
    assert response.error.effect == "applied"
    assert response.error.retry.when == "never"


async def test_the_effect_of_earlier_runs_is_not_forgotten() -> None:
    manager = RecoveryManager()
    manager.register(ToolError, Noting("stubborn", stubbornly))
    told = [Timeout(), *[Overloaded(effect="none") for _ in range(9)]]
    response = await failing(manager, *told).put()
    assert response.error is not None
    assert (response.error.code, response.error.effect) == ("TIMEOUT", "unknown")
    better = RecoveryManager()
    better.register(ToolError, Noting("again", again))
    response = await failing(better, Timeout(), Overloaded(effect="none")).put()
    assert response.error is not None
    assert (response.error.code, response.error.effect) == ("OVERLOADED", "unknown")


async def test_an_operation_may_have_its_own_strategies_or_none() -> None:
    own = Noting("own", again)

    class Own(Failing):
        @operation(read_only=True, recovery=[own])
        async def mine(self) -> int:
            """Have its own."""
            return self._run(1)

        @operation(read_only=True, recovery=[])
        async def none(self) -> int:
            """Have none."""
            return self._run(1)

    shared = Noting("shared", again)
    manager = RecoveryManager()
    manager.register(NotFound, shared)
    tool = Own(NotFound(), runtime=quiet_runtime(recovery=manager))
    assert (await tool.mine()).success
    assert (len(own.asked), len(shared.asked)) == (1, 0)
    tool.raised = [NotFound()]
    assert not (await tool.none()).success
    assert tool.describe()["mine"][3:5] == ["recover", "recover:own"]
    assert tool.describe()["none"][3] == "recover"
    assert tool.describe()["read"][3:5] == ["recover", "recover:shared"]


async def test_a_toolset_may_have_its_own_manager() -> None:
    manager = RecoveryManager()
    manager.register(NotFound, Noting("own", again))

    class Own(Failing):
        recovery = manager

    response = await Own(NotFound(), runtime=quiet_runtime()).read()
    assert response.metadata.recovery is not None
    assert response.metadata.recovery.strategy == "own"


@pytest.mark.parametrize("strategy", [Retry, object(), None, "retry"])
def test_what_is_no_strategy_cannot_be_registered(strategy: Any) -> None:
    with pytest.raises(TypeError):
        RecoveryManager().register(NotFound, strategy)


def test_the_default_manager_has_what_is_safe() -> None:
    manager = RecoveryManager.default()
    assert [type(one) for one in manager.strategies_for(DocumentNotFound)] == [AlternatePaths]
    for transient in (Timeout, Unavailable, Overloaded, RateLimited):
        assert [type(one) for one in manager.strategies_for(transient)] == [Retry]
    for final in (InvalidArgument, ConfigurationError, NotFound):
        assert manager.strategies_for(final) == ()
    assert isinstance(Runtime(settings=quiet_runtime().settings).recovery, RecoveryManager)
