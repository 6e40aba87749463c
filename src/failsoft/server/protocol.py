"""The seam to the SDK: `tools/list` and `tools/call` of one low-level server, for both eras of the protocol."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from loguru import logger
from mcp.server import Server, ServerRequestContext
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, principal_components
from mcp.shared.exceptions import MCPError

from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.context import LOCAL_PRINCIPAL, CallContext, CallScope
from failsoft.framework.errors import Unavailable
from failsoft.framework.links.observe import observe
from failsoft.framework.operation import BoundOperation
from failsoft.framework.ports import NullMetrics
from failsoft.framework.response import ToolResponse
from failsoft.framework.text import bounded
from failsoft.framework.toolbox import Toolbox
from failsoft.server import telemetry
from failsoft.server.encoding import call_tool_result
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.progress import Progress

__all__ = ["ToolProtocol"]

_NAME_AT_MOST = 128
_BACK_WITHIN_S = 5.0
"""When a caller may expect the next server, in seconds."""


class ToolProtocol:
    """Answers the protocol's questions about a toolbox.

    Args:
        toolbox: The tools, in the order in which they are listed.
        lifecycle: Whether calls are taken.
        max_response_bytes: Above this a result becomes RESULT_TOO_LARGE, text and structured content together.
    """

    def __init__(self, toolbox: Toolbox, lifecycle: Lifecycle, *, max_response_bytes: int) -> None:
        self._toolbox = toolbox
        self._lifecycle = lifecycle
        self._max_response_bytes = max_response_bytes
        self._schemas = {bound.name: bound.input_schema for bound in toolbox}
        self._listed = types.ListToolsResult(tools=[_described(bound) for bound in toolbox])

    def server(self, name: str, *, version: str, instructions: str | None) -> Server[Lifecycle]:
        """Return a low-level SDK server that asks this object."""
        server: Server[Lifecycle] = Server(
            name,
            version=version,
            instructions=instructions,
            lifespan=self._lifecycle.running,
            get_tool_input_schema=self.input_schema,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,  # type: ignore[arg-type]  # the runner takes a dictionary as well as a model
        )
        telemetry.install(server, {id(bound.events): bound.events for bound in self._toolbox}.values())
        return server

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return the tool's input schema, or None. Without it the SDK runs the whole list for every HTTP call."""
        return self._schemas.get(name)

    async def list_tools(
        self, _ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Return all tools, in the same order for everybody.

        Raises:
            MCPError: -32602 for a cursor: there is one page, so nobody was given one.
        """
        if params is not None and params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: the list of tools has a single page")
        return self._listed

    async def call_tool(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> dict[str, Any]:
        """Run the tool and return the result on the wire, success and failure alike.

        Raises:
            MCPError: -32602 for a tool that does not exist, -32603 if this module itself is broken.
        """
        bound = self._toolbox.find(params.name)
        if bound is None:
            raise self._unknown(params.name)
        arguments = params.arguments or {}
        progress = Progress(ctx.session)
        task = self._lifecycle.begin()
        scope = self._scope(ctx, progress, task)
        try:
            if self._lifecycle.is_ready:
                response = await bound.call(arguments, scope)
            else:
                response = await _refused(CallContext(bound, arguments, scope))
            telemetry.describe_call(response)
            return call_tool_result(response)
        except BaseException as error:
            # An exception that leaves here is shown to old clients as it is, or ends the server: nothing may.
            if not is_real_cancellation(error):
                raise _broken(bound, error) from None
            if not self._lifecycle.was_cut_off(task):
                telemetry.describe_cancelled_call()
                raise
            return call_tool_result(await _refused(CallContext(_uncounted(bound), arguments, scope), begun=True))
        finally:
            progress.over = True
            self._lifecycle.end(task)

    def _scope(
        self, ctx: ServerRequestContext[Any, Any], progress: Progress, task: asyncio.Task[Any] | None
    ) -> CallScope:
        """Return what the transport knows. Only HTTP attaches a request; without one the caller is this machine.

        Sessions are named in the arguments of the tools that have them: a server for several processes keeps none.
        """
        if ctx.request is None:
            principal: str | None = LOCAL_PRINCIPAL
        else:
            token = get_access_token()
            principal = _principal(token) if token is not None else None
        return CallScope(
            request_id=str(ctx.request_id),
            principal=principal,
            meta=ctx.meta or {},
            report_progress=progress,
            toolbox=self._toolbox,
            max_response_bytes=self._max_response_bytes,
            ended_by_server=lambda: _ending() if self._lifecycle.was_cut_off(task) else None,
        )

    def _unknown(self, name: str) -> MCPError:
        closest = self._toolbox.closest(name)
        shown = bounded(name, _NAME_AT_MOST)
        hint = f"; did you mean '{closest}'?" if closest else ""
        logger.bind(code="UNKNOWN_TOOL", operation=shown).warning("A tool that does not exist was called")
        return MCPError(
            code=types.INVALID_PARAMS,
            message=f"Unknown tool: '{shown}'{hint}",
            data={"code": "UNKNOWN_TOOL", **({"suggestion": closest} if closest else {})},
        )


def _ending() -> Unavailable:
    return Unavailable(message="The server is shutting down.", retry_after_seconds=_BACK_WITHIN_S)


async def _refused(call: CallContext, *, begun: bool = False) -> ToolResponse[Any]:
    """Return the failure of a call that the end of the server has caught.

    What one that had begun has changed by then, nobody knows.
    """

    async def refuse(call: CallContext) -> Any:
        call.attempt = int(begun)
        raise _ending()

    return await observe(call, refuse)


def _uncounted(bound: BoundOperation[..., Any]) -> BoundOperation[..., Any]:
    """Return the operation for a call that is counted already: it was cut off while its answer was put on record."""
    uncounted = copy.copy(bound)
    uncounted.metrics, uncounted.audit = NullMetrics(), None
    return uncounted


def _broken(bound: BoundOperation[..., Any], error: BaseException) -> MCPError:
    """Return what a caller is told when this module itself is broken."""
    logger.opt(exception=error).error("The server failed while it answered a call of '{}'", bound.name)
    return MCPError(code=types.INTERNAL_ERROR, message="Internal server error")


def _principal(token: AccessToken) -> str:
    """Return one name for whoever holds the token: a subject is unique only with its issuer."""
    client_id, issuer, subject = principal_components(token)
    return " ".join(bounded(part) for part in (issuer, subject or client_id) if part)


def _described(bound: BoundOperation[..., Any]) -> types.Tool:
    return types.Tool(
        name=bound.name,
        title=bound.title or None,
        description=bound.description,
        input_schema=bound.input_schema,
        output_schema=bound.output_schema(),
        annotations=types.ToolAnnotations.model_validate(bound.annotations, by_name=False, by_alias=True),
    )
