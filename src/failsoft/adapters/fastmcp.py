"""`FailSoftMiddleware`: typed errors, validation, recovery and metrics for the tools of a FastMCP 4 server."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError as PydanticValidationError

try:
    from fastmcp.exceptions import DisabledError, FastMCPError, NotFoundError, ValidationError
    from fastmcp.server.dependencies import get_context
    from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
    from fastmcp.tools import Tool
    from fastmcp.tools.base import InputRequiredToolResult, ToolResult
    from fastmcp.tools.function_tool import FunctionTool
except ImportError as error:
    msg = "The adapter needs FastMCP 4: pip install 'failsoft[fastmcp]'; an older server goes behind `failsoft proxy`"
    raise ImportError(msg) from error

from failsoft.adapters.adopted import (
    Adopted,
    AdoptedTools,
    annotated,
    asks_the_client,
    check_below_server,
    foreseen,
    listed_output_schema,
    shown,
    soft_tools,
)
from failsoft.adapters.foreign import ToolQuestion, is_run_of
from failsoft.adapters.identity import identity_of_this_process
from failsoft.adapters.results import accepted
from failsoft.adapters.server_log import ServerLog
from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.arguments.pydantic_faults import violations_from_pydantic
from failsoft.framework.call.call import Call
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.errors import InvalidParameter, UnknownTool
from failsoft.framework.normalize.system_errors import raised_in
from failsoft.framework.soft import SoftOperation, declaration_of

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

    Examples:
        >>> from fastmcp import FastMCP
        >>> server = FastMCP("shop", middleware=[FailSoftMiddleware(timeout_s=10.0)])
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
        self._make = partial(
            AdoptedTools,
            identity=identity_of_this_process(),
            log=_LOG,
            made=ToolResult.from_mcp_result,
            runtime=runtime,
            timeout_s=timeout_s,
            refuse_unknown=refuse_unknown,
        )
        self._tools: AdoptedTools | None = None

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
        listed, tools = await call_next(context), self._adopted_tools(context)
        return [await tools.listed(tool) for tool in listed]

    async def on_call_tool(
        self,
        context: MiddlewareContext[types.CallToolRequestParams],
        call_next: CallNext[types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Run a tool and return its result, or its failure as a result with `isError`.

        Raises:
            MCPError: -32602 for a tool that does not exist; or what the protocol itself asks a tool to raise.
        """
        tools, name = self._adopted_tools(context), context.message.name
        server: Any = context.fastmcp_context.fastmcp  # type: ignore[union-attr]  # calls always have a context
        known = tools.known.get(name)
        adopted = known or await _looked_up(server, tools, name)
        if adopted is None:  # FastMCP may route the call by another name than the listed one
            try:
                return await call_next(context)
            except (DisabledError, NotFoundError) as missing:
                raise tools.unknown(name, context.message.arguments, await server.list_tools()) from missing
        with _LOG.held() as held:
            response = await _answer(adopted, context, call_next, tools)
            if known is not None and response.error is not None and response.error.violations:
                # The declaration may have changed since it was read: looking it up for every call doubles the cost.
                fresh = await _looked_up(server, tools, name)
                if fresh is not None and fresh is not known:
                    response = await _answer(fresh, context, call_next, tools)
        if response.error is not None and isinstance(response.error.exception.__cause__, _NotRouted):
            tools.known.pop(name, None)
            raise tools.unknown(name, context.message.arguments, await server.list_tools())
        return tools.sent(response, held)  # type: ignore[no-any-return]  # FastMCP's own result

    def _adopted_tools(self, context: MiddlewareContext[Any]) -> AdoptedTools:
        """Return the server's tools, made at the first request: only then is the server known."""
        if self._tools is None:
            server: Any = context.fastmcp_context.fastmcp  # type: ignore[union-attr]  # as above
            self._tools = self._make(self._name or server.name)
        return self._tools


