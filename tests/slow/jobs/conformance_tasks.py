"""The tools that the conformance suite calls for the tasks extension, as a user of failsoft would write them."""

from __future__ import annotations

import asyncio

from mcp_types import TextContent

from failsoft import AskPerson, BaseTool, Infeasible, operation

__all__ = ["ConformanceTasks"]


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


class ConformanceTasks(BaseTool):
    """Jobs, and one tool that is none."""

    @operation(read_only=True)
    async def greet(self, name: str) -> TextContent:
        """Greet somebody."""
        return _text(f"Hello, {name}!")

    @operation(job="required", read_only=True)
    async def slow_compute(self, seconds: float, label: str = "") -> TextContent:
        """Compute for a while."""
        await asyncio.sleep(seconds)
        return _text(f"computed {label}")

    @operation(job="required", read_only=True)
    async def failing_job(self) -> TextContent:
        """Fail after a while."""
        await asyncio.sleep(1)
        raise Infeasible("This job intentionally fails.")

    @operation(job="required", read_only=True)
    async def protocol_error_job(self) -> TextContent:
        """Have a defect."""
        raise RuntimeError

    @operation(job="required", destructive=True, confirm=True)
    async def confirm_delete(self, filename: str) -> TextContent:
        """Delete a file if a person agrees."""
        return _text(f"deleted {filename}")

    @operation(job="required", read_only=True, recovery=[AskPerson(ask=["name"])])
    async def test_tool_with_task(self, name: str) -> TextContent:
        """Greet somebody who is asked for the name."""
        return _text(f"Hello, {name}!")
