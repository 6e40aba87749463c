"""A shop on FastMCP: good tools, and tools with one defect each. `python fastmcp_shop.py LOG`; LOG lists the writes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from pydantic import Field
from refusals import refusal  # beside this script

LOG = Path(sys.argv[1])
READS, WRITES = {"readOnlyHint": True}, {"readOnlyHint": False, "destructiveHint": False}
DESTROYS = {"readOnlyHint": False, "destructiveHint": True}

ITEMS = {f"item-000{number}": {"name": name} for number, name in enumerate(("tea", "coffee", "cocoa"), 1)}
Shelf = Literal["north", "south", "west"]
Limit = Annotated[int, Field(ge=1, le=50, description="How many at most.")]


def _id(kind: str) -> Any:
    return Field(pattern=f"^{kind}-[0-9]{{4}}$", examples=[f"{kind}-0001"], description=f"Id of the {kind}.")


def _lazy(_tool: str, _schema: Any, _arguments: Any) -> str:
    return "Invalid input."


def _terse(tool: str, schema: Any, arguments: Any) -> str:
    wrong = [
        *(name for name in schema["required"] if name not in arguments),
        *(name for name in arguments if name not in schema["properties"]),
    ]
    wrong += [
        name for name in arguments if refusal(tool, {"properties": schema["properties"]}, {name: arguments[name]})
    ]
    return f"`{wrong[0]}` is not valid. Call `{tool}` again with a valid `{wrong[0]}`."


def _opposite(tool: str, schema: Any, arguments: Any) -> str | None:
    known = schema["properties"]
    for name, value in arguments.items():
        if name not in known and isinstance(value, int):
            return f'There is no parameter "{name[:60]}". Call `{tool}` {{"min_price": {value}}}.'
    return refusal(tool, schema, arguments)


def _clamped(tool: str, schema: Any, arguments: Any) -> str | None:
    if isinstance(arguments.get("limit"), int):
        arguments["limit"] = min(50, max(1, arguments["limit"]))
    return refusal(tool, schema, arguments)


REFUSALS: dict[str, Callable[[str, Any, Any], str | None]] = {
    "find_prices": _lazy,
    "find_sellers": _terse,
    "search_offers": _opposite,
    "search_reviews": _clamped,
}


class Checks(Middleware):
    """Checks arguments against the schema, and says what is wrong as the tool does."""

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        assert context.fastmcp_context is not None
        name, arguments = context.message.name, context.message.arguments or {}
        tool = await context.fastmcp_context.fastmcp.get_tool(name)
        if tool is None:
            known = ", ".join(f"`{one.name}`" for one in await context.fastmcp_context.fastmcp.list_tools())
            raise ToolError(f"There is no tool {name[:60]!r}. Call one of {known}.")
        wrong = refusal(name, tool.parameters, arguments)
        said = REFUSALS.get(name, refusal)(name, tool.parameters, arguments) if wrong else None
        if said:
            unchanged = " Nothing was changed." if tool.tags == {"says effect"} else ""
            raise ToolError(said + unchanged)
        return await call_next(context)


shop = FastMCP("fastmcp-shop", version="1.0.0", middleware=[Checks()])


@shop.tool(annotations=READS)
def list_shelves() -> dict[str, Any]:
    """List the shelves."""
    return {"shelves": ["north", "south", "west"]}


@shop.tool(annotations=READS)
def list_items() -> dict[str, Any]:
    """List the items with their ids."""
    return {"items": [{"item_id": one, **item} for one, item in ITEMS.items()]}


@shop.tool(annotations=READS)
def find_items(shelf: Shelf, limit: Limit = 10) -> dict[str, Any]:
    """Find the items of a shelf."""
    return {"shelf": shelf, "items": list(ITEMS)[:limit]}


@shop.tool(annotations=READS)
def get_item(item_id: Annotated[str, _id("item")]) -> dict[str, Any]:
    """Return an item by its id, as `list_items` lists them."""
    if item_id not in ITEMS:
        raise ToolError(f'There is no item "{item_id}". Call `list_items` {{}} for all ids.')
    return ITEMS[item_id]


@shop.tool(annotations=READS)
def read_page(title: Literal["Errors", "Servers"]) -> str:
    """Return a page of the manual."""
    if title == "Errors":
        return (
            'Error: what you may see.\n\nTraceback (most recent call last):\n  File "/usr/lib/tea.py", line 3, in brew'
        )
    return "Failed calls? The kettle listens on http://192.168.0.20:8080; its settings are in /etc/kettle/kettle.conf."


@shop.tool(annotations=READS)
def count_errors(shelf: Shelf) -> dict[str, Any]:
    """Count the failed deliveries of a shelf."""
    return {"shelf": shelf, "error": 0, "errors": [], "failed": 0}


@shop.tool(annotations=READS)
def tell_time(zone: Literal["UTC", "local"] = "UTC") -> dict[str, Any]:
    """Tell the time."""
    return {"zone": zone, "nanoseconds": time.time_ns()}


@shop.tool(annotations=READS)
async def report(month: Annotated[int, Field(ge=1, le=12)]) -> dict[str, Any]:
    """Report a month, which takes a while."""
    await anyio.sleep(0.2)
    return {"month": month, "sold": 3}


@shop.tool(annotations=READS)
def find_prices(shelf: Shelf, limit: Limit = 10) -> dict[str, Any]:
    """Find the prices of a shelf."""
    return {"shelf": shelf, "prices": [3, 4, 5][:limit]}


@shop.tool(annotations=READS)
def find_sellers(region: Literal["inland", "overseas"], limit: Limit = 10) -> dict[str, Any]:
    """Find the sellers of a region."""
    return {"region": region, "sellers": ["Ada", "Bo"][:limit]}


@shop.tool(annotations=READS)
def list_orders() -> dict[str, Any]:
    """List the orders with their ids."""
    return {"orders": [{"order_id": "order-0001"}]}


@shop.tool(annotations=READS)
def get_order(order_id: Annotated[str, _id("order")]) -> dict[str, Any]:
    """Return an order by its id."""
    if order_id != "order-0001":
        raise ToolError("There is no such order.")
    return {"order_id": order_id, "sum": 12}


@shop.tool(annotations=READS)
def get_invoice(invoice_id: Annotated[str, _id("invoice")]) -> dict[str, Any]:
    """Return an invoice by its id."""
    if invoice_id != "invoice-0001":
        raise ToolError(
            f'There is no invoice "{invoice_id}". Call `find_invoices` {{"like": "{invoice_id}"}} for near ones.'
        )
    return {"invoice_id": invoice_id, "sum": 12}


@shop.tool(annotations=READS)
def search_offers(
    max_price: Annotated[int, Field(ge=1, le=100, examples=[40])] = 100,
    min_price: Annotated[int, Field(ge=1, le=100, examples=[5])] = 1,
) -> dict[str, Any]:
    """Search offers between two prices."""
    return {"offers": [price for price in range(1, 101, 7) if min_price <= price <= max_price]}


@shop.tool(annotations=READS)
def search_reviews(shelf: Shelf, limit: Limit = 10) -> dict[str, Any]:
    """Search the reviews of a shelf."""
    return {"reviews": [f"{shelf} {number}" for number in range(limit)]}


@shop.tool(annotations=READS)
def get_stock(item_id: Annotated[str, _id("item")]) -> dict[str, Any]:
    """Return how many of an item there are."""
    if item_id not in ITEMS:
        return {"success": False, "error": f'There is no item "{item_id}". Call `list_items` {{}} for all ids.'}
    return {"item_id": item_id, "count": 3}


@shop.tool(annotations=WRITES, tags={"says effect"})
def add_note(item_id: Annotated[str, _id("item")], note: Annotated[str, Field(max_length=80)]) -> dict[str, Any]:
    """Add a note to an item."""
    _log("add_note")
    if item_id not in ITEMS:
        raise ToolError(f'There is no item "{item_id}". Nothing was changed. Call `list_items` {{}} for all ids.')
    return {"item_id": item_id, "notes": [note]}


@shop.tool(annotations=WRITES)
def set_price(item_id: Annotated[str, _id("item")], price: Annotated[int, Field(ge=1, le=100)]) -> dict[str, Any]:
    """Set the price of an item."""
    _log("set_price")
    if item_id not in ITEMS:
        raise ToolError(f'There is no item "{item_id}". Call `list_items` {{}} for all ids.')
    return {"item_id": item_id, "price": price}


@shop.tool(annotations=DESTROYS)
def delete_item(item_id: Annotated[str, _id("item")]) -> dict[str, Any]:
    """Delete an item."""
    _log("delete_item")
    return {"deleted": item_id}


def _log(tool: str) -> None:
    with LOG.open("a") as log:
        log.write(f"{tool}\n")


if __name__ == "__main__":
    shop.run(show_banner=False)
