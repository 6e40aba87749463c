# --8<-- [start:program]
import asyncio

from library import Library


def disk_full(title: str) -> None:
    raise OSError(28, "No space left on device", title)


async def main() -> None:
    response = await Library().execute_with_error_handling(
        "get_book", {"title": "Dune"}, disk_full
    )
    assert response.error is not None
    print(response.error.code, response.error.category, response.error.retry.when)


asyncio.run(main())
# --8<-- [end:program]
