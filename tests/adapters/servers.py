"""The same shop as an `MCPServer` and as a FastMCP server: tools that work, and tools that fail in every way."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Annotated, Any

import httpx
from mcp_types import CallToolResult, ImageContent, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

import failsoft

READ_ONLY = ToolAnnotations(read_only_hint=True)
IDEMPOTENT = ToolAnnotations(idempotent_hint=True)


class Order(BaseModel):
    """An order."""

    id: int
    items: list[str]
    error: str | None = None


class Shop:
    """What the tools work on; `runs` counts how often each one ran."""

    def __init__(self, tool_error: type[Exception]) -> None:
        self.runs: dict[str, int] = {}
        self.tool_error = tool_error

    def ran(self, name: str) -> int:
        self.runs[name] = self.runs.get(name, 0) + 1
        return self.runs[name]


def add_tools(server: Any, shop: Shop) -> None:
    """Register the tools with a server of either library."""
    _add_working(server.tool)
    _add_failing(server.tool, shop)
    _add_flaky(server.tool, shop)
    _add_breaking(server.tool)


def _add_working(tool: Any) -> None:

    @tool()
    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    @tool()
    async def get_order(order_id: Annotated[int, Field(ge=1)], verbose: bool = False) -> Order:
        """Return an order."""
        return Order(id=order_id, items=["tea", "ünïcode"] if verbose else [])

    @tool()
    def describe() -> str:
        """Return a text."""
        return "A shop.\n\nIt sells tea."

    @tool()
    def picture() -> ImageContent:
        """Return an image."""
        return ImageContent(type="image", data="aGk=", mime_type="image/png")

    @tool()
    def own_result() -> CallToolResult:
        """Return a whole result."""
        return CallToolResult(content=[TextContent(type="text", text="mine")], _meta={"com.example/x": 1})

    @tool()
    def forged_result() -> CallToolResult:
        """Return a result with metadata in the name of this framework, as another server behind a mount may."""
        meta = {"com.example/x": 1, "dev.failsoft/metadata": {"recovery": {"strategy": "retry"}}}
        return CallToolResult(content=[TextContent(type="text", text="theirs")], _meta=meta)


def _add_failing(tool: Any, shop: Shop) -> None:
    @tool()
    def refuses() -> str:
        """Refuse on purpose."""
        raise shop.tool_error("No room for /srv/parcels")

    @tool()
    def refuses_because() -> str:
        """Refuse on purpose, with the reason as the cause."""
        request = httpx.Request("GET", "http://127.0.0.1/")
        response = httpx.Response(429, headers={"retry-after": "7"}, request=request)
        try:
            response.raise_for_status()
        except httpx.HTTPStatusError as error:
            raise shop.tool_error("The price service is busy") from error
        return ""

    @tool()
    def crashes() -> str:
        """Crash with a secret in the text."""
        msg = "password=hunter2 in /etc/shop.conf"
        raise RuntimeError(msg)

    @tool()
    def file_missing() -> str:
        """Fail with an OSError."""
        raise FileNotFoundError(2, "No such file or directory", "/etc/shop.conf")

    @tool()
    def typed() -> str:
        """Fail with an error of failsoft's own."""
        raise failsoft.NotFound(message="No shelf 3.", suggestions=["shelf-2"])

    @tool()
    def says_error() -> CallToolResult:
        """Return an error instead of raising one."""
        return CallToolResult(content=[TextContent(type="text", text="out of stock")], is_error=True)


def _add_flaky(tool: Any, shop: Shop) -> None:
    @tool(annotations=READ_ONLY)
    async def flaky() -> str:
        """Fail twice, then work: safe to repeat."""
        if shop.ran("flaky") < 3:
            raise ConnectionResetError(104, "reset")
        return "worked"

    @tool()
    async def flaky_write() -> str:
        """Fail in a way that may have changed something."""
        shop.ran("flaky_write")
        raise ConnectionResetError(104, "reset")

    @tool(annotations=IDEMPOTENT)
    async def flaky_upsert() -> str:
        """Fail once, then work: idempotent."""
        if shop.ran("flaky_upsert") < 2:
            raise ConnectionResetError(104, "reset")
        return "stored"


def _add_breaking(tool: Any) -> None:
    @tool()
    async def hangs() -> str:
        """Never answer."""
        await asyncio.sleep(3_600)
        return ""

    @tool()
    def blocks() -> str:
        """Block its thread for longer than the limit."""
        time.sleep(0.5)
        return ""

    @tool()
    def exits() -> str:
        """End the program."""
        sys.exit(3)

    @tool()
    async def exits_async() -> str:
        """End the program."""
        raise SystemExit(3)

    @tool()
    async def stray_cancel() -> str:
        """Raise a cancellation that was not asked for."""
        raise asyncio.CancelledError

    @tool()
    async def group() -> str:
        """Raise a group of base exceptions."""
        raise BaseExceptionGroup("several", [KeyboardInterrupt(), ValueError("x")])

    @tool()
    async def generator_exit() -> str:
        """Raise GeneratorExit."""
        raise GeneratorExit

    @tool()
    def surrogate() -> str:
        """Return text that is no Unicode."""
        return "file \udcff name"

    @tool()
    def not_a_number() -> dict[str, float]:
        """Return NaN."""
        return {"ratio": float("nan")}
