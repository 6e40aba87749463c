"""What a toolset may add to its calls: steps of its own in the chain, and what it does about a failure."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from failsoft import BaseTool, CallContext, Failure, Middleware, NotFound, Runtime, Settings, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Noting(BaseTool):
    """Notes who comes by."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seen: list[str] = []
        self.heard: list[tuple[str, str]] = []
        self.breaks: BaseException | None = None
        self.middleware = (Middleware(name="gate", run=self._gate, after="validate"),)

    @operation()
    async def find(self, word: str) -> str:
        """Find a word."""
        self.seen.append("handler")
        if word == "none":
            raise NotFound(message="There is none.")
        return word

    async def on_failure(self, failure: Failure, call: CallContext) -> None:
        await asyncio.sleep(0)
        self.heard.append((failure.code, call.operation))
        if self.breaks is not None:
            raise self.breaks

    async def _gate(self, call: CallContext, proceed: Any) -> Any:
        self.seen.append("gate")
        return await proceed(call)


async def test_the_steps_of_a_toolset_stand_inside_those_of_its_runtime_at_the_same_place() -> None:
    async def outer(call: CallContext, proceed: Any) -> Any:
        call.toolset.seen.append("outer")
        return await proceed(call)

    step = Middleware(name="outer", run=outer, after="validate")
    tool = Noting(runtime=Runtime(settings=Settings(), middleware=[step]))
    assert tool.describe()["find"][:4] == ["observe", "validate", "outer", "gate"]
    assert (await tool.find(word="a")).success
    assert tool.seen == ["outer", "gate", "handler"]


async def test_a_toolset_hears_of_every_failure_once_and_of_nothing_else() -> None:
    tool = Noting(runtime=quiet_runtime())
    await tool.find(word="a")
    await tool.find(word="none")
    await tool.execute_with_error_handling("find", {"word": 5})
    assert tool.heard == [("NOT_FOUND", "find"), ("INVALID_PARAM", "find")]


@pytest.mark.parametrize("breaks", [RuntimeError("x"), SystemExit(1), asyncio.CancelledError()], ids=repr)
async def test_a_failure_is_answered_even_if_the_hook_of_the_toolset_raises(breaks: BaseException) -> None:
    tool = Noting(runtime=quiet_runtime())
    tool.breaks = breaks
    response = await tool.find(word="none")
    assert response.error is not None
    assert response.error.code == "NOT_FOUND"


async def test_a_failure_is_heard_of_before_it_is_on_record() -> None:
    order: list[str] = []

    class Trail:
        async def record(self, facts: Any) -> None:
            order.append(f"record {facts['code']}")

        def note(self, facts: Any) -> None:
            raise AssertionError

    tool = Noting(runtime=Runtime(settings=Settings(), audit=Trail()))
    tool.heard = order  # type: ignore[assignment]  # one list for both
    await tool.find(word="none")
    assert order == [("NOT_FOUND", "find"), "record NOT_FOUND"]
