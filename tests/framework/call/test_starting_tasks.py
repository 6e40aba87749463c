"""A start that calls the toolset's own operations from other tasks."""

from __future__ import annotations

import asyncio

import pytest

from failsoft import BaseTool, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Warm(BaseTool):
    """Calls its own operation in tasks while it starts."""

    async def startup(self) -> None:
        await asyncio.gather(self.ping(), self.ping())

    @operation(read_only=True)
    async def ping(self) -> int:
        """Return 1."""
        return 1


async def test_a_start_may_call_its_own_operations_from_tasks() -> None:
    call = asyncio.ensure_future(Warm(runtime=quiet_runtime()).ping())
    for _ in range(1_000):
        await asyncio.sleep(0)
        if call.done():
            break
    has_ended = call.done()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert has_ended
    assert call.result().data == 1
