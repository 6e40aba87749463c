"""A call that has to ask a person leaves the chain without an outcome, and is run again with the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from failsoft import (
    AttemptTimeout,
    BaseTool,
    Bulkhead,
    CallContext,
    CircuitBreaker,
    Fallback,
    Hedge,
    RecoveryManager,
    Retry,
    RetryBudget,
    StaleCache,
    ToolResponse,
    operation,
)
from tests.doors import META_KEY, Answer, AwaitingAnswer, CallScope, Question
from tests.framework.recording import Recording, quiet_runtime

QUESTION = Question("Really?", {"type": "object", "properties": {}}, "confirm")
FORM = {"confirm": True}


async def put_off(question: Question) -> Answer:
    raise AwaitingAnswer(question)


async def accepted(question: Question) -> Answer:
    assert question.digest == QUESTION.digest
    return Answer("accept", FORM)


class Reader(BaseTool):
    @operation(read_only=True)
    async def read(self, call: CallContext) -> dict[str, Any]:
        """Ask while it runs."""
        return await _asked(call)


class Questioner(BaseTool):
    @operation(effects=True)
    async def write(self, call: CallContext) -> dict[str, Any]:
        """Ask before its effect begins."""
        content = await _asked(call)
        await call.effect("done", dict)
        return content

    @operation(effects=True)
    async def write_in_group(self, call: CallContext) -> dict[str, Any]:
        """Ask in a task group."""
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(_asked(call))
        return asked.result()

    @operation
    async def begin_and_ask(self, call: CallContext) -> dict[str, Any]:
        """Ask when its effect may have begun."""
        return await _asked(call)


async def _asked(call: Any) -> dict[str, Any]:
    answer = await call.scope.ask(QUESTION)
    return dict(answer.content)


def _substitute() -> dict[str, Any]:
    return {}


def _called(tool: BaseTool, name: str, ask: Any, meta: Mapping[str, Any] | None = None) -> ToolResponse[Any]:
    async def run() -> ToolResponse[Any]:
        return await tool.operations[name].call({}, CallScope(ask=ask, meta=meta or {}))

    return asyncio.run(run())


@pytest.mark.parametrize(
    "strategy",
    [
        AttemptTimeout(5.0),
        Bulkhead(1),
        CircuitBreaker(min_calls=1),
        Fallback(_substitute),
        Hedge(delay_s=1.0),
        Retry(),
        RetryBudget(),
        StaleCache(0, 60),
    ],
    ids=lambda strategy: type(strategy).__name__,
)
def test_no_strategy_takes_a_call_that_is_put_off_for_a_failure(strategy: Any) -> None:
    metrics, recovery = Recording(), RecoveryManager()
    recovery.add(strategy)
    tool = Reader(runtime=quiet_runtime(recovery=recovery, metrics=metrics))
    for _ in range(3):
        with pytest.raises(AwaitingAnswer) as left:
            _called(tool, "read", put_off)
        assert left.value.question is QUESTION
    assert metrics.events == 3 * [("started",), ("put_off",)]
    response = _called(tool, "read", accepted)
    assert (response.data, response.metadata.recovery) == (FORM, None)
    assert metrics.events[6:] == [("started",), ("attempted", "ok"), ("finished", "ok")]


@pytest.mark.parametrize("name", ["write", "write_in_group"])
def test_the_idempotency_key_of_a_call_that_is_put_off_is_free(name: str) -> None:
    tool, meta = Questioner(runtime=quiet_runtime()), {META_KEY: "once"}
    with pytest.raises(AwaitingAnswer):
        _called(tool, name, put_off, meta)
    first, second = (_called(tool, name, accepted, meta) for _ in range(2))
    assert (first.data, first.metadata.recovery) == (FORM, None)
    assert second.metadata.recovery is not None
    assert second.metadata.recovery.strategy == "idempotency"


def test_a_run_that_may_have_begun_its_effect_is_never_put_off() -> None:
    metrics = Recording()
    tool = Questioner(runtime=quiet_runtime(metrics=metrics))
    response = _called(tool, "begin_and_ask", put_off, {META_KEY: "once"})
    assert response.error is not None
    assert response.error.effect == "unknown"
    assert metrics.of("finished") == ["error"]
