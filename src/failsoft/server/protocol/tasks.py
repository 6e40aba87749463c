"""The protocol's tasks extension (`io.modelcontextprotocol/tasks`, SEP-2663) over jobs, for clients that declare it.

A call that became a job is answered with a task handle, which the client's own code polls, so that the model waits for
its tool as for any other. `tasks/get` and `tasks/cancel` run the operations `get_job` and `cancel_job`: the same
admission, principal, pauses and metrics. The SDK's own task models are those of an older draft.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import Field

from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.errors import InvalidArgument, JobNotFound
from failsoft.jobs.answers import response_from
from failsoft.jobs.desk import Handle
from failsoft.jobs.record import Job, JobState
from failsoft.jobs.toolset import Jobs
from failsoft.server.protocol.wire import call_tool_result
from failsoft.server.resources import Respond

_Context = ServerRequestContext[Any, Any]

TASKS = "io.modelcontextprotocol/tasks"
"""The identifier of the extension."""
_POLL_RATIO = 0.1
"""The interval of polls that is advised, as a part of the age of the task: a result is seen that much later."""
_POLL_AT_LEAST_MS, _POLL_AT_MOST_MS = 500, 30_000


class TaskParams(types.RequestParams):
    """Parameters of `tasks/get` and `tasks/cancel`."""

    task_id: str = Field(min_length=1)


class UpdateTaskParams(TaskParams):
    """Parameters of `tasks/update`: the answers to the questions of a task, by their keys."""

    input_responses: dict[str, Any]


class TaskState(types.Result):
    """A task as `tasks/get` returns it. Its `result` is what the call itself would have returned.

    Times are in ISO 8601. `ttl_ms` counts from the creation, and grows while the task runs.
    """

    result_type: Literal["complete", "task"] = "complete"
    task_id: str
    status: JobState
    status_message: str | None = None
    created_at: str
    last_updated_at: str
    ttl_ms: int
    poll_interval_ms: int | None = None
    result: dict[str, Any] | None = None


def declares_tasks(ctx: _Context) -> bool:
    """Return whether the client of this request says, in it, that it knows task handles."""
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return False
    declared: Any = ctx.meta and ctx.meta.get(types.CLIENT_CAPABILITIES_META_KEY)
    extensions = declared.get("extensions") if isinstance(declared, Mapping) else None
    return isinstance(extensions, Mapping) and isinstance(extensions.get(TASKS), Mapping)


class Tasks(Extension):
    """Serves `tasks/get`, `tasks/update` and `tasks/cancel`, and makes task handles of those of jobs.

    Args:
        jobs: The toolset that follows jobs.
        respond: Runs its operations.
    """

    identifier = TASKS

    def __init__(self, jobs: Jobs, respond: Respond) -> None:
        self._jobs = jobs
        self._respond = respond

    def methods(self) -> Sequence[MethodBinding]:
        """Return the three methods."""
        return (
            MethodBinding("tasks/get", TaskParams, self.get),
            MethodBinding("tasks/update", UpdateTaskParams, self.update),
            MethodBinding("tasks/cancel", TaskParams, self.cancel),
        )

    def install(self, server: Server[Any]) -> None:
        """Serve the methods at a low-level server, which then declares the extension."""
        for binding in self.methods():
            server.add_request_handler(binding.method, binding.params_type, binding.handler)
        server.extensions[self.identifier] = self.settings()

    def begun(self, response: ToolResponse[Any]) -> dict[str, Any] | None:
        """Return the result of a call that became a job; None if the call has ended."""
        if not isinstance(response.data, Handle):
            return None
        return self._task(response.data.job, "task").model_dump(mode="json", by_alias=True, exclude_none=True)

    async def get(self, ctx: _Context, params: TaskParams) -> TaskState:
        """Return the state of a task, once it has ended with the result of its call. Errors: see `_run`."""
        await self._run(ctx, "get_job", params)
        job = await self._jobs.desk.book.read(params.task_id)
        if job is None:  # it has expired just now
            raise _unknown()
        task = self._task(job, "complete")
        answer = await self._jobs.desk.engine.result(job.id) if job.has_ended else None
        if answer is None:
            return task
        # A call that failed has a result, too: `failed` is for errors of the protocol.
        return task.model_copy(update={"status": JobState.COMPLETED, "result": call_tool_result(response_from(answer))})

    async def update(self, ctx: _Context, params: UpdateTaskParams) -> types.EmptyResult:
        """Acknowledge answers; the questions of a task are not put through it, so none is open. Errors: see `_run`."""
        await self._run(ctx, "get_job", params)
        return types.EmptyResult()

    async def cancel(self, ctx: _Context, params: TaskParams) -> types.EmptyResult:
        """Ask for the end of a task. Errors: see `_run`."""
        await self._run(ctx, "cancel_job", params)
        return types.EmptyResult()

    async def _run(self, ctx: _Context, operation: str, params: TaskParams) -> None:
        """Run an operation of the jobs for a request.

        Raises:
            MCPError: -32021 if the client does not declare the extension in this request, -32020 if the header
                `Mcp-Name` names another task, -32602 for a task that is unknown, expired or another caller's, -32603
                if the job cannot be read or cancelled now.
        """
        if not declares_tasks(ctx):
            raise _undeclared()
        sent = None if ctx.request is None else ctx.request.headers.get(MCP_NAME_HEADER)
        if sent is not None and decode_header_value(sent) != params.task_id:  # FastMCP's client sends none
            raise MCPError(types.HEADER_MISMATCH, "The header Mcp-Name names another task than the body")
        bound = self._jobs.operations[operation]
        response = await self._respond(ctx, bound, {"job_id": params.task_id}, _as_it_is)
        if response.error is None:
            return
        error = response.error
        if isinstance(error.exception, JobNotFound | InvalidArgument):
            raise _unknown()
        raise MCPError(types.INTERNAL_ERROR, error.message, error.meta())

    def _task(self, job: Job, result_type: Literal["complete", "task"]) -> TaskState:
        begun, changed = datetime.fromisoformat(job.created_at), datetime.fromisoformat(job.changed_at)
        age = max(datetime.now(UTC) - begun, timedelta())
        kept = (changed - begun if job.has_ended else age) + timedelta(seconds=self._jobs.desk.book.keep_s)
        poll_ms = min(max(_ms(age * _POLL_RATIO), _POLL_AT_LEAST_MS), _POLL_AT_MOST_MS)
        return TaskState(
            result_type=result_type,
            task_id=job.id,
            status=JobState.WORKING if job.state == JobState.INPUT_REQUIRED else JobState(job.state),  # see `update`
            status_message=job.status or None,
            created_at=job.created_at,
            last_updated_at=max(job.created_at, job.changed_at),
            ttl_ms=_ms(kept),
            poll_interval_ms=None if job.has_ended else poll_ms,
        )


def _as_it_is(response: ToolResponse[Any]) -> ToolResponse[Any]:
    return response


def _ms(time: timedelta) -> int:
    return time // timedelta(milliseconds=1)


def _unknown() -> MCPError:
    return MCPError(types.INVALID_PARAMS, "There is no task with this id")


def _undeclared() -> MCPError:
    required = types.ClientCapabilities(extensions={TASKS: {}})
    data = types.MissingRequiredClientCapabilityErrorData(required_capabilities=required)
    return MCPError(
        types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        f"Tasks need the client capability {TASKS}; the tool get_job reads the same jobs without it",
        data.model_dump(by_alias=True, mode="json", exclude_none=True),
    )
