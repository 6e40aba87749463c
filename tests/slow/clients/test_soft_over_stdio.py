"""A server of the SDK with a soft tool, over stdio; the library is imported after the function was declared."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mcp import StdioServerParameters
from mcp.client import Client

pytestmark = pytest.mark.anyio
PROGRAM = """
import failsoft

@failsoft.soft(read_only=True)
def divide(number: int) -> float:
    return 1 / number

from mcp.server.mcpserver import MCPServer

server = MCPServer("shop")
server.add_tool(divide)
server.run()
"""


async def test_a_soft_tool_answers_over_stdio(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text(PROGRAM)
    async with Client(StdioServerParameters(command=sys.executable, args=[str(program)])) as client:
        misspelt = await client.call_tool("divide", {"numbr": 2})
        crashed = await client.call_tool("divide", {"number": 0})
        worked = await client.call_tool("divide", {"number": 2})
    codes = [result.structured_content["error"]["code"] for result in (misspelt, crashed) if result.structured_content]
    assert codes == ["INVALID_PARAM", "UNKNOWN_ERROR"]
    assert worked.structured_content == {"result": 0.5}
