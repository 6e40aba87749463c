import asyncio
import sys
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport


async def ask(message: str, _type: Any, _params: Any, _context: Any) -> ElicitResult:
    """Answer a question of the server."""
    print("?", message.splitlines()[0])
    return ElicitResult(action="accept", content={"confirm": True})


async def main() -> None:
    serve = ["-m", "failsoft", "serve", "--app", "ask_person:Shelf"]
    for era in ("legacy", "auto"):
        transport = StdioTransport(
            command=sys.executable, args=serve, cwd=str(Path(__file__).parent)
        )
        async with Client(transport, mode=era, elicitation_handler=ask) as client:
            result = await client.call_tool("remove", {"title": "Dune"})
            assert result.structured_content is not None
            print(result.structured_content["data"])


asyncio.run(main())
