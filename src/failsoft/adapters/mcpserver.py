"""`FailSoft(server)`: typed errors, validation, recovery and metrics for the tools of an `MCPServer`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import mcp_types as types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError, UnexpectedResourceError, UnexpectedToolError
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from failsoft.adapters.foreign import (
    ForeignTool,
    ForeignTools,
    Question,
    asks_the_client,
    foreseen,
    shown,
    unknown_tool,
)
from failsoft.adapters.identity import identity_of_this_process
from failsoft.adapters.results import METADATA_KEY, accepted, failure_result, recovery_meta, widened
from failsoft.adapters.server_log import ServerLog
from failsoft.framework.arguments.pydantic_faults import violations_from_pydantic
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.errors import InvalidParameter
from failsoft.server.protocol import telemetry

__all__ = ["FailSoft"]

_CRASHES = (UnexpectedToolError, UnexpectedResourceError)
_FORESEEN = (ToolError, ResourceError)
_LOG = ServerLog("mcp.server.mcpserver.server", foreseen=(*_FORESEEN, MCPError))
_read_result = partial(types.CallToolResult.model_validate, by_alias=True, by_name=False)


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
        named, identity = name or server.name, identity_of_this_process()
        self.tools = ForeignTools(named, identity=identity, restore=_read_result, runtime=runtime)
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
        return [
            tool.model_copy(
                update={"output_schema": widened(tool.output_schema, (await self._known_tool(tool.name))[1].wire)}
            )
            for tool in await self._list_tools()
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Run a tool and return its result, or its failure as a result with `isError`.

        Raises:
            MCPError: -32602 for a tool that does not exist; or what the protocol itself asks a tool to raise.
        """
        tool, operation = await self._known_tool(name)

        async def run(checked: dict[str, Any], call: Call) -> Any:
            return await self._run(tool, checked, context, call)

        request = None if context is None else context._request_context  # noqa: SLF001 - the property raises without one
        response = await self.tools.answer(operation, arguments, request, run)
        if response.error is not None:
            _LOG.failed(response.error)
            return failure_result(response)
        result: Any = response.data
        if type(result) is Question:
            result = result.put()
        elif (facts := recovery_meta(response)) is not None:
            result = result.model_copy(update={"meta": {**(result.meta or {}), METADATA_KEY: facts}})
        return result  # type: ignore[no-any-return]  # the SDK's own result

    async def _run(self, tool: Any, arguments: dict[str, Any], context: Context[Any, Any] | None, call: Call) -> Any:
        try:
            result: Any = await self._call_tool(tool.name, arguments, context)
        except (MCPError, ToolError) as error:
            result = error
        if isinstance(
            result, (MCPError, ToolError)
        ):  # out of the handler, which would become the context of what it raises
            return _raised(result, call)
        return accepted(result, tool.output_schema) if isinstance(result, types.CallToolResult) else Question(result)

    async def _known_tool(self, name: str) -> tuple[Any, BoundOperation]:
        """Return a tool and its operation, bound when it is first seen, and again when it was replaced."""
        tool = self._server._tool_manager.get_tool(name)  # noqa: SLF001 - the public list builds every tool anew
        if tool is None:
            raise unknown_tool(name, await self._list_tools())
        known = self._known.get(name)
        if known is None or known[0] is not tool:
            known = self._known[name] = (tool, self.tools.put(self._declared(tool)))
        return known

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
    while isinstance(raised, _CRASHES) and raised.__cause__ is not None:
        raised = raised.__cause__
    if raised is not error:
        raise shown(raised, "", call)
    cause = error.__cause__
    if isinstance(cause, ValidationError):
        raise InvalidParameter.from_violations(violations_from_pydantic(cause)) from error
    while isinstance(cause, _FORESEEN) and str(raised).endswith(str(cause)):  # a wrapper, which adds the tool's name
        raised, cause = cause, cause.__cause__
    raise foreseen(str(raised), cause) from error
