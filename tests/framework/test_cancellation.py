"""Real cancellation passes through and is counted; an exception that merely looks like one is a failure."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

from failsoft import BaseTool, RecoveryManager, Retry, Unavailable, operation
from failsoft.testing import InstantClock
from tests.doors import is_real_cancellation
from tests.framework.recording import Recording, quiet_runtime

pytestmark = pytest.mark.anyio


class Stage:
    """Where a handler is, for tests that cancel it there."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()

    async def stay(self) -> None:
        self.reached.set()
        await asyncio.Event().wait()


class Cancelled(BaseTool):
    """Handlers to cancel, and handlers that only look cancelled."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stage = Stage()

    @operation(read_only=True)
    async def stay(self) -> None:
        """Stay."""
        await self.stage.stay()

    @operation(read_only=True)
    async def stray(self) -> None:
        """Raise the exception without a cancellation."""
        raise asyncio.CancelledError

    @operation(read_only=True)
    def stray_in_thread(self) -> None:
        """Raise the exception in a thread."""
        raise asyncio.CancelledError

    @operation(read_only=True)
    async def cancelled_child(self) -> None:
        """Wait for a task of its own that was cancelled."""
        child = asyncio.create_task(asyncio.sleep(0))
        child.cancel()
        await child

    @operation(read_only=True)
    async def cancelled_scope(self) -> str:
        """Cancel a scope of its own, and go on."""
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anyio.sleep(1)
        return "went on"

    @operation(read_only=True)
    async def failing_group(self) -> None:
        """Have one member of a group fail, which cancels the other."""
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.Event().wait())
            group.create_task(self._fail())

    async def _fail(self) -> None:
        raise Unavailable

    @operation(read_only=True)
    async def unavailable(self) -> None:
        """Fail, so that a retry waits."""
        raise Unavailable(retry_after_seconds=3)


@pytest.fixture
def metrics() -> Recording:
    return Recording()


@pytest.fixture
def tool(metrics: Recording) -> Cancelled:
    return Cancelled(runtime=quiet_runtime(metrics=metrics, recovery=RecoveryManager({Unavailable: Retry()})))


async def test_a_cancelled_task_ends_as_cancelled(tool: Cancelled, metrics: Recording) -> None:
    task = asyncio.create_task(tool.stay())
    await tool.stage.reached.wait()
    task.cancel("why")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert metrics.of("finished") == ["cancelled"]
    assert metrics.of("attempted") == ["cancelled"]
    assert metrics.of("failed") == []


def test_a_retry_that_is_cancelled_while_it_waits_ends_as_cancelled(tool: Cancelled, metrics: Recording) -> None:
    async def main() -> None:
        task = asyncio.create_task(tool.unavailable())
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    InstantClock().run(main())
    assert metrics.of("attempted") == ["error"]
    assert metrics.of("finished") == ["cancelled"]


async def test_an_anyio_scope_outside_cancels_the_call(tool: Cancelled, metrics: Recording) -> None:
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(tool.stay)
            await tool.stage.reached.wait()
            scope.cancel()
    assert scope.cancelled_caught
    assert metrics.of("finished") == ["cancelled"]


async def test_an_anyio_time_limit_outside_cancels_the_call(tool: Cancelled, metrics: Recording) -> None:
    with anyio.move_on_after(0.01) as scope:
        await tool.stay()
    assert scope.cancelled_caught
    assert metrics.of("finished") == ["cancelled"]
    assert (await tool.cancelled_scope()).data == "went on"


async def test_a_sibling_that_fails_cancels_the_call(tool: Cancelled, metrics: Recording) -> None:
    async def fail() -> None:
        await tool.stage.reached.wait()
        msg = "sibling"
        raise ValueError(msg)

    with pytest.raises(ExceptionGroup) as caught:  # noqa: PT012 - the group is the statement
        async with asyncio.TaskGroup() as group:
            group.create_task(tool.stay())
            group.create_task(fail())
    assert caught.group_contains(ValueError)
    assert metrics.of("finished") == ["cancelled"]


@pytest.mark.parametrize("name", ["stray", "stray_in_thread", "cancelled_child"])
async def test_what_only_looks_like_a_cancellation_is_a_failure(tool: Cancelled, metrics: Recording, name: str) -> None:
    response = await tool.execute_with_error_handling(name, {})
    assert response.error is not None
    assert response.error.code == "UNKNOWN_ERROR"
    assert metrics.of("finished") == ["error"]
    await asyncio.sleep(0)


async def test_a_group_inside_the_handler_fails_with_what_failed_in_it(tool: Cancelled) -> None:
    own = Cancelled(runtime=quiet_runtime())
    response = await own.failing_group()
    assert response.error is not None
    assert response.error.code == "UNAVAILABLE"
    assert (await tool.cancelled_scope()).data == "went on"


async def test_a_call_made_while_its_task_is_being_cancelled_still_runs(tool: Cancelled) -> None:
    answers: list[Any] = []

    async def clean_up() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            answers.append(await tool.cancelled_scope())

    task = asyncio.create_task(clean_up())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert answers[0].data == "went on"


async def test_other_exceptions_are_never_a_cancellation() -> None:
    assert not is_real_cancellation(ValueError())
    assert not is_real_cancellation(asyncio.CancelledError())
    assert not is_real_cancellation(TimeoutError())


def test_without_a_loop_nothing_can_be_cancelled() -> None:
    assert not is_real_cancellation(asyncio.CancelledError())
