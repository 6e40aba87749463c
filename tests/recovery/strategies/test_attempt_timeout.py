"""A limit on each run: what it ends, what it leaves alone, and what it cannot stop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from failsoft import AttemptTimeout, BaseTool, CallContext, ConfigurationError, Retry, operation
from failsoft.testing import InstantClock
from tests.framework.recording import Recording, quiet_runtime


class Slow(BaseTool):
    """Takes a configured time, run by run."""

    def __init__(self, *seconds: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seconds = list(seconds)
        self.checks: list[float] = []
        self.released = threading.Event()
        self.cleaned: list[int] = []

    async def _take(self, call: CallContext) -> int:
        try:
            await asyncio.sleep(self.seconds.pop(0))
        finally:
            self.cleaned.append(call.attempt)
        return call.attempt

    @operation(read_only=True, timeout=10, recovery=[AttemptTimeout(1), Retry(base_s=0)])
    async def read(self, call: CallContext) -> int:
        """Change nothing."""
        return await self._take(call)

    @operation(timeout=10, recovery=[AttemptTimeout(1), Retry(base_s=0)])
    async def write(self, call: CallContext) -> int:
        """Do it twice if it is run twice."""
        return await self._take(call)

    @write.check
    async def looked_up(self) -> None:
        await asyncio.sleep(self.checks.pop(0) if self.checks else 0)

    @operation(idempotent=True, timeout=10, recovery=[AttemptTimeout(0.02)])
    def block(self) -> bool:
        """Block a thread, which cannot be stopped."""
        return self.released.wait(30)

    @operation(read_only=True, timeout=10, recovery=[AttemptTimeout(1)])
    async def swallow(self) -> str:
        """Return although it was cancelled."""
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            return "late"
        return "in time"


def answer(tool: Slow, name: str) -> Any:
    return InstantClock().run(tool.execute_with_error_handling(name, {}))


def test_a_run_that_hangs_is_ended_and_the_next_one_answers() -> None:
    metrics = Recording()
    tool = Slow(60, 0.5, runtime=quiet_runtime(metrics=metrics))
    response = answer(tool, "read")
    assert (response.data, response.metadata.recovery.attempts) == (2, 2)
    assert metrics.of("attempted") == ["timeout", "ok"]
    assert tool.cleaned == [1, 2]


def test_a_write_that_was_cut_off_is_not_run_again() -> None:
    tool = Slow(60, 0, runtime=quiet_runtime())
    error = answer(tool, "write").error
    assert (error.code, error.effect, error.retry.when, error.stop_reason) == (
        "TIMEOUT",
        "unknown",
        "never",
        "effect_possible",
    )


def test_a_write_whose_check_was_cut_off_had_not_begun() -> None:
    tool = Slow(0, runtime=quiet_runtime())
    tool.checks = [60]
    assert answer(tool, "write").data == 1


def test_every_run_has_the_whole_limit() -> None:
    tool = Slow(0.9, runtime=quiet_runtime())
    assert answer(tool, "read").data == 1
    tool.seconds = [60, 60, 0.9]
    assert answer(tool, "read").data == 3


def test_a_handler_that_swallows_the_cancellation_keeps_its_value() -> None:
    assert answer(Slow(runtime=quiet_runtime()), "swallow").data == "late"


def test_the_deadline_of_the_call_comes_first_where_it_is_earlier() -> None:
    clock = InstantClock()
    tool = Slow(*[60] * 30, runtime=quiet_runtime())

    class Impatient(Slow):
        @operation(read_only=True, timeout=2.5, recovery=[AttemptTimeout(1), Retry(attempts=9, base_s=0)])
        async def read(self, call: CallContext) -> int:
            """Change nothing."""
            return await self._take(call)

    tool = Impatient(*[60] * 9, runtime=quiet_runtime())
    error = clock.run(tool.read()).error
    assert error is not None
    assert (error.code, error.stop_reason, tool.cleaned) == ("DEADLINE_EXCEEDED", "deadline", [1, 2, 3])
    assert clock.elapsed_s == 2.5


def test_a_sync_handler_runs_on_in_its_thread_and_says_so() -> None:
    tool = Slow(runtime=quiet_runtime())
    try:
        error = asyncio.run(tool.block()).error
        assert error is not None
        assert (error.code, error.effect, error.retry.when) == ("TIMEOUT", "unknown", "after_delay")
        assert tool.runtime.threads.abandoned == 1
    finally:
        tool.released.set()


def test_a_cancellation_from_outside_is_not_taken_for_the_limit() -> None:
    async def leave(tool: Slow) -> bool:
        running = asyncio.create_task(tool.read())
        await asyncio.sleep(0.5)
        running.cancel()
        await asyncio.wait([running])
        return running.cancelled()

    metrics = Recording()
    assert InstantClock().run(leave(Slow(60, runtime=quiet_runtime(metrics=metrics))))
    assert (metrics.of("attempted"), metrics.of("finished")) == (["cancelled"], ["cancelled"])


def test_a_cancellation_that_comes_with_the_limit_wins() -> None:
    async def leave(tool: Slow) -> bool:
        running = asyncio.create_task(tool.read())
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_later(1, running.cancel)
        await asyncio.wait([running])
        return running.cancelled()

    assert InstantClock().run(leave(Slow(60, 60, 60, runtime=quiet_runtime())))


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_limit_that_makes_no_sense_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="AttemptTimeout"):
        AttemptTimeout(seconds)


@pytest.mark.parametrize("seconds", [5, 6])
def test_a_limit_that_would_never_be_reached_is_refused_when_the_tool_is_made(seconds: float) -> None:
    class Wrong(BaseTool):
        @operation(timeout=5, recovery=[AttemptTimeout(seconds)])
        async def work(self) -> None:
            """Work."""

    with pytest.raises(ConfigurationError, match="never be reached"):
        Wrong(runtime=quiet_runtime())
