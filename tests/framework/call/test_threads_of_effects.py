"""The thread that runs a step of an effect: none that blocks is on the event loop."""

from __future__ import annotations

import threading

import pytest

from failsoft import BaseTool, CallContext, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Marks(BaseTool):
    """An async handler with an effect that is a sync function."""

    @operation(effects=True)
    async def write(self, call: CallContext) -> int:
        """Return the thread of the effect."""
        return int(await call.effect("write", run=threading.get_ident))


async def test_a_sync_effect_of_an_async_handler_runs_beside_the_event_loop() -> None:
    response = await Marks(runtime=quiet_runtime()).execute_with_error_handling("write", {})
    assert isinstance(response.data, int)
    assert response.data != threading.get_ident()
