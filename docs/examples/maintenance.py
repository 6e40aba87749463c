# --8<-- [start:middleware]
import asyncio
from typing import Any

from failsoft import BaseTool, Middleware, Runtime, Unavailable, operation
from failsoft.recovery import Call, Proceed

CLOSED = {"restock"}


async def closing_time(call: Call, proceed: Proceed) -> Any:
    """Refuse what the evening shift may not do; let everything else pass."""
    if call.operation in CLOSED:
        raise Unavailable(
            message="The stock room is closed.", retry_after_seconds=3600.0
        )
    value = await proceed(call)
    call.warn("Evening prices apply.")
    return value


# --8<-- [end:middleware]


# --8<-- [start:runtime]
class Shop(BaseTool):
    """A shop."""

    @operation(read_only=True)
    async def price(self, item: str) -> float:
        """Return the price of an item."""
        return 1.5 if item == "apple" else 9.0

    @operation(idempotent=True)
    async def restock(self, item: str) -> str:
        """Order more of an item."""
        return item


runtime = Runtime(
    middleware=[Middleware(name="closing_time", run=closing_time, after="validate")]
)
shop = Shop(runtime=runtime)
print(shop.describe()["price"][:3])


async def main() -> None:
    priced = await shop.price(item="apple")
    print(priced.data, priced.metadata.warnings)
    refused = await shop.restock(item="apple")
    assert refused.error is not None
    print(refused.error.code, refused.error.effect, refused.error.retry.after_seconds)


asyncio.run(main())
# --8<-- [end:runtime]
