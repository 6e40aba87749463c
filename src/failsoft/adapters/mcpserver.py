"""`FailSoft(server)`: typed errors, validation, recovery and metrics for the tools of an `MCPServer`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError, UnexpectedResourceError, UnexpectedToolError
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

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
from failsoft.framework.arguments.pydantic_faults import violations_from_pydantic
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.errors import InvalidParameter
from failsoft.server.protocol import telemetry

__all__ = ["FailSoft"]

_CRASHES = (UnexpectedToolError, UnexpectedResourceError)


class FailSoft:
    """Runs every tool call of an `MCPServer` through failsoft; tools, transports and successes stay as they are.

    Unknown arguments are refused (the SDK drops them), exceptions become typed errors, calls have a time limit, safe
    ones are retried by their annotations, and everything is counted and logged. A `ToolError` keeps its text.

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
        named, identity = name or server.name, identity_of_this_process()
        self.tools = ForeignTools(named, identity=identity, read_result=lambda result: result, runtime=runtime)
        self._server = target
        self._timeout_s = timeout_s
        self._refuse_unknown = refuse_unknown
        self._call_tool, self._list_tools = server.call_tool, server.list_tools
        self._known: dict[str, tuple[Any, BoundOperation]] = {}
        target.call_tool, target.list_tools = self.call_tool, self.list_tools
        self._middleware = list(server.middleware)
        telemetry.install(self._server, [self.tools.runtime.events])

    def detach(self) -> None:
        """Restore the server's own `call_tool` and `list_tools`."""
        self._server.call_tool, self._server.list_tools = self._call_tool, self._list_tools
        self._server.middleware[:] = self._middleware

    async def list_tools(self) -> list[types.Tool]:
        """Return the server's tools, their output schemas widened to accept a failure."""
        listed = await self._list_tools()
        wires = [(await self._operation(tool.name)).wire for tool in listed]
        return [
            tool.model_copy(update={"output_schema": widened(tool.output_schema, wire)})
            for tool, wire in zip(listed, wires, strict=True)
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Run a tool and return its result, or its failure as a result with `isError`.

        Raises:
            MCPError: -32602 for a tool that does not exist; or what the protocol itself asks a tool to raise.
        """
        operation = await self._operation(name)

        async def run(checked: dict[str, Any], _call: Call) -> Any:
            return await self._run(name, checked, context)

        request = None if context is None else context._request_context  # noqa: SLF001 - the property raises without one
        response = await operation.call(arguments, scope_from(request, self.tools.toolbox, run))
        telemetry.describe_call(response)
        if response.error is not None:
            raised = response.error.exception.__cause__
            if raised is not None and is_protocol_error(raised):
                raise raised
            return failure_result(response)
        result: Any = response.data
        facts = recovery_meta(response)
        if facts is not None and isinstance(result, types.CallToolResult):
            result = result.model_copy(update={"meta": {**(result.meta or {}), METADATA_KEY: facts}})
        return result  # type: ignore[no-any-return]  # the SDK's own result

    async def _run(self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None) -> Any:
        try:
            result = await self._call_tool(name, arguments, context)
        except _CRASHES as crash:
            raise _crashed(crash) from None
        except ToolError as error:
            raise _reported(error) from error
        if isinstance(result, types.CallToolResult):
            if result.is_error:
                raise error_in(read_answer(result))
            return safe_result(result)
        return result

    async def _operation(self, name: str) -> BoundOperation:
        """Return the operation of a tool, bound when it is first seen, and again when it was replaced."""
        tool = self._server._tool_manager.get_tool(name)  # noqa: SLF001 - the public list builds every tool anew
        if tool is None:
            raise unknown_tool(name, await self._list_tools())
        known = self._known.get(name)
        if known is None or known[0] is not tool:
            known = self._known[name] = (tool, self.tools.put(self._declared(tool)))
        return known[1]

    def _declared(self, tool: Any) -> ForeignTool:
        return ForeignTool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.parameters,
            annotations=_hints(tool.annotations),
            timeout_s=self._timeout_s,
            refuse_unknown=self._refuse_unknown,
        )


def _hints(annotations: types.ToolAnnotations | None) -> Mapping[str, Any]:
    return {} if annotations is None else annotations.model_dump(by_alias=True, exclude_none=True)


def _crashed(error: BaseException) -> BaseException:
    """Return what the tool really raised, below the SDK's wrappers."""
    while isinstance(error, _CRASHES) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _reported(error: ToolError) -> BaseException:
    """Return the typed error for a failure that the author foresaw, or for arguments that pydantic refused."""
    cause = error.__cause__
    if isinstance(cause, ValidationError):
        return InvalidParameter.from_violations(violations_from_pydantic(cause))
    if isinstance(cause, MCPError):
        return cause
    while isinstance(cause, (ToolError, ResourceError)) and isinstance(cause.__cause__, (ToolError, ResourceError)):
        cause = cause.__cause__
    said: BaseException = cause if isinstance(cause, (ToolError, ResourceError)) else error
    return from_raised(str(said), said.__cause__)
