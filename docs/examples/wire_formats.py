# --8<-- [start:program]
import asyncio
import json

from failsoft import BaseTool, NotFound, Runtime, Settings, operation


class Shop(BaseTool):
    """A shop."""

    @operation(read_only=True)
    async def price(self, item: str) -> float:
        """Return the price of an item."""
        raise NotFound(message=f"There is no item '{item}'.", suggestions=["apple"])


async def main() -> None:
    for wire_format in ("tool_response", "error_response", "problem"):
        shop = Shop(runtime=Runtime(settings=Settings(wire_format=wire_format)))
        response = await shop.price(item="aple")
        print(wire_format, json.dumps(response.to_dict(), indent=2))


asyncio.run(main())
# --8<-- [end:program]
