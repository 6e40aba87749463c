"""`FailSoftMiddleware`: typed errors, validation, recovery and metrics for the tools of a FastMCP 4 server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mcp_types as types
from fastmcp.exceptions import FastMCPError, NotFoundError, ValidationError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext, middleware as dispatching
from fastmcp.tools import Tool
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from pydantic import ValidationError as PydanticValidationError

from failsoft.adapters.foreign import (
    ForeignTool,
    ForeignTools,
    is_protocol_error,
    scope_from,
    unknown_tool,
)
from failsoft.adapters.identity import identity_of_this_process
from failsoft.adapters.results import METADATA_KEY, failure_result, recovery_meta, safe_result, widened
from failsoft.client.answers import error_in, read_answer
from failsoft.client.faults import from_raised
from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.arguments.pydantic_faults import violations_from_pydantic
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.errors import InvalidParameter
from failsoft.server.protocol import telemetry

__all__ = ["FailSoftMiddleware"]

_PHASE = getattr(dispatching, "_dispatch_phase", None)
"""FastMCP's own variable; a version without it gets calls through its chain of hooks."""
_RAISES_WRAPPERS = "fastmcp.server.server"
"""The module whose own `raise ToolError(...) from error` wraps what a tool raised."""


class FailSoftMiddleware(Middleware):
    """Runs every tool call of a FastMCP 4 server through failsoft: `FastMCP(..., middleware=[FailSoftMiddleware()])`.

    Unknown arguments are refused, exceptions become typed errors, calls have a time limit, safe ones are retried by
    their annotations, and everything is counted and logged. A `ToolError` keeps its text; successes are unchanged.
    Add it first, so that it sees what other middleware raises.

    Args:
        name: The label in metrics, logs and failures; by default the server's name. Two servers that the same lines of
            one program make need two names, or they share their idempotency keys.
        runtime: Settings, metrics, recovery and audit; the process-wide default if left out.
        timeout_s: The limit of each call in seconds; by default the tool's own, else `FAILSOFT_DEFAULT_TIMEOUT_S`.
        refuse_unknown: Whether arguments that a tool's schema does not list are refused.
    """

    def __init__(
        self,
        *,
        name: str | None = None,
        runtime: Runtime | None = None,
        timeout_s: float | None = None,
        refuse_unknown: bool = True,
    ) -> None:
        self._name = name
        self._identity = identity_of_this_process()
        self._runtime = runtime
        self._timeout_s = timeout_s
        self._refuse_unknown = refuse_unknown
        self._tools: ForeignTools | None = None
        self._known: dict[str, tuple[tuple[Any, ...], BoundOperation]] = {}

    async def __call__(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """Run the hook of the method; building FastMCP's chain of hooks costs a third of this adapter's time."""
        if type(self) is FailSoftMiddleware and _PHASE is not None:
            if context.method == "tools/call" and _PHASE.get() != "outer":
                return await self.on_call_tool(context, call_next)
            if context.method != "tools/list":
                return await call_next(context)
        return await super().__call__(context, call_next)

    async def on_list_tools(
        self,
        context: MiddlewareContext[types.ListToolsRequest],
        call_next: CallNext[types.ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        """Return the tools, their output schemas widened to accept a failure."""
        listed = await call_next(context)
        toolset = self._toolset(context)
        return [
            tool.model_copy(update={"output_schema": widened(tool.output_schema, self._operation(toolset, tool).wire)})
            for tool in listed
        ]

    async def on_call_tool(
        self,
        context: MiddlewareContext[types.CallToolRequestParams],
        call_next: CallNext[types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Run a tool and return its result, or its failure as a result with `isError`.

        Raises:
            MCPError: -32602 for a tool that does not exist; or what the protocol itself asks a tool to raise.
        """
        toolset = self._toolset(context)
        server: Any = context.fastmcp_context.fastmcp  # type: ignore[union-attr]  # calls always have a context
        message = context.message
        known = self._known.get(message.name)
        operation = known[1] if known is not None else await self._looked_up(server, toolset, message.name)
        if operation is None:
            return await self._without_declaration(context, call_next, server)
        response = await self._answer(operation, context, call_next, toolset)
        if known is not None and response.error is not None and response.error.violations:
            # The declaration may have changed since it was read: looking it up for every call doubles the cost.
            fresh = await self._looked_up(server, toolset, message.name)
            if fresh is not None and fresh is not operation:
                response = await self._answer(fresh, context, call_next, toolset)
        telemetry.describe_call(response)
        if response.error is not None:
            raised = response.error.exception.__cause__
            if isinstance(raised, NotFoundError):
                self._known.pop(message.name, None)
                raise unknown_tool(message.name, await server.list_tools())
            if raised is not None and is_protocol_error(raised):
                raise raised
            return ToolResult.from_mcp_result(failure_result(response))
        result: Any = response.data
        facts = recovery_meta(response)
        if facts is not None and type(result) is ToolResult:
            return result.model_copy(update={"meta": {**(result.meta or {}), METADATA_KEY: facts}})
        return result  # type: ignore[no-any-return]  # FastMCP's own result

    async def _answer(
        self,
        operation: BoundOperation,
        context: MiddlewareContext[Any],
        call_next: Any,
        toolset: ForeignTools,
    ) -> ToolResponse[Any]:
        message = context.message
        given = message.arguments or {}

        async def run(checked: dict[str, Any], _call: Call) -> Any:
            if checked == given:
                return await _run(context, call_next)
            changed = message.model_copy(update={"arguments": checked})
            return await _run(context.copy(message=changed), call_next)

        request = getattr(context.fastmcp_context, "request_context", None)
        return await operation.call(given, scope_from(request, toolset.toolbox, run))

    async def _looked_up(self, server: Any, toolset: ForeignTools, name: str) -> BoundOperation | None:
        tool = await server.get_tool(name)
        return None if tool is None else self._operation(toolset, tool)

    async def _without_declaration(self, context: Any, call_next: Any, server: Any) -> ToolResult:
        """Pass on a call that FastMCP routes by another name than the listed one; refuse it if there is none."""
        try:
            return await call_next(context)  # type: ignore[no-any-return]  # FastMCP's own result
        except NotFoundError as missing:
            raise unknown_tool(context.message.name, await server.list_tools()) from missing

    def _toolset(self, context: MiddlewareContext[Any]) -> ForeignTools:
        """Return the toolset, made at the first request: only then is the server known."""
        if self._tools is None:
            server: Any = context.fastmcp_context.fastmcp  # type: ignore[union-attr]  # as above
            named = self._name or server.name
            self._tools = ForeignTools(named, identity=self._identity, read_result=_of_fastmcp, runtime=self._runtime)
            telemetry.install(server._mcp_server, [self._tools.runtime.events])  # noqa: SLF001 - it has no public way
        return self._tools

    def _operation(self, toolset: ForeignTools, tool: Tool) -> BoundOperation:
        """Return the operation of a tool; bound again when its declaration has changed."""
        facts = (tool.parameters, tool.annotations, tool.timeout)
        known = self._known.get(tool.name)
        if known is None or not _same(known[0], facts):
            known = self._known[tool.name] = (facts, toolset.put(self._declared(tool)))
        return known[1]

    def _declared(self, tool: Tool) -> ForeignTool:
        hints = tool.annotations
        return ForeignTool(
            name=tool.name,
            title=tool.title,
            description=tool.description or "",
            input_schema=tool.parameters,
            annotations={} if hints is None else hints.model_dump(by_alias=True, exclude_none=True),
            timeout_s=self._timeout_s or tool.timeout,
            refuse_unknown=self._refuse_unknown,
        )


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return all(a is b or a == b for a, b in zip(one, other, strict=True))


def _of_fastmcp(result: types.CallToolResult) -> ToolResult:
    return ToolResult(content=result.content, structured_content=result.structured_content, meta=result.meta)


async def _run(context: Any, call_next: Any) -> Any:
    try:
        result = await call_next(context)
    except ValidationError as error:
        cause = error.__cause__
        if isinstance(cause, PydanticValidationError):
            raise InvalidParameter.from_violations(violations_from_pydantic(cause)) from error
        raise from_raised(str(error), cause) from error
    except FastMCPError as error:
        if error.__cause__ is not None and _raised_in(error) == _RAISES_WRAPPERS:
            raise error.__cause__ from None
        raise from_raised(str(error), error.__cause__) from error
    if not isinstance(result, ToolResult) or isinstance(result, InputRequiredToolResult):
        return result
    if result.is_error:
        raise error_in(read_answer(result))
    return safe_result(result)


def _raised_in(error: BaseException) -> str:
    """Return the name of the module whose `raise` this was: the frame at the end of the traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
