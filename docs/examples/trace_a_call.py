# --8<-- [start:tool]
from failsoft import BaseTool, CallContext, operation


class Shop(BaseTool):
    """Asks another service for prices."""

    @operation(read_only=True)
    async def price(self, article: str, call: CallContext) -> int:
        """Return the price of an article in cents."""
        return await fetch(article, headers=call.http_headers())


# --8<-- [end:tool]

# --8<-- [start:calls]
import asyncio

from failsoft.testing import connected


async def fetch(article: str, headers: dict[str, str]) -> int:
    """Stand for a request with an HTTP client."""
    assert article == "tea"
    for name, value in headers.items():
        print(f"{name}: {value}")
    return 250


async def main() -> None:
    sent = {
        "x-request-id": "order-4711",
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }
    async with connected(Shop()) as client:
        answer = await client.call_tool("price", {"article": "tea"}, meta=sent)
    assert answer.meta is not None
    print(answer.meta["dev.failsoft/trace"])


asyncio.run(main())
# --8<-- [end:calls]
