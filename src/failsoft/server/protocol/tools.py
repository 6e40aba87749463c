"""Handlers of `tools/list` and `tools/call` for the SDK's low-level server, for all protocol versions."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.asking import AwaitingAnswer, Question
from failsoft.framework.call import CallScope
from failsoft.framework.call.bound import BoundOperation, Toolbox
from failsoft.framework.call.run import answer_failure
from failsoft.framework.errors import Effect, ToolError, Unavailable
from failsoft.framework.recorders import NullMetrics
from failsoft.framework.safe.author_reports import is_real_cancellation, logger
from failsoft.framework.safe.principals import LOCAL_PRINCIPAL
from failsoft.framework.settings import Settings
from failsoft.framework.state.store import LocalState
from failsoft.framework.text import quoted
from failsoft.framework.threads import on_behalf_of
from failsoft.jobs.toolset import jobs_of
from failsoft.server.lifecycle import ADMITTED, Lifecycle
from failsoft.server.protocol.asking import Asking, Resumed
from failsoft.server.protocol.caller import CallPlaces, counted, principal_of
from failsoft.server.protocol.direct import DirectAnswers
from failsoft.server.protocol.tasks import Tasks, declares_tasks
from failsoft.server.protocol.wire import Progress, call_tool_result, describe_tool, no_such_tool, traced
from failsoft.server.resources import OfferProtocol
from failsoft.server.telemetry import count_lost_alerts, spans

T = TypeVar("T")

_FRESH_MS = 60_000
"""How long a client may use the list without asking again: it changes only with a restart."""
_RETRY_AFTER_S = 5.0
"""The retry delay that a draining server gives, in seconds."""


class ToolProtocol:
    """Handles the protocol's requests for a toolbox.

    Args:
        toolbox: The tools, in the order in which they are listed.
        lifecycle: Knows whether calls are accepted.
        settings: The bounds of results (text and structured content together), and of calls in flight.

    Attributes:
        asks_for_others: Whether servers behind this one may ask its clients.
    """

    asks_for_others = False

    def __init__(self, toolbox: Toolbox, lifecycle: Lifecycle, settings: Settings) -> None:
        self._toolbox = toolbox
        self._lifecycle = lifecycle
        self._settings = settings
        self._max_response_bytes = settings.max_response_bytes
        self._places = CallPlaces(settings)
        count_lost_alerts(toolbox.tools)
        self._jobs = jobs_of(toolbox.tools)
        self._tasks = None if self._jobs is None else Tasks(self._jobs, self.respond)
        state = toolbox.tools[0].runtime.state if toolbox.tools else LocalState()
        self.asking = Asking(state, settings, toolbox, asks_for_others=self.asks_for_others)
        self._schemas = {bound.name: bound.input_schema for bound in toolbox}
        self._stamp: Mapping[str, Any] = {}
        self._offers = OfferProtocol(toolbox.tools, self.respond)
        self._listed = types.ListToolsResult(tools=[describe_tool(bound) for bound in toolbox], ttl_ms=_FRESH_MS)

    def server(self, name: str, *, version: str, instructions: str | None) -> Server[Lifecycle]:
        """Return a low-level SDK server with these handlers."""
        server: Server[Lifecycle] = Server(
            name,
            version=version,
            instructions=instructions,
            lifespan=self._lifecycle.running,
            get_tool_input_schema=self.input_schema,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,  # type: ignore[arg-type]  # the runner accepts a dictionary as well as a model
            **self._offers.handlers(),
        )
        self._stamp = server.server_info_stamp
        self.asking.seal.server_name = name
        if self._tasks is not None:
            self._tasks.install(server)
        server.middleware.append(DirectAnswers(server, self._call_directly))
        spans.install(server, {id(bound.events): bound.events for bound in self._toolbox}.values())
        return server

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return the tool's input schema, or None. Without this the SDK lists all tools for every HTTP call."""
        return self._schemas.get(name)

    async def list_tools(
        self, _ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Return all tools, in a fixed order.

        Raises:
            MCPError: -32602 for a cursor: there is only one page, so no cursor was issued.
        """
        if params is not None and params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: the list of tools has a single page")
        return self._listed

    async def call_tool(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> dict[str, Any]:
        """Run the tool and return the result on the wire, success and failure alike.

        Raises:
            MCPError: -32602 for a tool that does not exist, -32603 for an internal error of this module.
        """
        bound = self._toolbox.find(params.name)
        if bound is None:
            raise self._unknown(params.name, params.arguments or {})
        encode = self._in_form(ctx, bound, self._encoded)
        return await self.respond(ctx, bound, params.arguments or {}, encode, params)

    async def respond(
        self,
        ctx: ServerRequestContext[Any, Any],
        bound: BoundOperation,
        arguments: Mapping[str, Any],
        encode: Callable[[ToolResponse[Any]], T],
        params: types.RequestParams | None = None,
    ) -> T:
        """Run an operation for a request and return its response, encoded for the protocol.

        Raises:
            MCPError: As `encode` raises it, or -32603 for an internal error of this module.
        """
        progress = Progress(ctx.session)
        scope = self._scope(ctx, progress)
        refused = failed = self._refusal(ctx, bound, scope)
        if self._settings.metrics_principals != "off":
            bound = counted(bound, scope.principal, self._settings)
        task = self._lifecycle.begin()
        caller = None if scope.principal == LOCAL_PRINCIPAL else scope.principal
        outer = None if caller is None else on_behalf_of.set(caller)
        try:
            if params is not None and refused is None:
                scope, failed = await self._resumed(scope, params)
            if failed is None:
                jobs = self._jobs if bound.job else None
                calling = bound.call(arguments, scope) if jobs is None else jobs.desk.call(bound, arguments, scope)
                response: ToolResponse[Any] = await calling
            else:
                response = await answer_failure(bound, failed, arguments, scope)
            spans.describe_call(response, bound, scope)
            return traced(encode(response), scope)
        except MCPError:
            raise
        except AwaitingAnswer as asked:
            return await self._asked(asked.question, bound, arguments, scope, encode)
        except BaseException as error:
            cut_off = self._cut_off(error, bound, task)
            if cut_off is None:
                raise
            # Counted already: the call was cancelled while its response was being recorded.
            uncounted = bound.under_name(metrics=NullMetrics(), audit=None)
            return traced(encode(await answer_failure(uncounted, cut_off, arguments, scope, begun=True)), scope)
        finally:
            progress.over = True
            self._lifecycle.end(task)
            if refused is None:
                self._places.leave(scope.principal, scope.left_running)
            if outer is not None:
                on_behalf_of.reset(outer)

    def _refusal(
        self, ctx: ServerRequestContext[Any, Any], bound: BoundOperation, scope: CallScope
    ) -> ToolError | None:
        """Return the error of a call that is paused, finds no place, or comes too late; else take a place for it."""
        if not (self._lifecycle.is_ready or _was_admitted(ctx.request)):
            return _ending()
        if self._lifecycle.paused:
            pause = self._lifecycle.paused.get(f"{bound.tool_name}/{bound.name}")
            if pause is not None:
                return Unavailable(message=f"An operator has paused `{bound.name}`: {quoted(pause.reason)}.")
        return self._places.enter(scope.principal)

    async def _resumed(self, scope: CallScope, params: types.RequestParams) -> tuple[CallScope, ToolError | None]:
        """Return the scope of a call that may come again with an answer, whose state is then spent; or its error."""
        if not isinstance(params, types.CallToolRequestParams):
            return scope, None
        try:
            brought = await self.asking.resumed(params, scope.principal)
            if brought is None:
                return scope, None
            await self.asking.spend(brought, params.name, scope.principal)
        except ToolError as refused:
            return scope, refused
        return self._with(scope, brought), None

    def _with(self, scope: CallScope, brought: Resumed) -> CallScope:
        """Return the scope of a call that comes again with an answer."""
        return dataclasses.replace(scope, ask=brought.ask)

    async def _asked(
        self,
        question: Question,
        bound: BoundOperation,
        arguments: Mapping[str, Any],
        scope: CallScope,
        encode: Callable[[ToolResponse[Any]], T],
    ) -> T:
        """Return the result that asks the person, or the failure of a call whose question cannot be sealed."""
        try:
            result: Any = await self.asking.result(question, bound.name, arguments, scope.principal)
        except ToolError as lost:
            return traced(encode(await answer_failure(bound, lost, arguments, scope)), scope)
        result["_meta"] = {types.SERVER_INFO_META_KEY: dict(self._stamp)}
        return result  # type: ignore[no-any-return]  # only calls of tools ask, whose responses are encoded as this is

    def _cut_off(
        self, error: BaseException, bound: BoundOperation, task: asyncio.Task[Any] | None
    ) -> Unavailable | None:
        """Return the error of a call that the server has ended; None if its caller has cancelled it.

        Raises:
            MCPError: For any other exception: one that escapes is sent to old clients verbatim, or stops the server.
        """
        if not issubclass(type(error), asyncio.CancelledError):
            raise _broken(bound, error) from None
        # A keyed call runs in a task of its own: that one's cancellation is not this one's.
        if is_real_cancellation(error) and not self._lifecycle.was_cut_off(task):
            spans.describe_cancelled_call()
            return None
        return _ending(effect="unknown")

    def _call_directly(
        self, ctx: ServerRequestContext[Any, Any], params: Mapping[str, Any]
    ) -> Awaitable[dict[str, Any]] | None:
        """Answer a call that the SDK would accept, or return None for an unknown tool and odd arguments."""
        bound, arguments = self._toolbox.find(params["name"]), params.get("arguments", {})
        if bound is None or type(arguments) is not dict:
            return None
        encode = self._in_form(ctx, bound, partial(self._on_the_wire, ctx.protocol_version))
        return self.respond(ctx, bound, arguments, encode)

    def _in_form(
        self, ctx: ServerRequestContext[Any, Any], bound: BoundOperation, encode: Callable[[ToolResponse[Any]], Any]
    ) -> Callable[[ToolResponse[Any]], dict[str, Any]]:
        """Return what encodes the response to a call; a job is a task for clients that know tasks."""
        tasks = self._tasks
        if tasks is None or not bound.job or not declares_tasks(ctx):
            return encode

        def as_task(response: ToolResponse[Any]) -> dict[str, Any]:
            task = tasks.begun(response)
            return encode(response) if task is None else task | {"_meta": {types.SERVER_INFO_META_KEY: {**self._stamp}}}

        return as_task

    def _on_the_wire(self, version: str, response: ToolResponse[Any]) -> dict[str, Any]:
        """Return the result that the SDK would make of a response.

        Raises:
            MCPError: -32603 for a content block that the protocol does not know.
        """
        result = call_tool_result(response)
        if response.content:  # the handler's own blocks
            try:
                result = methods.serialize_server_result("tools/call", version, result)
            except ValueError as error:  # ValidationError, too
                logger.opt(exception=error).error("A tool returned a content block that the protocol does not know")
                raise MCPError(code=types.INTERNAL_ERROR, message="Handler returned an invalid result") from None
        if version in MODERN_PROTOCOL_VERSIONS:
            result["_meta"] = {**result.get("_meta", {}), types.SERVER_INFO_META_KEY: dict(self._stamp)}
        else:
            result.pop("resultType", None)
        return result

    def _encoded(self, response: ToolResponse[Any]) -> dict[str, Any]:
        """Return a response as the result of `tools/call`."""
        return call_tool_result(response)

    def _scope(self, ctx: ServerRequestContext[Any, Any], progress: Progress) -> CallScope:
        """Return the scope of a call."""
        return CallScope(**self._known(ctx, progress))

    def _known(self, ctx: ServerRequestContext[Any, Any], progress: Progress) -> dict[str, Any]:
        """Return what the transport's request says of a call, by the names of `CallScope`.

        It has no session: tools that need one take it as an argument, since HTTP runs stateless in several processes.
        """
        return {
            **spans.ids_of(ctx),
            "principal": principal_of(ctx),
            "ask": self.asking.way(ctx) if ctx.method == "tools/call" else None,
            "meta": ctx.meta or {},
            "report_progress": progress,
            "toolbox": self._toolbox,
            "max_response_bytes": self._max_response_bytes,
            "ended_by_server": lambda: _ending() if self._lifecycle.was_cut_off(asyncio.current_task()) else None,
            # Over HTTP, and during shutdown, a cancelled request means that the connection was closed.
            "cancels": lambda: ctx.request is None and self._lifecycle.is_ready,
        }

    def _unknown(self, name: str, arguments: Mapping[str, Any]) -> MCPError:
        return no_such_tool(self._toolbox.unknown(name, arguments))


def _was_admitted(request: Any) -> bool:
    """Return whether an HTTP request arrived while the server was ready."""
    return request is not None and request.scope.get(ADMITTED, False) is True


def _ending(effect: Effect | None = None) -> Unavailable:
    return Unavailable(message="The server is shutting down.", retry_after_seconds=_RETRY_AFTER_S, effect=effect)


def _broken(bound: BoundOperation, error: BaseException) -> MCPError:
    """Return the protocol error for an internal error of this module."""
    logger.opt(exception=error).error("The server failed while it answered a call of '{}'", bound.name)
    return MCPError(code=types.INTERNAL_ERROR, message="Internal server error")
