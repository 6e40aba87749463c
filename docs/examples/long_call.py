"""A long call as a job: answered with a handle, followed, waited for, and cancelled."""

# --8<-- [start:tool]
import asyncio

from failsoft import BaseTool, CallContext, operation


class Scanner(BaseTool):
    """Reads scanned books."""

    @operation(job=True, read_only=True, timeout=600.0)
    async def read_book(self, call: CallContext, pages: int = 300) -> str:
        """Read the text of a book."""
        for page in range(1, pages + 1):
            await scan()  # the page
            await call.report_progress(page, pages, f"page {page}")
        return f"the text of {pages} pages"


async def scan() -> None:
    await asyncio.sleep(0.5)


# --8<-- [end:tool]
# --8<-- [start:calls]
from typing import Any

from mcp import Client

from failsoft import mcp_server
from failsoft.testing import InstantClock


async def main() -> None:
    async with Client(mcp_server([Scanner()])) as client:

        async def call(tool: str, **arguments: Any) -> Any:
            result = await client.call_tool(tool, arguments)
            return result.structured_content["data"]

        print(await call("read_book", pages=2))
        job = await call("read_book", pages=20)
        print(job["state"], job["next"]["tool"], job["next"]["arguments"]["wait_s"])
        job = await call(**as_call(job["next"]))
        print(
            job["state"], job["progress"]["total"], job["next"]["arguments"]["wait_s"]
        )
        job = await call(**as_call(job["next"]))
        print(job["state"], job["result"])
        other = await call("read_book", pages=900)
        print((await call("cancel_job", job_id=other["job_id"]))["status"])
        print([found["state"] for found in (await call("list_jobs"))["jobs"]])


def as_call(step: dict[str, Any]) -> dict[str, Any]:
    return {"tool": step["tool"], **step["arguments"]}


InstantClock().run(main())  # a clock that jumps: the program does not wait
# --8<-- [end:calls]