async def _looked_up(server: Any, tools: AdoptedTools, name: str) -> Adopted | None:
    tool = await server.get_tool(name)
    return None if tool is None else await tools.adopted_beside(tool)


async def _answer(
    adopted: Adopted, context: MiddlewareContext[Any], call_next: Any, tools: AdoptedTools
) -> ToolResponse[Any]:
    message = context.message
    given = message.arguments or {}

    async def run(checked: dict[str, Any], call: Call) -> Any:
        is_changed = checked != given
        changed = context.copy(message=message.model_copy(update={"arguments": checked})) if is_changed else context
        try:
            result = await call_next(changed)
        except (DisabledError, NotFoundError) as missing:
            raise UnknownTool(name=message.name) from _NotRouted(str(missing))
        except (FastMCPError, MCPError) as raised:
            error = raised
        else:
            is_whole = isinstance(result, ToolResult) and not isinstance(result, InputRequiredToolResult)
            return accepted(result, adopted.output_schema) if is_whole else ToolQuestion(result)
        return _raised(error, call)  # out of the handler, whose exception would become the context

    request = getattr(context.fastmcp_context, "request_context", None)
    return await tools.answer(adopted.operation, given, request, run)


class _SoftFunctionTool(FunctionTool):
    """A tool whose function has `@failsoft.soft`: it answers as behind the middleware, unless that runs it."""

    @property
    def bare_output_schema(self) -> dict[str, Any] | None:
        """The output schema of its successes."""
        return self.output_schema

    def to_mcp_tool(self, **overrides: Any) -> types.Tool:
        """Return the tool as it is listed: its output schema accepts a failure, too."""
        schema = overrides.pop("outputSchema", self.output_schema)  # FastMCP 4.2 gives it, for the client's protocol
        return super().to_mcp_tool(outputSchema=listed_output_schema(schema), **overrides)

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool, and return its failure as a result with `isError`."""
        bare = super().run
        try:
            context = get_context()
        except RuntimeError:  # no server runs it
            return await bare(arguments)
        request: Any = getattr(context, "request_context", None)
        if is_run_of(request):
            return await bare(arguments)
        declaration: Any = declaration_of(self.fn)
        tools = soft_tools(context.fastmcp, declaration, log=_LOG, made=ToolResult.from_mcp_result)
        verifier = declaration.verify_with
        if verifier is not None and await _looked_up(context.fastmcp, tools, verifier) is None:
            tools.lacks_verifier(self.name, verifier, [tool.name for tool in await context.fastmcp.list_tools()])
        adopted = tools.adopted(self)

        async def run(checked: dict[str, Any], call: Call) -> Any:
            try:
                result = await bare(checked)
            except Exception as raised:  # noqa: BLE001 - FastMCP wraps it only outside of the tool
                error = raised
            else:
                is_question = isinstance(result, InputRequiredToolResult)
                return ToolQuestion(result) if is_question else accepted(result, adopted.output_schema)
            if isinstance(error, (FastMCPError, MCPError)):
                return _raised(error, call)
            raise shown(error, "" if context.fastmcp._mask_error_details else str(error), call)  # noqa: SLF001 - a setting that FastMCP shows nowhere

        return tools.sent(await tools.answer(adopted.operation, arguments, request, run))  # type: ignore[no-any-return]  # FastMCP's own result


def soft_tool(declaration: SoftOperation, function: Callable[..., Any], **options: Any) -> FunctionTool:
    """Return the tool made of a function with `@soft`; the options are those of `FunctionTool.from_function`."""
    check_below_server(declaration)
    tool = _SoftFunctionTool.from_function(function, **options)
    tool.annotations = annotated(tool.annotations, declaration)
    return tool


class _NotRouted(Exception):
    """FastMCP knows no such tool, though it lists or has listed one."""


def _raised(error: FastMCPError | MCPError, call: Call) -> ToolQuestion:
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
        return ToolQuestion(raised)
    raise shown(raised, text, call)
