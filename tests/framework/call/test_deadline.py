"""One timer for a whole call: what it turns into an answer, what it leaves alone, and that no cancel stays behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any

import anyio
import pytest

from failsoft import (
    BaseTool,
    CallContext,
    DocumentNotFound,
    NotFound,
    RecoveryManager,
    RecoveryResult,
    Reference,
    Timeout,
    operation,
)
from failsoft.testing import InstantClock
from tests.framework.recording import Recording, quiet_runtime

pytestmark = pytest.mark.anyio

LIMIT_S = 0.02
"""Short, since a thread is waited for in real time; everywhere else time jumps."""


@pytest.fixture
def anyio_backend(failsoft_clock: InstantClock) -> Any:
    return failsoft_clock.anyio_backend


async def for_ever(_value: Any = None) -> None:
    await asyncio.Event().wait()


class Slow(BaseTool):
    """Handlers that outlast their limit, each in its own way."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.released = threading.Event()
        self.notes: list[Any] = []

    @operation(timeout=LIMIT_S)
    async def wait(self) -> str:
        """Wait for ever."""
        await for_ever()
        return "never"

    @operation(timeout=LIMIT_S, read_only=True)
    async def wait_reading(self) -> str:
        """Wait for ever, and change nothing."""
        await for_ever()
        return "never"

    @operation(timeout=LIMIT_S, idempotent=True)
    async def wait_idempotently(self) -> str:
        """Wait for ever; again is harmless."""
        await for_ever()
        return "never"

    @operation(timeout=LIMIT_S)
    async def return_late(self) -> str:
        """Swallow the cancellation and return."""
        with suppress(asyncio.CancelledError):
            await for_ever()
        return "late"

    @operation(timeout=LIMIT_S)
    async def raise_late(self) -> str:
        """Turn the cancellation into another error."""
        try:
            await for_ever()
        except asyncio.CancelledError:
            raise NotFound(message="There was nothing.") from None
        return "never"

    @operation(timeout=LIMIT_S)
    async def clean_up(self) -> str:
        """Take a while to end."""
        try:
            await for_ever()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            self.notes.append("cleaned")
        return "never"

    @operation(timeout=30)
    async def inner_timeout(self) -> str:
        """Run into a time-out of its own."""
        async with asyncio.timeout(LIMIT_S):
            await for_ever()
        return "never"

    @operation(timeout=30)
    async def inner_timeout_handled(self) -> str:
        """Run into a time-out of its own and carry on."""
        try:
            async with asyncio.timeout(0):
                await for_ever()
        except TimeoutError:
            self.notes.append(task_state())
        with anyio.move_on_after(0):
            await for_ever()
        self.notes.append(task_state())
        return "done"

    @operation(timeout=LIMIT_S)
    async def both_timeouts(self) -> str:
        """Have an own time-out that fires in the same moment."""
        async with asyncio.timeout(LIMIT_S):
            await for_ever()
        return "never"

    @operation(timeout=LIMIT_S)
    async def outer(self, limit: str = "outer") -> Any:
        """Call another operation, whose limit is the same."""
        return (await self.wait()).error

    @operation(timeout=30)
    async def outer_patient(self) -> Any:
        """Call another operation, whose limit is shorter."""
        answer = await self.wait()
        self.notes.append(task_state())
        await asyncio.sleep(0)
        return answer.error.code if answer.error else None

    @operation(timeout=LIMIT_S)
    def block(self) -> str:
        """Block a thread."""
        self.released.wait(30)
        return "released"

    @operation(timeout=LIMIT_S)
    async def refer(self, word: Annotated[str, Reference(for_ever)]) -> str:
        """Never get past the reference."""
        return word

    @operation(timeout=LIMIT_S)
    async def review(self) -> str:
        """Be reviewed for ever."""
        return "done"

    @review.plausibility
    async def slow_review(self, result: str) -> None:
        await for_ever()


def task_state() -> int:
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


@pytest.fixture
def slow() -> Iterator[Slow]:
    tool = Slow(runtime=quiet_runtime())
    yield tool
    tool.released.set()


@pytest.mark.parametrize(
    ("operation", "effect", "retry"),
    [
        ("wait", "unknown", "never"),
        ("wait_reading", "none", "after_delay"),
        ("wait_idempotently", "unknown", "after_delay"),
        ("raise_late", "unknown", "never"),
        ("clean_up", "unknown", "never"),
        ("both_timeouts", "unknown", "never"),
        ("outer", "unknown", "never"),
        ("block", "unknown", "never"),
        ("review", "applied", "never"),
    ],
)
async def test_the_deadline_becomes_an_answer(slow: Slow, operation: str, effect: str, retry: str) -> None:
    response = await slow.execute_with_error_handling(operation, {})
    assert response.error is not None
    assert response.error.code == "DEADLINE_EXCEEDED"
    assert (response.error.effect, response.error.retry.when) == (effect, retry)
    assert task_state() == 0
    await asyncio.sleep(0)


async def test_a_reference_that_never_answers_leaves_no_effect(slow: Slow) -> None:
    response = await slow.refer(word="a")
    assert response.error is not None
    assert (response.error.code, response.error.effect, response.error.rejected) == ("DEADLINE_EXCEEDED", "none", True)


