"""One caller cannot take the places of all others before the workers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from failsoft import BaseTool, CallContext, Runtime, operation
from failsoft.recovery import RecoveryManager
from tests.doors import CallScope, FluxSettings, Workers
from tests.programs.flux import IN_FLUX
from tests.tools.flux import tasks
from tests.tools.flux.lab import until

pytestmark = [*IN_FLUX, pytest.mark.anyio, pytest.mark.usefixtures("flux_python")]

QUEUE = 4
PATIENCE_S = 5


class Runs(BaseTool):
    """Runs tasks."""

    def __init__(self, workers: Workers) -> None:
        super().__init__(runtime=Runtime(recovery=RecoveryManager()))
        self.workers = workers

    @operation(read_only=True, timeout=60)
    async def run(self, call: CallContext, task: str, given: list[Any] | None = None) -> Any:
        return await self.workers.run(call, getattr(tasks, task), *(given or ()))

    def begin(self, principal: str, task: str, *given: Any) -> asyncio.Task[Any]:
        """Start a call of a principal."""
        scope = CallScope(principal=principal)
        return asyncio.create_task(self.operations["run"].call({"task": task, "given": list(given)}, scope))


@pytest.fixture
async def runs() -> AsyncIterator[Runs]:
    workers = Workers(FluxSettings(workers=1, queue=QUEUE, preload=()))
    yield Runs(workers)
    await asyncio.to_thread(workers.close)


async def test_a_caller_that_fills_the_queue_leaves_a_place_to_others(runs: Runs, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    calls = [runs.begin("ada", "hang", str(mark))]
    await asyncio.to_thread(until, lambda: mark.exists() and mark.read_text(), "the task")
    calls += [runs.begin("ada", "identity") for _ in range(QUEUE + 1)]
    try:
        refused, _ = await asyncio.wait(calls, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        if [call.result().error.code for call in refused] != ["OVERLOADED"]:
            pytest.fail("the queue has to be full")
        other = runs.begin("bob", "identity")
        calls.append(other)
        await asyncio.sleep(0)
        calls[0].cancel()  # the worker is free again
        answer = await asyncio.wait_for(other, PATIENCE_S)
        assert answer.success, answer.error.code
    finally:
        for call in calls:
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call
