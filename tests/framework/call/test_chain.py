"""The chain: its order, the places for middleware, and middleware that misbehaves."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from failsoft import (
    BaseTool,
    CallContext,
    CircuitBreaker,
    ConfigurationError,
    Middleware,
    NotFound,
    RateLimited,
    RecoveryManager,
    Retry,
    Runtime,
    Unavailable,
    operation,
)
from tests.doors import PLACES, Link, assemble, connect
from tests.each import each
from tests.framework.recording import Recording, quiet_runtime

pytestmark = pytest.mark.anyio


class Numbers(BaseTool):
    """Numbers."""

    def __init__(self, *middleware: Middleware, recovery: Any = None, metrics: Any = None) -> None:
        super().__init__(runtime=quiet_runtime(middleware=middleware, recovery=recovery, metrics=metrics))
        self.runs = 0

    @operation()
    async def double(self, number: int = 1) -> int:
        """Return twice the number."""
        self.runs += 1
        if number < 0:
            raise NotFound(message="There is no such number.")
        if number == 0:
            msg = "zero"
            raise ValueError(msg)
        return number * 2

    @double.check
    def not_five(self, number: int) -> None:
        if number == 5:
            raise NotFound(message="There is no five.")

    @operation(read_only=True, timeout=5)
    async def plain(self) -> int:
        """Return one."""
        return 1


async def through(call: CallContext, proceed: Any) -> Any:
    return await proceed(call)


def place(**where: str) -> Middleware:
    return Middleware(name="mine", run=through, **where)


@pytest.mark.parametrize(
    ("where", "described"),
    [
        ({}, ["observe", "mine", "validate", "deadline", "idempotency", "recover", "check", "handler"]),
        (
            {"after": "observe"},
            ["observe", "mine", "validate", "deadline", "idempotency", "recover", "check", "handler"],
        ),
        (
            {"before": "validate"},
            ["observe", "mine", "validate", "deadline", "idempotency", "recover", "check", "handler"],
        ),
        (
            {"after": "validate"},
            ["observe", "validate", "mine", "deadline", "idempotency", "recover", "check", "handler"],
        ),
        (
            {"before": "admit"},
            ["observe", "validate", "mine", "deadline", "idempotency", "recover", "check", "handler"],
        ),
        (
            {"before": "recover"},
            ["observe", "validate", "deadline", "idempotency", "mine", "recover", "check", "handler"],
        ),
        ({"after": "cache"}, ["observe", "validate", "deadline", "idempotency", "mine", "recover", "check", "handler"]),
        (
            {"after": "recover"},
            ["observe", "validate", "deadline", "idempotency", "recover", "mine", "check", "handler"],
        ),
        (
            {"before": "check"},
            ["observe", "validate", "deadline", "idempotency", "recover", "mine", "check", "handler"],
        ),
        (
            {"before": "handler"},
            ["observe", "validate", "deadline", "idempotency", "recover", "check", "mine", "handler"],
        ),
    ],
)
def test_middleware_is_where_it_says(where: dict[str, str], described: list[str]) -> None:
    assert Numbers(place(**where)).describe()["double"] == described


def test_middleware_of_one_place_keeps_its_order() -> None:
    steps = [Middleware(name=name, run=through, before="check") for name in ("first", "second", "third")]
    assert Numbers(*steps).describe()["plain"][3:] == ["recover", "first", "second", "third", "handler"]


@pytest.mark.parametrize(
    "where",
    [{"before": "observe"}, {"after": "handler"}, {"before": "nowhere"}, {"after": "validate", "before": "check"}],
)
def test_a_place_that_cannot_be_is_refused(where: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        place(**where)


async def test_every_link_is_passed_in_order_and_back() -> None:
    seen: list[str] = []

    def noting(name: str) -> Link:
        async def step(call: Any, proceed: Any) -> Any:
            seen.append(f"{name} in")
            value = await proceed(call)
            seen.append(f"{name} out")
            return value

        return Link(name, step, name)

    async def innermost(call: Any) -> Any:
        seen.append("handler")
        return call

    links = assemble([noting(place) for place in reversed(PLACES[:-1])], [])
    assert [link.name for link in links] == list(PLACES[:-1])
    assert await connect(links, innermost)(None) is None  # type: ignore[arg-type]
    assert seen == [
        *(f"{name} in" for name in PLACES[:-1]), "handler", *(f"{name} out" for name in reversed(PLACES[:-1]))
    ]  # fmt: skip


async def test_an_empty_chain_is_just_the_handler() -> None:
    async def innermost(call: Any) -> Any:
        return call

    assert await connect([], innermost)(5) == 5  # type: ignore[arg-type]


def raising(error: Any, *, after: bool = False) -> Any:
    async def run(call: CallContext, proceed: Any) -> Any:
        if not after:
            raise error
        await proceed(call)
        raise error

    return run


@each("where", PLACES[1:])
@each("after", [False, True])
@each("error", [ValueError("broken"), SystemExit(), asyncio.CancelledError(), GeneratorExit()])
async def test_a_middleware_that_breaks_becomes_a_system_error(where: str, error: Any, *, after: bool) -> None:
    tool = Numbers(Middleware(name="mine", run=raising(error, after=after), before=where))
    response = await tool.double(number=2)
    assert response.error is not None
    assert (response.error.code, response.error.retry.when) == ("SYSTEM_ERROR", "never")
    assert response.error.effect == ("applied" if after else "none")
    assert tool.runs == (1 if after else 0)


@each("where", PLACES[1:])
async def test_a_middleware_that_breaks_while_it_handles_an_error_becomes_a_system_error(where: str) -> None:
    async def run(call: CallContext, proceed: Any) -> Any:
        try:
            return await proceed(call)
        except Exception:  # noqa: BLE001 - whichever it is
            raise KeyError from None

    response = await Numbers(Middleware(name="mine", run=run, before=where)).double(number=0)
    assert response.error is not None
    assert response.error.code == "SYSTEM_ERROR"


async def test_a_middleware_may_refuse_a_call_with_a_typed_error() -> None:
    metrics = Recording()
    tool = Numbers(Middleware(name="mine", run=raising(RateLimited(retry_after_seconds=3))), metrics=metrics)
    response = await tool.double(number=2)
    assert response.error is not None
    assert (response.error.code, response.error.retry.after_seconds) == ("RATE_LIMITED", 3)
    assert (response.error.effect, response.error.rejected, tool.runs) == ("none", True, 0)
    assert metrics.of("finished") == ["rejected"]


@pytest.mark.parametrize("run", [lambda call, proceed: 5, None, 5])
async def test_a_middleware_that_is_no_async_function_becomes_a_system_error(run: Any) -> None:
    response = await Numbers(Middleware(name="mine", run=run)).double(number=2)
    assert response.error is not None
    assert response.error.code == "SYSTEM_ERROR"


async def test_the_errors_of_the_handler_pass_a_middleware_unchanged() -> None:
    tool = Numbers(place(before="check"), place(after="observe"))
    for number, code in [(-1, "NOT_FOUND"), (0, "UNKNOWN_ERROR"), (5, "NOT_FOUND")]:
        response = await tool.double(number=number)
        assert response.error is not None
        assert response.error.code == code


async def swallow(call: CallContext, proceed: Any) -> Any:
    try:
        return await proceed(call)
    except BaseException:  # noqa: BLE001 - a middleware that hides failures
        return 0


async def translate(call: CallContext, proceed: Any) -> Any:
    try:
        return await proceed(call)
    except ValueError as error:
        raise NotFound(message="There is nothing at zero.") from error


async def enrich(call: CallContext, proceed: Any) -> Any:
    call.warn("seen")
    call.cache_hit = True
    call.documents_processed = 2
    return await proceed(call) + 1


async def test_a_middleware_may_answer_translate_and_enrich() -> None:
    swallowed = await Numbers(Middleware(name="mine", run=swallow)).double(number=0)
    assert (swallowed.success, swallowed.data) == (True, 0)
    translated = await Numbers(Middleware(name="mine", run=translate, before="recover")).double(number=0)
    assert translated.error is None or translated.error.code == "UNKNOWN_ERROR"
    inside = await Numbers(Middleware(name="mine", run=translate, after="recover")).double(number=0)
    assert inside.error is not None
    assert inside.error.code == "NOT_FOUND"
    enriched = await Numbers(Middleware(name="mine", run=enrich)).double(number=2)
    assert enriched.data == 5
    metadata = enriched.to_dict()["metadata"]
    assert (metadata["warnings"], metadata["cache_hit"], metadata["documents_processed"]) == (["seen"], True, 2)


async def twice(call: CallContext, proceed: Any) -> Any:
    await proceed(call)
    return await proceed(call)


async def until_it_works(call: CallContext, proceed: Any) -> Any:
    first: BaseException | None = None
    for _ in range(3):
        try:
            return await proceed(call)
        except Exception as error:  # noqa: BLE001 - a home-made retry
            first = first or error
    raise first or AssertionError


@each("where", PLACES[1:])
async def test_a_middleware_that_runs_the_chain_twice_does_not_do_the_work_twice(where: str) -> None:
    tool = Numbers(Middleware(name="mine", run=twice, before=where))
    response = await tool.double(number=2)
    assert response.error is not None
    assert (response.error.code, response.error.effect, tool.runs) == ("SYSTEM_ERROR", "applied", 1)
    assert (await tool.plain()).data == 1


@pytest.mark.parametrize("where", ["validate", "recover", "check", "handler"])
async def test_a_home_made_retry_ends_with_the_error_of_the_one_run(where: str) -> None:
    tool = Numbers(Middleware(name="mine", run=until_it_works, before=where))
    for number, code in [(-1, "NOT_FOUND"), (0, "UNKNOWN_ERROR")]:
        tool.runs = 0
        response = await tool.double(number=number)
        assert response.error is not None
        assert (response.error.code, response.error.effect, tool.runs) == (code, "unknown", 1)


async def by_retry(call: Any, proceed: Any) -> Any:
    try:
        return await proceed(call)
    except Exception:  # noqa: BLE001 - a middleware that repeats whatever fails
        return await call.retry()


@pytest.mark.parametrize("where", ["validate", "recover"])
async def test_a_failure_of_the_run_that_a_middleware_asks_for_is_the_handlers(where: str) -> None:
    class Gone(BaseTool):
        """Gone."""

        runs = 0

        @operation(read_only=True)
        async def look(self) -> None:
            """Fail."""
            self.runs += 1
            raise ConnectionRefusedError

    tool = Gone(runtime=quiet_runtime(middleware=[Middleware(name="mine", run=by_retry, before=where)]))
    response = await tool.look()
    assert response.error is not None
    assert (response.error.code, response.error.retry.when, tool.runs) == ("UNAVAILABLE", "after_delay", 2)


async def test_a_middleware_inside_recovery_is_passed_by_every_run() -> None:
    passed: list[int] = []

    async def count(call: CallContext, proceed: Any) -> Any:
        passed.append(call.attempt)
        if len(passed) < 3:
            raise RateLimited(effect="none")
        return await proceed(call)

    manager = RecoveryManager()
    manager.register(RateLimited, Retry(base_s=0))
    tool = Numbers(Middleware(name="mine", run=count, after="recover"), recovery=manager)
    assert (await tool.double(number=4)).data == 8
    assert (len(passed), tool.runs) == (3, 1)


def test_the_description_of_a_call_names_its_steps_and_its_strategies() -> None:
    class Guarded(BaseTool):
        """Guarded."""

        @operation(read_only=True, timeout=4.0, recovery=[Retry(attempts=2), CircuitBreaker(min_calls=7)])
        async def look(self) -> int:
            """Look."""
            return 1

    assert Guarded(runtime=Runtime()).describe() == {
        "look": ["observe", "validate", "deadline", "recover", "recover:retry", "circuit_breaker", "handler"]
    }


async def test_a_middleware_cannot_hide_a_run_in_a_copy_of_the_call():
    async def copying(call, proceed):
        return await proceed(copy.copy(call))

    manager = RecoveryManager()
    manager.register(Unavailable, Retry(base_s=0.0))
    numbers = Numbers(Middleware(name="copying", run=copying, before="hedge"), recovery=manager)
    answer = await numbers.double()
    assert answer.error is not None
    assert (answer.error.code, answer.error.effect, numbers.runs) == ("SYSTEM_ERROR", "none", 0)
