"""The MCP server of a proxy: tools run through the chain, everything else is passed through."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from failsoft.adapters.foreign import ForeignScope
from failsoft.adapters.results import METADATA_KEY, recovery_meta
from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.call import CallScope
from failsoft.framework.call.bound import Toolbox
from failsoft.framework.call.call import Call
from failsoft.proxy.pass_through import Passing, refusal
from failsoft.proxy.toolset import ProxyRequest, ProxyTools
from failsoft.server.lifecycle.lifecycle import Lifecycle
from failsoft.server.protocol.encoding import call_tool_result
from failsoft.server.protocol.progress import Progress
from failsoft.server.protocol.tools import ToolProtocol

_MORE = {"input_responses": "inputResponses", "request_state": "requestState"}


class LiveToolbox(Toolbox):
    """A toolbox whose toolsets get and lose operations while it is in use."""

    __slots__ = ()

    def refresh(self) -> None:
        """Take over the operations that the toolsets have now; of two of one name the first counts."""
        self._operations.clear()
        for tool in self.tools:
            for name, bound in tool.operations.items():
                self._operations.setdefault(name, bound)


class ProxyProtocol(ToolProtocol):
    """Answers for one or several upstreams.

    Args:
        toolbox: The upstreams' toolsets.
        tools: The same, as what they are.
        lifecycle: Whether calls are taken.
        max_response_bytes: Above this a failure is cut; successes have the same limit.
    """

    def __init__(
        self, toolbox: LiveToolbox, tools: Sequence[ProxyTools], lifecycle: Lifecycle, *, max_response_bytes: int
    ) -> None:
        super().__init__(toolbox, lifecycle, max_response_bytes=max_response_bytes)
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
        return self._server

    def _refresh(self) -> None:
        self._live.refresh()
        if self._server is not None:
            self._passing.install(self._server)
        tools = [shown for tool in self._upstreams for shown in tool.shown.values()]
        self._list = types.ListToolsResult(tools=tools)

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

    def _scope(
        self,
        ctx: ServerRequestContext[Any, Any],
        params: types.RequestParams | None,
        progress: Progress,
    ) -> CallScope:
        scope = super()._scope(ctx, params, progress)
        more = {wire: value for name, wire in _MORE.items() if (value := getattr(params, name, None)) is not None}
        request = ProxyRequest(
            session=ctx.session,
            meta=scope.meta,
            more={name: _plain(value) for name, value in more.items()},
            progress=progress if "progressToken" in scope.meta or "progress_token" in scope.meta else None,
            is_modern=ctx.protocol_version in MODERN_PROTOCOL_VERSIONS,
        )

        async def run(arguments: dict[str, Any], call: Call) -> Any:
            tool: ProxyTools = call.toolset
            return await tool.run(call.operation, arguments, call, request)

        facts = {field.name: getattr(scope, field.name) for field in dataclasses.fields(CallScope)}
        return ForeignScope(**{**facts, "max_response_bytes": None}, run=run)

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


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    dump = getattr(value, "model_dump", None)
    return value if dump is None else dump(by_alias=True, mode="json", exclude_none=True)
