"""The table from errors to strategies: lookup, order, the guard, and what becomes of strategies that break."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from failsoft import (
    AttemptEvent,
    AttemptTimeout,
    BaseTool,
    CallContext,
    Chaos,
    CircuitBreaker,
    ConfigurationError,
    DocumentNotFound,
    Fallback,
    Hedge,
    InvalidArgument,
    NotFound,
    Overloaded,
    RateLimited,
    RecoveryEvent,
    RecoveryManager,
    RecoveryResult,
    RepairArguments,
    RetryBudget,
    Runtime,
    StaleCache,
    Timeout,
    ToolError,
    Unavailable,
    operation,
)
from failsoft.recovery import AlternatePaths, Bulkhead, Proceed, Retry
from failsoft.testing import CapturedEvents
from tests.doors import BoundOperation, Link
from tests.framework.recording import Recording, quiet_runtime
from tests.framework.wellformed import check_wellformed

pytestmark = pytest.mark.anyio


class Noting:
    """Records its calls, and answers as configured."""

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
    """Raises configured errors, run by run; then returns."""

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
    }
    assert [one.asked for one in strategies] == [[("NOT_FOUND", {"number": 4})], [("NOT_FOUND", {"number": 4})], []]
    assert metrics.of("recovery") == [("none", "skipped"), ("nine", "recovered")]
    assert metrics.of("attempted") == ["error", "ok"]
    assert metrics.of("finished") == ["recovered"]
    assert metrics.of("failed") == []


@pytest.fixture
def metrics() -> Recording:
    return Recording()


async def test_a_substitute_is_reported_and_counted_as_degraded(metrics: Recording) -> None:
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
    # The caller sent no such argument, and must not be asked to correct it.
    assert (response.error.code, response.error.violations) == ("NOT_FOUND", ())


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
    ("write", ConnectionRefusedError(111, "refused"), [1]),
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
    reported = [Timeout(), *[Overloaded(effect="none") for _ in range(9)]]
    response = await failing(manager, *reported).put()
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


class Placed:
    """A link that passes every call on."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.bound_to: list[str] = []

    def links(self, bound: BoundOperation) -> list[Link]:
        async def step(call: CallContext, proceed: Proceed) -> Any:
            return await proceed(call)

        self.bound_to.append(bound.name)
        return [Link(f"my_{self.place}", step, self.place)]


def test_the_chain_has_the_order_of_its_places_whatever_order_the_list_has() -> None:
    class Full(BaseTool):
        @operation(
            read_only=True,
            timeout=60,
            recovery=[
                Chaos(1),
                AttemptTimeout(2),
                CircuitBreaker(),
                Hedge(1),
                Retry(),
                Fallback(lambda: 1),
                StaleCache(1, 1),
                RetryBudget(),
                RepairArguments(),
                Placed("bulkhead"),
                Placed("admit"),
            ],
        )
        async def read(self) -> int:
            """Read."""
            return 1

    chain = Full(runtime=quiet_runtime()).describe()["read"]
    named = [name for name in chain if name != "idempotency"]
    assert named == [
        "observe",
        "repair_arguments",
        "validate",
        "my_admit",
        "deadline",
        "stale_cache",
        "fallback",
        "recover",
        "recover:retry",
        "hedge",
        "circuit_breaker",
        "my_bulkhead",
        "attempt_timeout",
        "chaos",
        "handler",
    ]


def test_a_strategy_with_a_place_is_linked_once_for_each_operation() -> None:
    placed = Placed("breaker")
    manager = RecoveryManager()
    manager.add(placed)
    tool = failing(manager)
    assert placed.bound_to == list(tool.operations)


def test_the_default_runtime_retries_within_a_budget_of_each_operation() -> None:
    first, second = (Failing(runtime=Runtime(metrics=Recording())) for _ in range(2))
    assert first.operations["read"].chain.recovery.budget is not first.operations["write"].chain.recovery.budget
    assert first.operations["read"].chain.recovery.budget is not second.operations["read"].chain.recovery.budget


@pytest.mark.parametrize(
    "recovery",
    [
        [AttemptTimeout(1), AttemptTimeout(2)],
        [Hedge(1), Hedge(2)],
        [StaleCache(1, 1), StaleCache(2, 2)],
        [RetryBudget(), RetryBudget(0.5)],
        [RepairArguments(), RepairArguments()],
        [CircuitBreaker(), CircuitBreaker(min_calls=9)],
        [CircuitBreaker("db"), CircuitBreaker("db", open_s=5)],
        [Retry(), Retry(attempts=5)],
    ],
    ids=lambda recovery: type(recovery[0]).__name__,
)
def test_two_where_there_can_be_one_are_refused_when_the_tool_is_made(recovery: Any) -> None:
    class Twice(BaseTool):
        @operation(read_only=True, timeout=60, recovery=recovery)
        async def read(self) -> int:
            """Read."""
            return 1

    with pytest.raises(ConfigurationError) as refused:
        Twice(runtime=quiet_runtime())
    assert "keep one" in refused.value.resolution


def test_two_retries_for_one_error_are_refused_wherever_they_were_registered() -> None:
    manager = RecoveryManager({Timeout: Retry()})
    manager.register(ToolError, Retry())
    with pytest.raises(ConfigurationError, match="two Retry"):
        failing(manager)
    apart = RecoveryManager({Timeout: Retry(), Unavailable: Retry(attempts=9)})
    assert failing(apart).describe()["read"].count("recover:retry") == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Bulkhead(1, dependency="db"), Bulkhead(50, dependency="db")),
        (RetryBudget(dependency="db"), RetryBudget(0.5, dependency="db")),
    ],
    ids=["Bulkhead", "RetryBudget"],
)
def test_what_operations_share_has_the_same_options_for_all_of_them(one: Any, other: Any) -> None:
    class Sharing(BaseTool):
        @operation(read_only=True, timeout=60, recovery=[one])
        async def read(self) -> int:
            """Read."""
            return 1

        @operation(read_only=True, timeout=60, recovery=[other])
        async def search(self) -> int:
            """Search."""
            return 1

    with pytest.raises(ConfigurationError, match="different options"):
        Sharing(runtime=quiet_runtime())


def test_breakers_for_several_dependencies_may_stand_in_one_chain() -> None:
    manager = RecoveryManager()
    manager.add(CircuitBreaker("db"), CircuitBreaker("mail"))
    assert failing(manager).describe()["read"].count("circuit_breaker") == 2


@pytest.mark.parametrize("odd", [object(), Retry, "retry", Placed])
def test_what_is_neither_kind_of_strategy_is_refused(odd: Any) -> None:
    with pytest.raises(TypeError, match="is not a recovery strategy"):
        RecoveryManager().add(odd)


async def test_recoveries_and_attempts_are_announced_to_listeners() -> None:
    manager = RecoveryManager({NotFound: [Noting("none"), Noting("again", again)]})
    tool = failing(manager, NotFound())
    with CapturedEvents(tool.runtime) as captured:
        await tool.read()
    recoveries = [(event.strategy, event.result, event.code, event.attempt) for event in captured.of(RecoveryEvent)]
    assert recoveries == [("none", "skipped", "NOT_FOUND", 1), ("again", "recovered", "NOT_FOUND", 2)]
    attempts = [(event.attempt, event.result, event.code, event.operation) for event in captured.of(AttemptEvent)]
    assert attempts == [(1, "error", "NOT_FOUND", "read"), (2, "ok", None, "read")]
    assert len({event.request_id for event in captured.of(AttemptEvent)}) == 1
