# --8<-- [start:tool]
from failsoft import BaseTool, CallContext, operation


class Shop(BaseTool):
    """Takes money through a provider that knows idempotency keys."""

    @operation(timeout=10)
    async def pay(self, amount: int, call: CallContext) -> int:
        """Take an amount, and return the number of the charge."""
        # With a key the provider recognizes a repetition.
        call.idempotent = call.idempotency_key is not None
        return await charge(
            amount, headers={"Idempotency-Key": call.idempotency_key or ""}
        )


# --8<-- [end:tool]

# --8<-- [start:calls]
import asyncio

from failsoft.testing import connected

CHARGES: list[str] = []


async def charge(amount: int, headers: dict[str, str]) -> int:
    """Charge once for each key; the connection breaks after the first charge."""
    assert amount > 0
    key = headers["Idempotency-Key"]
    if not key or key not in CHARGES:
        CHARGES.append(key)
        raise ConnectionResetError
    return CHARGES.index(key) + 1


async def main() -> None:
    async with connected(Shop()) as client:
        for meta in ({"dev.failsoft/idempotency-key": "5f1b9f5e-7a0c-4f0e-9a55"}, None):
            result = await client.call_tool("pay", {"amount": 5}, meta=meta)
            answer = result.structured_content
            assert answer is not None
            if result.is_error:
                failure = answer["error"]
                print(failure["code"], failure["effect"], failure["retry"]["when"])
            else:
                attempts = answer["metadata"]["recovery"]["attempts"]
                print("charge", answer["data"], "after", attempts, "attempts")


asyncio.run(main())
assert len(CHARGES) == 2
# --8<-- [end:calls]
