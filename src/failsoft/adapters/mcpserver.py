"""`FailSoft(server)`: typed errors, validation, recovery and metrics for the tools of an `MCPServer`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any

import mcp_types as types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError, UnexpectedResourceError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from failsoft.adapters.adopted import (
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
from failsoft.framework.arguments.pydantic_faults import violations_from_pydantic
from failsoft.framework.call.call import Call
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.errors import InvalidParameter
from failsoft.framework.soft import SoftOperation, declaration_of
from failsoft.server.telemetry import spans

__all__ = ["FailSoft"]

_CRASHES = (UnexpectedToolError, UnexpectedResourceError)
_WRAPPED_AT_MOST = 10
"""How many crashes of tools that call one another are looked through: the causes of exceptions may lead in a circle."""
_FORESEEN = (ToolError, ResourceError)
_LOG = ServerLog("mcp.server.mcpserver.server", foreseen=(*_FORESEEN, MCPError))


class FailSoft:
    """Runs every tool call of an `MCPServer` through failsoft; tools, transports and successes stay as they are.

    Unknown arguments are refused (the SDK drops them), exceptions become typed errors, calls have a time limit, safe
    ones are retried by their annotations, and everything is counted and logged. The text of a `ToolError` is quoted;
    a crash is logged with its traceback where the SDK logs it.

    Args:
        server: The server. Its `call_tool` and `list_tools` are replaced on the instance; `detach` restores them.
        name: The label in metrics, logs and failures; by default the server's name. Two servers that the same lines of
            one program make need two names, or they share their idempotency keys.
        runtime: Settings, metrics, recovery and audit; the process-wide default if left out.
        timeout_s: The limit of each call in seconds; by default `FAILSOFT_DEFAULT_TIMEOUT_S`.
        refuse_unknown: Whether arguments that a tool's schema does not list are refused.

    Examples:
        >>> from mcp.server.mcpserver import MCPServer
        >>> server = MCPServer("shop")
        >>> adapter = FailSoft(server)
    """

    def __init__(
        self,
        server: MCPServer[Any],
        *,
        name: str | None = None,
        runtime: Runtime | None = None,
        timeout_s: float | None = None,
        refuse_unknown: bool = True,
    ) -> None:
        target: Any = server  # its methods are replaced on the instance
        self.tools = AdoptedTools(
            name or server.name,
            identity=identity_of_this_process(),
            log=_LOG,
            made=_unchanged,
            runtime=runtime,
            timeout_s=timeout_s,
            refuse_unknown=refuse_unknown,
        )
        self._server = target
        self._call_tool, self._list_tools = server.call_tool, server.list_tools
        target.call_tool, target.list_tools = self.call_tool, self.list_tools
        self._middleware = list(server.middleware)
        spans.install(self._server, [self.tools.runtime.events])

    def detach(self) -> None:
        """Restore the server's own `call_tool` and `list_tools`."""
        self._server.call_tool, self._server.list_tools = self._call_tool, self._list_tools
        self._server.middleware[:] = self._middleware

    async def list_tools(self) -> list[types.Tool]:
        """Return the server's tools, their output schemas widened to accept a failure."""
        return [await self.tools.listed(tool, await self._tool(tool.name)) for tool in await self._list_tools()]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Run a tool and return its result, or its failure as a result with `isError`.

        Raises:
            MCPError: -32602 for a tool that does not exist; or what the protocol itself asks a tool to raise.
        """
        tool = await self._tool(name, arguments)

        def run(checked: dict[str, Any]) -> Awaitable[Any]:
            return self._call_tool(name, checked, context)

        return await _answered(self.tools, tool, arguments, context, run)  # type: ignore[no-any-return]  # the SDK's own result

    async def _tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        manager = self._server._tool_manager  # noqa: SLF001 - the public list builds every tool anew
        tool = manager.get_tool(name)
        if tool is None:
            raise self.tools.unknown(name, arguments, manager.list_tools())
        return tool


class _SoftTool(Tool):
    """A tool whose function has `@failsoft.soft`: it answers as behind the adapter, unless that runs it."""

    @property
    def bare_output_schema(self) -> dict[str, Any] | None:
        """The output schema of its successes."""
        return self.fn_metadata.output_schema

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        """The output schema as it is listed."""
        return listed_output_schema(self.bare_output_schema)

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:  # noqa: FBT001, FBT002 - the SDK's signature
        """Run the tool, and return its failure as a result with `isError`."""
        bare, server = super().run, context._mcp_server  # noqa: SLF001 - the property raises without one
        if not convert_result or server is None or is_run_of(context._request_context):  # noqa: SLF001 - as above
            return await bare(arguments, context, convert_result)
        declaration: Any = declaration_of(self.fn)
        tools = soft_tools(server, declaration, log=_LOG, made=_unchanged)
        if declaration.verify_with is not None:
            manager = server._tool_manager  # noqa: SLF001 - the public list builds every tool anew
            verifier = manager.get_tool(declaration.verify_with)
            if verifier is None:
                names = [tool.name for tool in manager.list_tools()]
                tools.lacks_verifier(self.name, declaration.verify_with, names)
            else:
                tools.adopted(verifier)
        return await _answered(tools, self, arguments, context, lambda checked: bare(checked, context, convert_result))


def soft_tool(declaration: SoftOperation, function: Callable[..., Any], *args: Any, **options: Any) -> Tool:
    """Return the tool made of a function with `@soft`; the other arguments are those of `Tool.from_function`."""
    check_below_server(declaration)
    tool = _SoftTool.from_function(function, *args, **options)
    tool.annotations = annotated(tool.annotations, declaration)
    return tool


def _unchanged(result: types.CallToolResult) -> types.CallToolResult:
    return result


async def _answered(
    tools: AdoptedTools,
    tool: Any,
    arguments: dict[str, Any],
    context: Context[Any, Any] | None,
    bare: Callable[[dict[str, Any]], Awaitable[Any]],
) -> Any:
    """Return what the client is sent for one call of a tool.

    Args:
        tools: The tools of the server.
        tool: The SDK's tool.
        arguments: As received.
        context: That of the request, if there is one.
        bare: Runs the tool as the SDK does.
    """
    adopted = await tools.adopted_beside(tool)

    async def run(checked: dict[str, Any], call: Call) -> Any:
        try:
            result: Any = await bare(checked)
        except (MCPError, ToolError) as raised:
            error = raised
        else:
            is_whole = isinstance(result, types.CallToolResult)
            return accepted(result, adopted.output_schema) if is_whole else ToolQuestion(result)
        return _raised(error, call)  # out of the handler, whose exception would become the context

    request = None if context is None else context._request_context  # noqa: SLF001 - the property raises without one
    return tools.sent(await tools.answer(adopted.operation, arguments, request, run))


def _raised(error: MCPError | ToolError, call: Call) -> ToolQuestion:
    """Return what an exception asks the client.

    Raises:
        ToolError: Any other exception is a failure of the tool, with the text that the SDK shows; none of a crash.
    """
    if isinstance(error, MCPError):
        if asks_the_client(error):
            return ToolQuestion(error)
        raise shown(error, error.error.message, call)
    raised: BaseException = error
    for _ in range(_WRAPPED_AT_MOST):
        if isinstance(raised, _CRASHES):
            raised = raised.__cause__ or raised
    if raised is not error:
        raise shown(raised, "", call)
    cause = error.__cause__
    if isinstance(cause, ValidationError):
        raise InvalidParameter.from_violations(violations_from_pydantic(cause)) from error
    while isinstance(cause, _FORESEEN) and _adds_to(str(raised), str(cause)):  # a wrapper, which adds the tool's name
        raised, cause = cause, cause.__cause__
    raise foreseen(str(raised), cause) from error


def _adds_to(text: str, end: str) -> bool:
    return len(text) > len(end) and text.endswith(end)
