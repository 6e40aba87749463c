# --8<-- [start:stdio]
import asyncio
import sys
from pathlib import Path

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

SHELF = Path(__file__).parent  # the folder of library.py
SERVE = ["-m", "failsoft", "serve", "--app", "library:Library"]


async def over_stdio() -> None:
    server = StdioServerParameters(
        command=sys.executable, args=SERVE, cwd=SHELF, env={"PYTHONPATH": str(SHELF)}
    )
    async with Client(stdio_client(server)) as client:
        result = await client.call_tool("get_book", {"title": "Dune"})
        print(result.is_error, result.structured_content)


# --8<-- [end:stdio]
# --8<-- [start:http]
import httpx2
from mcp.client.streamable_http import streamable_http_client


async def over_http(url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=35) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        result = await client.call_tool("get_book", {"title": "Duna"})
        print(result.is_error, result.structured_content)


# --8<-- [end:http]
import os
import re
import subprocess

TOKEN = "0123456789"  # noqa: S105 - of a server that lives for a second
with subprocess.Popen(  # noqa: S603 - a command of our own
    [sys.executable, *SERVE, "--transport", "http", "--port", "0"],
    cwd=SHELF,
    env={**os.environ, "FAILSOFT_AUTH_TOKEN": TOKEN},
    stderr=subprocess.PIPE,
    text=True,
) as server:
    assert server.stderr is not None
    found = re.search(r"http://\S+/mcp", server.stderr.readline())
    try:
        assert found is not None
        asyncio.run(over_stdio())
        asyncio.run(over_http(found[0], TOKEN))
    finally:
        server.terminate()
        server.stderr.read()
