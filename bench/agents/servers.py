"""The same handlers behind three servers: ours, FastMCP with its error middleware, and the SDK's MCPServer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Annotated, Any, Literal

from mcp import Client
from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError
from pydantic import ConfigDict, Field

from agents.bookings import Bookings, BookingTools
from agents.depot import Depot, DepotTools
from agents.world import Item, World
from failsoft import BaseTool, Conflict, DocumentNotFound, NotFound, Reference, Runtime, operation
from failsoft.framework.settings import Settings
from failsoft.server import mcp_server

__all__ = ["CONTENDERS", "FASTMCP", "Answer", "connect"]

Answer = tuple[bool, str, Any]
"""Whether the call failed, the text block, and the structured content."""


class Line(Item):
    """One line of an order; unknown names are refused."""

    model_config = ConfigDict(extra="forbid")


class Shop(BaseTool):
    """The world as a toolset."""

    def __init__(self, world: World, settings: Settings) -> None:
        super().__init__(runtime=Runtime(settings=settings))
        self.world = world

    def known_order(self, order_id: str) -> None:
        """Look an order up."""
        if order_id not in self.world.orders:
            raise NotFound(message="There is no such order.", suggestions=list(self.world.orders))

    def known_path(self, path: str) -> None:
        """Look a document up."""
        if path not in self.world.documents:
            raise DocumentNotFound(path=path, suggestions=list(self.world.documents))

    @operation(read_only=True)
    async def search_documents(
        self, query: str, limit: int = 10, mode: Literal["lexical", "semantic"] = "lexical"
    ) -> list[str]:
        """Search for documents by a part of their path."""
        return self.world.search_documents(query, limit, mode)

    @operation(read_only=True)
    async def get_document(self, path: Annotated[str, Reference(known_path, kind="spelled")]) -> dict[str, str]:
        """Return a document with its hash."""
        return self.world.get_document(path)

    @operation(idempotent=True, destructive=True)
    async def write_document(self, path: str, text: str, expected_sha: str | None = None) -> str:
        """Replace a document's text."""
        try:
            return self.world.write_document(path, text, expected_sha)
        except ValueError:
            step = {"tool": "get_document", "arguments": {"path": path}}
            raise Conflict(
                message="The document has changed since it was read.", next_step=step, effect="none"
            ) from None

    @operation(destructive=False, verify_with="find_orders")
    async def place_order(self, customer: str, items: list[Line], *, express: bool = False) -> str:
        """Place an order."""
        return self.world.place_order(customer, list(items), express=express)

    @operation(read_only=True)
    async def find_orders(self, customer: str) -> list[str]:
        """Return the orders of a customer."""
        return self.world.find_orders(customer)

    @operation(idempotent=True, destructive=True)
    async def cancel_order(self, order_id: Annotated[str, Reference(known_order)]) -> str:
        """Cancel an order."""
        return self.world.cancel_order(order_id)

    @operation(read_only=True)
    async def measure(self, compound: str, amount: Annotated[float, Field(gt=0)]) -> float:
        """Measure an amount in mM."""
        return self.world.measure(compound, amount)

    @operation(destructive=False)
    async def add_customer(self, email: str, age: int = 0) -> str:
        """Add a customer."""
        return self.world.add_customer(email, age)

    @operation(read_only=True)
    async def query(self, sql: str) -> list[Any]:
        """Run an SQL query over the table customers (email, age)."""
        return self.world.query(sql)


def _ours(**given: Any) -> Callable[[Any], Any]:
    tools: dict[type, Callable[..., BaseTool]] = {World: Shop, Bookings: BookingTools, Depot: DepotTools}
    settings = Settings(**given)
    return lambda world: mcp_server(tools[type(world)](world, settings))


def _sdk(world: Any) -> Any:
    server = MCPServer("peer")
    for name in world.names:
        server.add_tool(getattr(world, name), name=name)
    return server


def _fastmcp(world: Any) -> Any:
    from fastmcp import FastMCP  # noqa: PLC0415 - it may be missing
    from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware  # noqa: PLC0415 - the same

    server: Any = FastMCP("peer", middleware=[ErrorHandlingMiddleware()])
    for name in world.names:
        server.tool(getattr(world, name), name=name)
    return server


async def connect(server: Any, stack: AsyncExitStack, *, is_fastmcp: bool) -> Callable[[str, dict[str, Any]], Any]:
    """Return the call of a tool of a server, which returns an `Answer`."""
    if is_fastmcp:
        from fastmcp import Client as FastClient  # noqa: PLC0415 - it may be missing

        client: Any = await stack.enter_async_context(FastClient(server))
        ask = client.call_tool_mcp
    else:
        client = await stack.enter_async_context(Client(server))
        ask = client.call_tool

    async def call(tool: str, arguments: dict[str, Any]) -> Answer:
        try:
            result = await ask(tool, arguments)
        except RuntimeError as error:  # the client refuses a result that its schema does not allow
            return True, str(error), {"message": str(error)}
        except MCPError as error:
            return True, error.error.message, {"message": error.error.message, **(error.error.data or {})}
        text = "\n".join(block.text for block in result.content if block.type == "text")
        return bool(result.is_error), text, result.structured_content

    return call


FASTMCP = "FastMCP 4 + errors"
CONTENDERS: dict[str, Callable[[Any], Any]] = {
    "failsoft, json text": _ours(answer="json"),
    "failsoft, lean text": _ours(),
    "failsoft, structured": _ours(),
    FASTMCP: _fastmcp,
    "MCPServer (SDK)": _sdk,
}
