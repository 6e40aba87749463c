from failsoft import BaseTool, operation

PRICES = {"tea": 3}


class Prices(BaseTool):
    """Prices of a shop."""

    @operation(read_only=True)
    async def get_price(self, item: str) -> int:
        """Return the price of an item."""
        return PRICES[item]
