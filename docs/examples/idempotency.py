# --8<-- [start:tool]
from failsoft import BaseTool, operation


class Shop(BaseTool):
    """Takes money."""

    payments = 0

    @operation(timeout=10)
    async def pay(self, amount: int) -> int:
        """Take an amount, and return the number of the payment."""
        self.payments += 1
        return self.payments


# --8<-- [end:tool]

# --8<-- [start:client]
import asyncio

from failsoft.testing import connected


async def main() -> None:
    async with connected(Shop()) as client:
        key = {"dev.failsoft/idempotency-key": "5f1b9f5e-7a0c-4f0e-9a55"}
        for amount in (5, 5, 6):
            result = await client.call_tool("pay", {"amount": amount}, meta=key)
            answer = result.structured_content
            assert answer is not None
            if result.is_error:
                print(answer["error"]["code"])
            else:
                print(answer["data"], answer.get("metadata", {}).get("cache_hit"))


asyncio.run(main())
# --8<-- [end:client]

# --8<-- [start:derive]
from failsoft import Idempotency


class Invoices(BaseTool):
    """Pays invoices."""

    payments = 0

    @operation(
        timeout=10,
        recovery=[
            Idempotency(ttl_s=3600, derive=lambda call: call.arguments["invoice"])
        ],
    )
    async def settle(self, invoice: str) -> int:
        """Pay an invoice, once, and return the number of the payment."""
        self.payments += 1
        return self.payments


# --8<-- [end:derive]
