"""What an author is told of a next step that cannot be sent."""

from __future__ import annotations

from typing import Any

import pytest
from loguru import logger

from failsoft import BaseTool, NotFound, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Nowhere(BaseTool):
    """Names a tool that is not there."""

    @operation(read_only=True)
    async def look(self) -> int:
        """Look."""
        raise NotFound("Nothing.", next_step={"tool": "search_nowhere", "arguments": {}})


async def test_a_dropped_step_is_a_warning_once_per_operation_and_code() -> None:
    lines: list[Any] = []
    logger.enable("failsoft")
    sink = logger.add(lambda message: lines.append(message.record), level="WARNING")  # type: ignore[attr-defined]
    try:
        tool = Nowhere(runtime=quiet_runtime())
        for _ in range(3):
            await tool.look()
    finally:
        logger.remove(sink)
    warnings = [line["message"] for line in lines if "search_nowhere" in line["message"]]
    if not warnings:
        pytest.fail("a dropped step has to be a warning")
    assert len(warnings) == 1
