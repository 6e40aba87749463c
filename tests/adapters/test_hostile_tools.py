"""Tools that another server declares, as those of a mounted one do, with the adapters on: bounded, and off the loop."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from failsoft.adapters.mcpserver import FailSoft

pytestmark = pytest.mark.anyio
TOOLS = 4
LARGE = {f"p{number}": {"type": ["string", "null"], "minLength": 1} for number in range(2_500)}
SCHEMA = {"type": "object", "properties": LARGE}


class Measured:
    """Keeps the processor time of the longest callback of the event loop."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.longest_s = 0.0
        run: Any = asyncio.Handle._run

        def timed(handle: Any) -> None:
            began = time.thread_time()
            run(handle)
            self.longest_s = max(self.longest_s, time.thread_time() - began)

        patch.setattr(asyncio.Handle, "_run", timed)


def foreign() -> MCPServer[Any]:
    """Return a server whose tools have large schemas."""
    server: MCPServer[Any] = MCPServer("foreign")

    async def work() -> str:
        return "done"

    for number in range(TOOLS):
        server.add_tool(work, name=f"work_{number}")
    for tool in server._tool_manager.list_tools():
        tool.parameters = SCHEMA
    return server


def cost_of_reading() -> float:
    server = foreign()
    began = time.thread_time()
    FailSoft(server).tools.adopted(server._tool_manager.list_tools()[0])
    return time.thread_time() - began


async def test_large_schemas_are_read_beside_the_event_loop(monkeypatch):
    server = foreign()
    FailSoft(server)
    alone = min(cost_of_reading() for _ in range(3))
    measured = Measured(monkeypatch)
    await asyncio.sleep(0)
    assert len(await server.list_tools()) == TOOLS
    await asyncio.sleep(0)
    assert measured.longest_s < alone