async def test_a_handler_that_returns_late_keeps_its_value(slow: Slow) -> None:
    assert (await slow.return_late()).data == "late"
    assert task_state() == 0
    await asyncio.sleep(0)


async def test_a_time_out_of_the_handler_itself_is_not_the_deadline(slow: Slow) -> None:
    response = await slow.inner_timeout()
    assert response.error is not None
    assert response.error.code == "TIMEOUT"
    assert (await slow.inner_timeout_handled()).data == "done"
    assert slow.notes == [0, 0]
    assert task_state() == 0


async def test_an_inner_call_that_times_out_leaves_the_outer_one_unharmed(slow: Slow) -> None:
    assert (await slow.outer_patient()).data == "DEADLINE_EXCEEDED"
    assert slow.notes == [0]


async def test_the_call_ends_after_the_handler_has_cleaned_up(slow: Slow) -> None:
    await slow.clean_up()
    assert slow.notes == ["cleaned"]


async def test_a_time_out_around_the_call_is_a_cancellation_and_not_the_deadline(slow: Slow) -> None:
    metrics = Recording()
    tool = Slow(runtime=quiet_runtime(metrics=metrics, default_timeout_s=30))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(LIMIT_S):
            await tool.execute_with_error_handling("inner_timeout_handled", {}, for_ever)
    assert metrics.of("finished") == ["cancelled"]
    assert metrics.of("attempted") == ["cancelled"]
    assert task_state() == 0
    assert (await slow.inner_timeout_handled()).success


async def test_an_outer_time_out_that_fires_with_the_deadline_wins_and_leaves_nothing(slow: Slow) -> None:
    for _ in range(10):
        with suppress(TimeoutError):
            async with asyncio.timeout(LIMIT_S):
                response = await slow.wait()
                assert response.error is not None
                assert response.error.code == "DEADLINE_EXCEEDED"
        assert task_state() == 0
        await asyncio.sleep(0)


async def test_a_cancellation_that_comes_with_the_expiry_wins() -> None:
    class Racing(BaseTool):
        @operation(timeout=LIMIT_S)
        async def wait(self) -> None:
            """Be cancelled by the timer and by the test at once."""
            try:
                await for_ever()
            except asyncio.CancelledError:
                running.cancel()
                await asyncio.sleep(0)

    tool = Racing(runtime=quiet_runtime())
    running = asyncio.create_task(tool.wait())
    with pytest.raises(asyncio.CancelledError):
        await running
    assert running.cancelled()


async def test_a_limit_is_the_declared_one_or_the_settings() -> None:
    class Plain(BaseTool):
        @operation()
        async def look(self, call: CallContext) -> bool:
            """Look at the deadline."""
            remaining = call.remaining_s()
            return call.deadline is not None and remaining is not None and 0 < remaining <= 7

    tool = Plain(runtime=quiet_runtime(default_timeout_s=7))
    assert tool.operations["look"].timeout_s == 7
    assert (await tool.look()).data is True
    assert Slow(runtime=quiet_runtime(default_timeout_s=7)).operations["review"].timeout_s == LIMIT_S


async def test_an_endless_limit_is_no_timer() -> None:
    class Patient(BaseTool):
        @operation(timeout=float("inf"))
        async def look(self, call: CallContext) -> float | None:
            """Look at the deadline."""
            return call.remaining_s()

    tool = Patient(runtime=quiet_runtime())
    assert "deadline" not in tool.describe()["look"]
    assert (await tool.look()).data is None


class Elsewhere:
    """Tries again whatever happened, and swallows what comes."""

    name = "elsewhere"

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def attempt(self, error: Any, call: Any) -> RecoveryResult | None:
        self.seen.append(error.code)
        try:
            return RecoveryResult(await call.retry(), "Again")
        except BaseException as raised:  # noqa: BLE001 - a strategy that swallows the cancellation
            self.seen.append(type(raised).__name__)
            return None


async def test_nothing_is_started_after_the_deadline() -> None:
    strategy = Elsewhere()
    manager = RecoveryManager()
    manager.register(DocumentNotFound, strategy)
    manager.register(Timeout, strategy)

    class Late(BaseTool):
        runs = 0

        @operation(timeout=LIMIT_S, read_only=True)
        async def swallow(self) -> str:
            """Turn the cancellation into an error that could be recovered."""
            type(self).runs += 1
            try:
                await for_ever()
            except asyncio.CancelledError:
                raise DocumentNotFound(path="a.md") from None
            return "never"

        @operation(timeout=LIMIT_S, read_only=True)
        async def slow_at_the_second_run(self) -> str:
            """Fail at once, then wait for ever."""
            type(self).runs += 1
            if self.runs > 1:
                await for_ever()
            raise Timeout

    tool = Late(runtime=quiet_runtime(recovery=manager))
    response = await tool.swallow()
    assert response.error is not None
    assert (response.error.code, tool.runs, strategy.seen) == ("DEADLINE_EXCEEDED", 1, [])
    Late.runs = 0
    response = await tool.slow_at_the_second_run()
    assert response.error is not None
    assert (response.error.code, tool.runs) == ("DEADLINE_EXCEEDED", 2)
    assert strategy.seen == ["TIMEOUT", "CancelledError"]
    assert task_state() == 0
