"""`FailSoftMiddleware`: typed errors, validation, recovery and metrics for the tools of a FastMCP 4 server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import mcp_types as types
from fastmcp.exceptions import DisabledError, FastMCPError, NotFoundError, ValidationError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError as PydanticValidationError

from failsoft.adapters.foreign import (
    ForeignTool,
    ForeignTools,
    Question,
    asks_the_client,
    foreseen,
    raised_in,
    shown,
    unknown_tool,
)
from failsoft.adapters.identity import identity_of_this_process
from failsoft.adapters.results import METADATA_KEY, accepted, failure_result, recovery_meta, widened
from failsoft.adapters.server_log import ServerLog
from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.arguments.pydantic_faults import violations_from_pydantic
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.errors import InvalidParameter, UnknownTool

__all__ = ["FailSoftMiddleware"]

_SERVER = "fastmcp.server.server"
"""The module whose own `raise ToolError(...) from error` wraps what a tool raised; its logger has the same name."""
_LOG = ServerLog(_SERVER, "Error calling tool ", "Invalid arguments for tool ", foreseen=(FastMCPError, MCPError))
_WRAPPED = re.compile(r"""Error calling tool (?:'.*?'|".*?")(?:: (?P<text>.*))?""", re.DOTALL)
"""What FastMCP says of an exception: without its text where `mask_error_details` is set."""


class FailSoftMiddleware(Middleware):
    """Runs every tool call of a FastMCP 4 server through failsoft: `FastMCP(..., middleware=[FailSoftMiddleware()])`.

    Unknown arguments are refused, exceptions become typed errors, calls have a time limit, safe ones are retried by
    their annotations, and everything is counted and logged. Texts that FastMCP shows are quoted; successes are
    unchanged. Add it first, so that it sees what other middleware raises.

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
        """Run the hook of a call at once: FastMCP's chain of hooks costs a quarter of this adapter's time.

        FastMCP also passes requests that failed before they reached a tool, with a mapping as their message.
        """
        if type(self) is FailSoftMiddleware and isinstance(context.message, types.CallToolRequestParams):
            return await self.on_call_tool(context, call_next)
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
        toolset, message = self._toolset(context), context.message
        server: Any = context.fastmcp_context.fastmcp  # type: ignore[union-attr]  # calls always have a context
        known = self._known.get(message.name)
        operation = known[1] if known is not None else await self._looked_up(server, toolset, message.name)
        if operation is None:
            return await self._without_declaration(context, call_next, server)
        with _LOG.held() as held:
            response = await self._answer(operation, context, call_next, toolset)
            if known is not None and response.error is not None and response.error.violations:
                # The declaration may have changed since it was read: looking it up for every call doubles the cost.
                fresh = await self._looked_up(server, toolset, message.name)
                if fresh is not None and fresh is not operation:
                    response = await self._answer(fresh, context, call_next, toolset)
        if response.error is not None:
            if isinstance(response.error.exception.__cause__, _NotRouted):
                self._known.pop(message.name, None)
                raise unknown_tool(message.name, await server.list_tools())
            _LOG.failed(response.error, held)
            return ToolResult.from_mcp_result(failure_result(response))
        result: Any = response.data
        if type(result) is Question:
            result = result.put()
        elif (facts := recovery_meta(response)) is not None:
            result = _with_meta(result, {METADATA_KEY: facts})
        return result  # type: ignore[no-any-return]  # FastMCP's own result

    async def _answer(
        self, operation: BoundOperation, context: MiddlewareContext[Any], call_next: Any, toolset: ForeignTools
    ) -> ToolResponse[Any]:
        message = context.message
        given = message.arguments or {}
        declared = self._known[operation.name][0][3]

        async def run(checked: dict[str, Any], call: Call) -> Any:
            if checked == given:
                return await _run(context, call_next, declared, call)
            changed = message.model_copy(update={"arguments": checked})
            return await _run(context.copy(message=changed), call_next, declared, call)

        request = getattr(context.fastmcp_context, "request_context", None)
        return await toolset.answer(operation, given, request, run)

    async def _looked_up(self, server: Any, toolset: ForeignTools, name: str) -> BoundOperation | None:
        tool = await server.get_tool(name)
        return None if tool is None else self._operation(toolset, tool)

    async def _without_declaration(self, context: Any, call_next: Any, server: Any) -> ToolResult:
        """Pass on a call that FastMCP routes by another name than the listed one; refuse it if there is none."""
        try:
            return await call_next(context)  # type: ignore[no-any-return]  # FastMCP's own result
        except (DisabledError, NotFoundError) as missing:
            raise unknown_tool(context.message.name, await server.list_tools()) from missing

    def _toolset(self, context: MiddlewareContext[Any]) -> ForeignTools:
        """Return the toolset, made at the first request: only then is the server known."""
        if self._tools is None:
            server: Any = context.fastmcp_context.fastmcp  # type: ignore[union-attr]  # as above
            named = self._name or server.name
            self._tools = ForeignTools(named, identity=self._identity, restore=_restored, runtime=self._runtime)
        return self._tools

    def _operation(self, toolset: ForeignTools, tool: Tool) -> BoundOperation:
        """Return the operation of a tool; bound again when its declaration has changed."""
        facts = (tool.parameters, tool.annotations, tool.timeout, tool.output_schema)
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


class _NotRouted(Exception):
    """FastMCP knows no such tool, though it lists or has listed one."""


def _restored(tree: dict[str, Any]) -> ToolResult:
    return ToolResult.from_mcp_result(types.CallToolResult.model_validate(tree, by_alias=True, by_name=False))


def _with_meta(result: ToolResult, facts: dict[str, Any]) -> ToolResult:
    meta = {**(result.meta or {}), **facts}
    sent = result.to_mcp_result()
    if isinstance(sent, types.CallToolResult):
        return ToolResult.from_mcp_result(sent.model_copy(update={"meta": meta}))
    return result.model_copy(update={"meta": meta})


async def _run(context: Any, call_next: Any, declared: dict[str, Any] | None, call: Call) -> Any:
    try:
        result = await call_next(context)
    except (DisabledError, NotFoundError) as missing:
        raise UnknownTool(name=context.message.name) from _NotRouted(str(missing))
    except (FastMCPError, MCPError) as error:
        result = error
    if isinstance(result, (FastMCPError, MCPError)):  # out of the handler, which would be the context of what it raises
        return _raised(result, call)
    if not isinstance(result, ToolResult) or isinstance(result, InputRequiredToolResult):
        return Question(result)
    return accepted(result, declared)


def _raised(error: FastMCPError | MCPError, call: Call) -> Question:
    """Return what an exception asks the client.

    Raises:
        ToolError: Any other exception is a failure of the tool, with the text that FastMCP shows.
    """
    cause = error.__cause__
    raised: BaseException = error
    text = error.error.message if isinstance(error, MCPError) else str(error)
    if isinstance(error, FastMCPError):
        if isinstance(error, ValidationError) and isinstance(cause, PydanticValidationError):
            raise InvalidParameter.from_violations(violations_from_pydantic(cause)) from error
        if cause is None or raised_in(error) != _SERVER:  # its author foresaw it
            raise foreseen(text, cause) from error
        wrapped = _WRAPPED.fullmatch(text)
        raised, text = cause, text if wrapped is None else wrapped["text"] or ""
    if isinstance(raised, MCPError) and asks_the_client(raised):
        return Question(raised)
    raise shown(raised, text, call)
