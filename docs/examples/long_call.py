"""A long call that reports progress, watches its time, and can be resumed."""

# --8<-- [start:tool]
import asyncio
from dataclasses import dataclass

from failsoft import BaseTool, CallContext, operation


@dataclass
class Pages:
    read: int
    of: int
    next_page: int | None


class Scanner(BaseTool):
    """Reads scanned books."""

    @operation(read_only=True, timeout=120.0)
    async def read_book(
        self, call: CallContext, first_page: int = 1, pages: int = 300
    ) -> Pages:
        """Read a book; if `next_page` is set, call again with it as `first_page`."""
        for page in range(first_page, pages + 1):
            if (
                call.remaining_s() or 0.0
            ) < 2.0:  # stop in time, and keep what was done
                call.warn("The time was too short for all pages.")
                return Pages(page - first_page, pages, next_page=page)
            await scan()  # the page
            await call.report_progress(page, pages, f"page {page}")
        return Pages(pages - first_page + 1, pages, next_page=None)


async def scan() -> None:
    await asyncio.sleep(0.5)


# --8<-- [end:tool]
# --8<-- [start:calls]
from mcp import Client

from failsoft import mcp_server
from failsoft.testing import InstantClock


async def show(done: float, total: float | None, message: str | None) -> None:
    print(f"{done:g} of {total:g}: {message}")


async def main() -> None:
    async with Client(mcp_server([Scanner()])) as client:
        short = await client.call_tool(
            "read_book", {"pages": 3}, progress_callback=show
        )
        print(short.structured_content["data"])
        long = await client.call_tool("read_book", {"pages": 300})
        print(
            long.structured_content["data"],
            long.structured_content["metadata"]["warnings"],
        )


InstantClock().run(main())  # a clock that jumps: the program does not wait two minutes
# --8<-- [end:calls]
