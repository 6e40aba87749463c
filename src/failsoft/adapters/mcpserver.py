"""`FailSoft(server)`: typed errors, validation, recovery and metrics for the tools of an `MCPServer`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError, UnexpectedResourceError, UnexpectedToolError
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from failsoft.adapters.adopted import AdoptedTools, asks_the_client, foreseen, shown
from failsoft.adapters.foreign import Question
from failsoft.adapters.identity import identity_of_this_process
from failsoft.adapters.results import accepted
from failsoft.adapters.server_log import ServerLog
from failsoft.framework.arguments.pydantic_faults import violations_from_pydantic
from failsoft.framework.call.call import Call
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.errors import InvalidParameter
from failsoft.server import telemetry

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
            made=lambda result: result,
            runtime=runtime,
            timeout_s=timeout_s,
            refuse_unknown=refuse_unknown,
        )
        self._server = target
        self._call_tool, self._list_tools = server.call_tool, server.list_tools
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
        return [self.tools.listed(tool, self.tools.adopted(await self._tool(tool.name))) for tool in listed]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Run a tool and return its result, or its failure as a result with `isError`.

        Raises:
            MCPError: -32602 for a tool that does not exist; or what the protocol itself asks a tool to raise.
        """
        adopted = self.tools.adopted(await self._tool(name, arguments))

        async def run(checked: dict[str, Any], call: Call) -> Any:
            try:
                result: Any = await self._call_tool(name, checked, context)
            except (MCPError, ToolError) as raised:
                error = raised
            else:
                is_whole = isinstance(result, types.CallToolResult)
                return accepted(result, adopted.output_schema) if is_whole else Question(result)
            return _raised(error, call)  # out of the handler, whose exception would become the context

        request = None if context is None else context._request_context  # noqa: SLF001 - the property raises without one
        response = await self.tools.answer(adopted.operation, arguments, request, run)
        return self.tools.sent(response)  # type: ignore[no-any-return]  # the SDK's own result

    async def _tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        manager = self._server._tool_manager  # noqa: SLF001 - the public list builds every tool anew
        tool = manager.get_tool(name)
        if tool is None:
            raise self.tools.unknown(name, arguments, manager.list_tools())
        return tool


def _raised(error: MCPError | ToolError, call: Call) -> Question:
    """Return what an exception asks the client.

    Raises:
        ToolError: Any other exception is a failure of the tool, with the text that the SDK shows; none of a crash.
    """
    if isinstance(error, MCPError):
        if asks_the_client(error):
            return Question(error)
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
