"""What an author is told of a next step that cannot be sent."""

from __future__ import annotations

from typing import Any

import pytest
from loguru import logger

from failsoft import BaseTool, NotFound, PreconditionFailed, ToolError, Unauthenticated, operation
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


class Desks(BaseTool):
    """Asks for a desk, and for a shelf."""

    failure: ToolError = PreconditionFailed("This desk session has ended.")

    @operation(destructive=True, atomic=True)
    async def cancel(self, desk: str) -> None:
        """Cancel a booking."""
        raise self.failure

    @operation()
    async def open_desk(self, clerk: str, role: str = "clerk") -> str:
        """Begin a desk session."""
        return clerk + role

    @operation(read_only=True)
    async def find_desks(self, building: str, floor: int) -> str:
        """Find desks."""
        return f"{building}{floor}"


@pytest.mark.parametrize(
    ("kind", "step", "said"),
    [
        (PreconditionFailed, {"tool": "open_desk"}, "Call `open_desk` first with `clerk`, then call `cancel` again."),
        (Unauthenticated, {"tool": "open_desk"}, "Call `open_desk` first with `clerk`, then call `cancel` again."),
        (NotFound, {"tool": "find_desks", "arguments": {}}, "Call `find_desks` with `building` and `floor`."),
        (NotFound, {"tool": "find_desks", "arguments": {"floor": 2}}, "Call `find_desks` with `building`."),
        (NotFound, {"tool": "find_desks", "arguments": {"floor": "up"}}, ""),
        (NotFound, {"tool": "cancel"}, ""),
    ],
)
async def test_a_step_that_only_the_caller_can_complete_is_named(
    kind: type[ToolError], step: dict[str, Any], said: str
) -> None:
    tool = Desks(runtime=quiet_runtime())
    tool.failure = kind("There is no such desk session.", next_step=step)
    answer = await tool.cancel(desk="d-1")
    assert answer.error is not None
    assert answer.error.next_step is None
    assert answer.error.message == f"There is no such desk session. {said}".strip()
    assert answer.error.dropped_step
