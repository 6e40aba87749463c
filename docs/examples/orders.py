"""A server as many are written: `failsoft probe` rates how it fails."""

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("orders", version="1.0")
ORDERS = {"ord-1001": "paid", "ord-1002": "sent"}
reads = ToolAnnotations(readOnlyHint=True)


@server.tool(annotations=reads)
def list_orders() -> list[str]:
    """Return the ids of all orders."""
    return list(ORDERS)


@server.tool(annotations=reads)
def get_order(order_id: str) -> str:
    """Return the state of an order, e.g. `ord-1001`."""
    if order_id not in ORDERS:
        return f"Error: {order_id} not found"
    return ORDERS[order_id]


if __name__ == "__main__":
    server.run()
