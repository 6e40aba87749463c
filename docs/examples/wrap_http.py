# --8<-- [start:tool]
import asyncio
import os
from typing import Any

import httpx

from failsoft import BaseTool, CallContext, NotFound, Retry, operation

RETRY = Retry(attempts=3, base_s=0.05)


class Orders(BaseTool):
    """Orders of the shop."""

    async def startup(self) -> None:
        """Open one connection pool for all calls."""
        self.http = httpx.AsyncClient(base_url=os.environ["SHOP_URL"], timeout=5.0)

    async def shutdown(self) -> None:
        """Close it."""
        await self.http.aclose()

    @operation(read_only=True, timeout=10.0, recovery=[RETRY])
    async def get_order(self, number: int) -> dict[str, Any]:
        """Return one order."""
        response = await self.http.get(f"/orders/{number}")
        if response.status_code == httpx.codes.NOT_FOUND:
            raise NotFound(
                message=f"There is no order {number}.",
                next_step={"tool": "list_orders", "arguments": {}},
            )
        return response.raise_for_status().json()

    @operation(read_only=True, timeout=10.0, recovery=[RETRY])
    async def list_orders(self) -> list[int]:
        """Return the numbers of all orders."""
        return (await self.http.get("/orders")).raise_for_status().json()

    @operation(timeout=10.0, effects=True, verify_with="list_orders")
    async def place_order(self, item: str, call: CallContext) -> dict[str, Any]:
        """Order one item."""

        async def order() -> dict[str, Any]:
            response = await self.http.post("/orders", json={"item": item})
            return response.raise_for_status().json()

        return await call.effect("order", run=order)


# --8<-- [end:tool]


# --8<-- [start:calls]
async def main() -> None:
    async with Orders() as orders:
        found = await orders.get_order(number=7)
        print(found.data, "after", found.metadata.recovery.attempts, "attempts")
        for failed in (
            await orders.get_order(number=8),
            await orders.place_order(item="anvil"),
            await orders.place_order(item="bell"),
        ):
            print(
                failed.error.code,
                failed.error.effect,
                failed.error.retry.when,
                failed.error.message,
            )


if __name__ == "__main__":
    from shop_service import running

    with running() as url:
        os.environ["SHOP_URL"] = url
        asyncio.run(main())
# --8<-- [end:calls]
