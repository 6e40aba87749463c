"""A job that a client waits for as for any other call, through the protocol's tasks."""

# --8<-- [start:tool]
import asyncio

from failsoft import BaseTool, CallContext, operation


class Press(BaseTool):
    """Prints books."""

    @operation(job="required", read_only=True)
    async def print_book(self, title: str, call: CallContext, pages: int = 3) -> str:
        """Print a book."""
        for page in range(1, pages + 1):
            await asyncio.sleep(0.2)  # the page
            await call.report_progress(page, pages, f"page {page}")
        return f"{title}, {pages} pages"


# --8<-- [end:tool]
# --8<-- [start:client]
from typing import Any, Literal

import mcp_types as types
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim

from failsoft import mcp_server


class Task(types.Result):
    """Stands for the result of a call that is still running."""

    result_type: Literal["task"]
    task_id: str


class TaskState(types.Result):
    poll_interval_ms: int = 1_000
    status: str
    result: types.CallToolResult | None = None


class TaskParams(types.RequestParams):
    task_id: str


class GetTask(types.Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"  # the header Mcp-Name


class Tasks(ClientExtension):
    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Task, resolve=self.resolve)]

    async def resolve(self, task: Task, ctx: ClaimContext) -> types.CallToolResult:
        request = GetTask(params=TaskParams(task_id=task.task_id))
        while True:
            state = await ctx.session.send_request(request, TaskState)
            if state.result is not None:
                return state.result
            if state.status == "cancelled":
                text = types.TextContent(text="The call was cancelled.")
                return types.CallToolResult(content=[text], is_error=True)
            await asyncio.sleep(state.poll_interval_ms / 1_000)


async def main() -> None:
    server = mcp_server([Press()])
    async with Client(server, extensions=[Tasks()]) as client:
        waited = await client.call_tool("print_book", {"title": "Emma"})
        print(waited.structured_content["data"])
    async with Client(server) as client:  # knows no tasks: gets the handle of the job
        begun = await client.call_tool("print_book", {"title": "Dune"})
        print(sorted(begun.structured_content["data"]))


asyncio.run(main())
# --8<-- [end:client]
