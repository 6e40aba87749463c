# --8<-- [start:program]
import asyncio

from library import Library
from mcp import Client

from failsoft import mcp_server


async def main() -> None:
    async with Client(mcp_server([Library()], name="library")) as client:
        tools = await client.list_tools()
        print([tool.name for tool in tools.tools])
        result = await client.call_tool("get_book", {"title": "Duna"})
        assert result.is_error
        assert result.structured_content is not None
        print(result.structured_content["error"]["suggestions"])


asyncio.run(main())
# --8<-- [end:program]
