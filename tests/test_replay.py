"""Calls with idempotency keys, made again: their records are never asked, and nothing is done twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from failsoft import BaseTool, CallContext, RecoveryManager, operation
from tests.doors import META_KEY, CallScope, finish_captures, read_capture, run_again
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Till(BaseTool):
    """A till."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.done: list[str] = []

    @operation(effects=True)
    async def pay(self, order: str, call: CallContext) -> str:
        """Pay an order."""
        await call.effect("charge", lambda: self._note(order))
        return {"paid": "x"}[order]

    @operation(read_only=True)
    async def total(self, order: str) -> str:
        """Pay an order, and return the total, as nobody should do it."""
        return (await self.pay(order=order)).unwrap()

    def _note(self, order: str) -> int:
        self.done.append(order)
        return len(self.done)


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def till(**settings: Any) -> Till:
    return Till(runtime=quiet_runtime(recovery=RecoveryManager.default(), **settings))


async def failed(tool: Till, name: str, order: str, key: str = "") -> Any:
    """Return the capture of a call that fails, with an idempotency key."""
    scope = CallScope(meta={META_KEY: key} if key else {}, principal="ann")
    response = await tool.operations[name].call({"order": order}, scope)
    assert response.error is not None
    finish_captures()
    return read_capture(response.error.error_id)


async def test_a_call_with_a_key_is_made_again_without_it_and_its_effects_are_not_done() -> None:
    capture = await failed(till(capture="failures"), "pay", "tea", "k-1")
    assert (capture.key, [effect.value for effect in capture.effects]) == ("run", [1])
    again = till()
    ended = await run_again(capture, [again], include_writes=True)
    assert (ended.outcome, again.done) == ("same", [])


async def test_what_the_record_of_a_key_decided_is_decided_by_the_capture() -> None:
    tool = till(capture="failures")
    await failed(tool, "pay", "tea", "k-1")
    for order, code in (("salt", "IDEMPOTENCY_CONFLICT"), ("tea", "UNKNOWN_ERROR")):
        capture = await failed(tool, "pay", order, "k-1")
        assert (capture.key, capture.code) == ("answered", code)
        again = till()
        ended = await run_again(capture, [again], include_writes=True)
        assert (ended.outcome, ended.now, again.done) == ("same", capture.before, [])
    assert tool.done == ["tea"]


async def test_effects_of_a_call_below_are_not_done_again_either() -> None:
    capture = await failed(till(capture="failures"), "total", "tea")
    assert (capture.operation, [effect.operation for effect in capture.effects]) == ("total", ["pay"])
    again = till()
    ended = await run_again(capture, [again])
    assert (ended.outcome, again.done) == ("same", [])
