"""A program that calls a server and acts on its typed failures."""

# --8<-- [start:shop]
import asyncio

from failsoft import BaseTool, NotFound, RateLimited, operation
from failsoft.client import Client


class Shop(BaseTool):
    """A shop."""

    busy = 1

    @operation(read_only=True)
    async def price(self, item: str) -> float:
        """Return the price of an item."""
        if item != "tea":
            raise NotFound(message=f'No item "{item}".', suggestions=["tea"])
        return 2.5

    @operation(recovery=[])
    async def order(self, item: str) -> str:
        """Order an item."""
        if self.busy:
            self.busy -= 1
            raise RateLimited(retry_after_seconds=0.1, effect="none")
        return f"ordered {item}"


# --8<-- [end:shop]


# --8<-- [start:call]
async def main() -> None:
    async with Client(Shop) as shop:  # or a URL, or a command
        try:
            await shop.call("price", {"item": "coffee"})
        except NotFound as error:
            print(error.code, error.suggestions, error.effect)
        print(await shop.call("order", {"item": "tea"}, key="order-17", timeout_s=10))


asyncio.run(main())
# --8<-- [end:call]
