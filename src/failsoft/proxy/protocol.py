"""The MCP server of a proxy: its tools run through the chain, and `Passing` passes other requests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from failsoft.adapters.foreign import ForeignScope
from failsoft.adapters.results import recovery_meta
from failsoft.framework.answer.response import METADATA_KEY, ToolResponse
from failsoft.framework.call import CallScope
from failsoft.framework.call.bound import BoundOperation, Toolbox
from failsoft.framework.call.call import Call
from failsoft.framework.settings import Settings
from failsoft.framework.text import printable_lines
from failsoft.proxy.passing import Passing, refusal
from failsoft.proxy.toolset import ProxyRequest, ProxyTools
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.protocol.asking import Resumed
from failsoft.server.protocol.tools import ToolProtocol
from failsoft.server.protocol.wire import Progress, call_tool_result


class LiveToolbox(Toolbox):
    """A toolbox whose toolsets get and lose operations while it is in use."""

    __slots__ = ()

    def __init__(self, tools: Sequence[ProxyTools]) -> None:
        self.tools = tuple(tools)
        self.refresh()

    def refresh(self) -> None:
        """Take over the operations that the toolsets have now; of two of one name the first counts."""
        found: dict[str, BoundOperation] = {}
        for tool in self.tools:
            for name, bound in tool.operations.items():
                found.setdefault(name, bound)
        self._operations = found


class ProxyProtocol(ToolProtocol):
    """Answers for one or several upstreams.

    Args:
        toolbox: The upstreams' toolsets.
        tools: The same, as what they are.
        lifecycle: Whether calls are taken.
        settings: The bounds of results and of calls in flight.
    """

    asks_for_others = True

    def __init__(
        self, toolbox: LiveToolbox, tools: Sequence[ProxyTools], lifecycle: Lifecycle, settings: Settings
    ) -> None:
        super().__init__(toolbox, lifecycle, settings)
        self._live = toolbox
        self._upstreams = tuple(tools)
        self._passing = Passing(self._upstreams)
        self._server: Server[Lifecycle] | None = None
        self._list = types.ListToolsResult(tools=[])
        for tool in tools:
            tool.on_listed = self._refresh

    def server(self, name: str, *, version: str, instructions: str | None) -> Server[Lifecycle]:
        """Return the SDK server; what else the upstreams offer is added to it once they are connected."""
        self._server = super().server(name, version=version, instructions=instructions)
        self._server.add_notification_handler(
            "notifications/roots/list_changed", types.NotificationParams, self._passing.roots_changed
        )
        return self._server

    def _refresh(self) -> None:
        self._live.refresh()
        if self._server is not None:
            self._passing.install(self._server)
            self._server.instructions = self._instructions() or self._server.instructions
        tools = [shown for tool in self._upstreams for shown in tool.shown.values()]
        self._list = types.ListToolsResult(tools=tools)

    def _instructions(self) -> str:
        """Return what the upstreams tell a model about themselves, each of several under its name."""
        said = {tool.name: printable_lines(text) for tool in self._upstreams if (text := tool.upstream.instructions)}
        return "\n\n".join(text if len(self._upstreams) == 1 else f"{name}:\n{text}" for name, text in said.items())

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return the tool's input schema, or None."""
        bound = self._live.find(name)
        return None if bound is None else bound.input_schema

    def _unknown(self, name: str, arguments: Mapping[str, Any]) -> MCPError:
        """Return UNAVAILABLE for what may be a tool of an upstream that was never reached: hosts keep lists."""
        for tool in self._upstreams:
            if name.startswith(tool.prefix) and not tool.listed and not tool.upstream.is_connected:
                return refusal(tool.upstream.unavailable())
        return super()._unknown(name, arguments)

    async def list_tools(
        self, ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Return the tools of all upstreams, in one page."""
        await super().list_tools(ctx, params)  # refuses a cursor
        for tool in self._upstreams:
            tool.front.seen(ctx.session)
        return self._list

    def _scope(self, ctx: ServerRequestContext[Any, Any], progress: Progress) -> CallScope:
        known = self._known(ctx, progress) | {"max_response_bytes": None}
        meta = known["meta"]
        request = ProxyRequest(
            session=ctx.session,
            meta=meta,
            progress=progress if "progressToken" in meta or "progress_token" in meta else None,
            answers_later=known["ask"] is not None and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS,
        )
        return ForeignScope(**known, run=partial(_run, request))

    def _with(self, scope: CallScope, brought: Resumed) -> CallScope:
        resumed: Any = super()._with(scope, brought)
        resumed.run.args[0].asked = brought.claims["kept"]  # as `_scope` has made it
        return resumed  # type: ignore[no-any-return]  # the same scope

    def _call_directly(self, ctx: ServerRequestContext[Any, Any], params: Mapping[str, Any]) -> None:
        """Leave every call to the SDK, which validates the results of upstreams."""

    def _encoded(self, response: ToolResponse[Any]) -> dict[str, Any]:
        """Return the upstream's own result, or the failure."""
        if response.error is not None:
            return call_tool_result(response)
        raw: Any = response.data
        result: dict[str, Any] = {"resultType": "complete", **raw}
        facts = recovery_meta(response)
        if facts is not None:
            result["_meta"] = {**(result.get("_meta") or {}), METADATA_KEY: facts}
        return result


async def _run(request: ProxyRequest, arguments: dict[str, Any], call: Call) -> Any:
    tool: ProxyTools = call.toolset
    return await tool.run(call.operation, arguments, call, request)
