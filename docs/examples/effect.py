# --8<-- [start:tool]
from typing import Any

from failsoft import NOT_DONE, BaseTool, CallContext, Runtime, operation


class Shop(BaseTool):
    """Takes payments."""

    def __init__(
        self, charges: dict[str, int], *, runtime: Runtime | None = None
    ) -> None:
        super().__init__(runtime=runtime)
        self.charges = charges

    @operation(timeout=10, effects=True)
    async def pay(self, order: str, amount: int, call: CallContext) -> str:
        """Pay an order."""

        async def charge() -> str:  # a request to the provider that takes the money
            self.charges[order] = amount
            return f"charge-{order}"

        async def find() -> Any:  # a request that only looks
            return f"charge-{order}" if order in self.charges else NOT_DONE

        receipt: str = await call.effect("charge", run=charge, probe=find)
        return receipt


# --8<-- [end:tool]

import asyncio

print((asyncio.run(Shop({}).pay(order="a1", amount=5))).data)
