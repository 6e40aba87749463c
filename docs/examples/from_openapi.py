# --8<-- [start:tools]
from pathlib import Path

from failsoft.adapters.openapi import OpenAPITools

DOCUMENT = Path(__file__).with_name("shop_api.yaml")


def shop() -> OpenAPITools:
    """Return the tools of the shop; its settings come from the environment."""
    return OpenAPITools(DOCUMENT, name="shop", tags=["orders"])


# --8<-- [end:tools]

# --8<-- [start:calls]
import asyncio
import os

from shop_service import running


async def main() -> None:
    async with shop() as tools:
        for name, arguments in (
            ("get_order", {"number": 7}),
            ("get_order", {"number": 0}),
            ("place_order", {"item": "tea", "wrapping": "ribbon"}),
            ("place_order", {"item": "anvil"}),
            ("place_order", {"item": "bell"}),
        ):
            answer = await tools.execute_with_error_handling(name, arguments)
            if answer.success:
                print(answer.data)
            else:
                print(answer.error.code, answer.error.effect, answer.error.message)


if __name__ == "__main__":
    with running() as url:
        os.environ["FAILSOFT_SHOP_BASE_URL"] = url
        asyncio.run(main())
# --8<-- [end:calls]
