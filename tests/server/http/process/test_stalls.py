"""A blocked event loop: which operation blocks it, and who is told."""

from __future__ import annotations

import asyncio
import io
import json
import sys
import time
from collections.abc import Awaitable, Callable

import pytest
from loguru import logger

from failsoft import BaseTool, configure_logging, operation
from failsoft.events import WorkerEvent
from tests.doors import Board, Heartbeat

pytestmark = pytest.mark.anyio
STALL_S = 0.2
CALM_S = 1.0
"""A limit that no working loop reaches, however busy the machine."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Blocking(BaseTool):
    """Blocks its event loop, or only seems to."""

    @operation(read_only=True)
    async def block(self) -> None:
        """Block the loop."""
        time.sleep(4 * STALL_S)  # noqa: ASYNC251 - that is the mistake

    @operation(read_only=True)
    async def block_in_a_task(self) -> None:
        """Block the loop from a task of its own."""
        await asyncio.create_task(self._block())

    async def _block(self) -> None:
        time.sleep(4 * STALL_S)  # noqa: ASYNC251 - that is the mistake

    @operation(read_only=True)
    async def wait(self) -> None:
        """Take long, and let others work."""
        await asyncio.sleep(1.5 * CALM_S)

    @operation(read_only=True)
    def work(self) -> None:
        """Take long in a thread."""
        time.sleep(1.5 * CALM_S)


async def stalls(work: Callable[[], Awaitable[object]], *, stall_s: float = STALL_S) -> list[WorkerEvent]:
    """Return the stalls during some work, beside which a heartbeat goes on as it does in a server."""
    told: list[WorkerEvent] = []
    heartbeat = Heartbeat(Board.create(None, slot=0), stall_s=stall_s, on_stall=told.append)

    async def go_on() -> None:
        while True:
            heartbeat.beat("ready")
            await asyncio.sleep(0.03)  # the watchdog looks every 0.25 s, and the last 20 delays are known

    beating = asyncio.create_task(go_on())
    await asyncio.sleep(0)
    with heartbeat.watched():
        await work()
    beating.cancel()
    return told


async def test_the_operation_that_blocks_the_loop_is_named_once() -> None:
    (stall,) = await stalls(lambda: Blocking().execute_with_error_handling("block", {}))
    assert (stall.kind, stall.operation) == ("stalled", "block")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before, the context of a task cannot be read")
async def test_the_operation_is_found_from_a_task_of_its_handler() -> None:
    (stall,) = await stalls(lambda: Blocking().execute_with_error_handling("block_in_a_task", {}))
    assert stall.operation == "block_in_a_task"


async def test_what_blocks_outside_of_operations_has_no_name() -> None:
    (stall,) = await stalls(lambda: Blocking()._block())
    assert stall.operation == ""


async def test_the_operation_that_has_blocked_the_loop_below_the_limit_is_logged_once_a_minute() -> None:
    stream = io.StringIO()
    configure_logging("WARNING", json_lines=True, stream=stream)

    async def work() -> None:
        for _ in range(2):
            await Blocking().execute_with_error_handling("block", {})
            await asyncio.sleep(2 * STALL_S)

    try:
        assert await stalls(work, stall_s=5 * STALL_S) == []
    finally:
        logger.remove()
        logger.disable("failsoft")
    (line,) = map(json.loads, stream.getvalue().splitlines())
    assert (line["event"], line["operation"], line["count"]) == ("loop_blocked", "block", 1)
    assert line["blocked_s"] >= 2 * STALL_S


async def test_a_long_call_is_no_stall() -> None:
    run = Blocking().execute_with_error_handling
    assert await stalls(lambda: asyncio.gather(run("wait", {}), run("work", {})), stall_s=CALM_S) == []
