"""Pass-through of resources, prompts, completion and log levels of the upstreams."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from failsoft.client.faults import fault_from
from failsoft.framework.errors import Timeout, ToolError
from failsoft.proxy.toolset import ProxyTools

_LISTS: dict[str, tuple[str, str]] = {
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("resources", "resourceTemplates"),
    "prompts/list": ("prompts", "prompts"),
}
"""Method -> the capability that offers it, and the key of its items."""
_RESOURCE_REQUESTS: dict[str, type[BaseModel]] = {
    "resources/read": types.ReadResourceRequestParams,
    "resources/subscribe": types.SubscribeRequestParams,
    "resources/unsubscribe": types.UnsubscribeRequestParams,
}
_RESULTS: dict[str, type[BaseModel]] = {
    "resources/list": types.ListResourcesResult,
    "resources/templates/list": types.ListResourceTemplatesResult,
    "resources/read": types.ReadResourceResult,
    "resources/subscribe": types.EmptyResult,
    "resources/unsubscribe": types.EmptyResult,
    "prompts/list": types.ListPromptsResult,
    "prompts/get": types.GetPromptResult,
    "completion/complete": types.CompleteResult,
    "logging/setLevel": types.EmptyResult,
}
"""Method -> its result: the SDK adds the fields that the client's era asks for and the upstream's does not know."""
_PAGES_AT_MOST = 100


class Passing:
    """Registers with a server what its upstreams offer besides tools.

    Lists are those of all upstreams one after the other. Prompts of several upstreams are prefixed as tools are; a
    resource is read from the first upstream that has it.

    Args:
        upstreams: In the order of the configuration.
    """

    def __init__(self, upstreams: Sequence[ProxyTools]) -> None:
        self._upstreams = tuple(upstreams)

    def install(self, server: Server[Any]) -> None:
        """Add the handlers that at least one connected upstream has a use for."""
        for method, (capability, key) in _LISTS.items():
            if self._with(capability):
                server.add_request_handler(method, types.PaginatedRequestParams, self._lister(method, capability, key))
        if self._with("resources"):
            for method, params_type in _RESOURCE_REQUESTS.items():
                if method == "resources/read" or any(
                    getattr(tool.upstream.capabilities.resources, "subscribe", False) for tool in self._upstreams
                ):
                    server.add_request_handler(method, params_type, self._asker(method, "resources"))
        if self._with("prompts"):
            server.add_request_handler("prompts/get", types.GetPromptRequestParams, self._get_prompt)
        if self._with("completions"):
            server.add_request_handler("completion/complete", types.CompleteRequestParams, self._complete)
        if self._with("logging"):
            server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)

    def _with(self, capability: str) -> list[ProxyTools]:
        return [tool for tool in self._upstreams if getattr(tool.upstream.capabilities, capability) is not None]

    def _lister(self, method: str, capability: str, key: str) -> Callable[..., Any]:
        async def handle(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
            if len(self._upstreams) == 1:
                return _modeled(method, await _ask(self._upstreams[0], ctx, method, _plain(params)))
            items: list[Any] = []
            for tool in self._with(capability):
                items += [_prefixed(item, tool, key) for item in await _all_pages(tool, ctx, method, key)]
            return _modeled(method, {key: items})

        return handle

    def _asker(self, method: str, capability: str) -> Callable[..., Any]:
        async def handle(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
            refused: MCPError | None = None
            for tool in self._with(capability):
                try:
                    return _modeled(method, await _ask(tool, ctx, method, _plain(params)))
                except MCPError as error:
                    refused = refused or error
            raise refused or MCPError(code=types.METHOD_NOT_FOUND, message="Method not found")

        return handle

    async def _get_prompt(self, ctx: ServerRequestContext[Any, Any], params: types.GetPromptRequestParams) -> Any:
        tool, name = self._owner(params.name, "prompts")
        return _modeled("prompts/get", await _ask(tool, ctx, "prompts/get", {**_plain(params), "name": name}))

    async def _complete(self, ctx: ServerRequestContext[Any, Any], params: types.CompleteRequestParams) -> Any:
        plain = _plain(params)
        if plain["ref"].get("type") == "ref/prompt":
            tool, name = self._owner(plain["ref"]["name"], "completions")
            plain["ref"]["name"] = name
            return _modeled("completion/complete", await _ask(tool, ctx, "completion/complete", plain))
        return await self._asker("completion/complete", "completions")(ctx, params)

    async def _set_level(self, ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
        for tool in self._with("logging"):
            await _ask(tool, ctx, "logging/setLevel", _plain(params))
        return types.EmptyResult()

    def _owner(self, name: str, capability: str) -> tuple[ProxyTools, str]:
        """Return the upstream that a prefixed name belongs to, and the name that it has there."""
        upstreams = self._with(capability)
        for tool in upstreams:
            if name.startswith(tool.prefix):
                return tool, name.removeprefix(tool.prefix)
        raise MCPError(code=types.INVALID_PARAMS, message="No server of this proxy has that name")


def _modeled(method: str, raw: dict[str, Any]) -> BaseModel | dict[str, Any]:
    """Return a result as the SDK's model; one that asks the client something as it came."""
    if raw.get("resultType", "complete") != "complete":
        return raw
    return _RESULTS[method].model_validate(raw, by_name=False)


async def _ask(tool: ProxyTools, ctx: ServerRequestContext[Any, Any], method: str, params: Any) -> dict[str, Any]:
    """Return the upstream's result as it came, within the time limit of calls.

    Raises:
        MCPError: The upstream's own error; or -32603 with the code of a typed error in `data`.
    """
    limit_s = tool.runtime.settings.default_timeout_s or None
    try:
        with tool.front.calling(ctx.session):
            async with asyncio.timeout(limit_s):
                return await tool.upstream.request(method, params)
    except TimeoutError as error:
        raise refusal(Timeout(message=f"The server '{tool.name}' did not answer in time.")) from error
    except MCPError as error:
        if error.error.code != types.CONNECTION_CLOSED:
            raise
        raise refusal(fault_from(error, server=tool.name, restarts=True)) from error
    except Exception as error:
        raise refusal(fault_from(error, server=tool.name, restarts=True)) from error


def refusal(error: ToolError) -> MCPError:
    """Return the protocol's error for a failure of a request that has no result for failures."""
    data = {"code": error.code, "category": error.category, "message": error.message}
    return MCPError(code=types.INTERNAL_ERROR, message=error.message, data=data)


async def _all_pages(tool: ProxyTools, ctx: ServerRequestContext[Any, Any], method: str, key: str) -> list[Any]:
    items: list[Any] = []
    params: dict[str, Any] = {}
    for _ in range(_PAGES_AT_MOST):
        page = await _ask(tool, ctx, method, params)
        items += page.get(key, [])
        if not page.get("nextCursor"):
            break
        params = {"cursor": page["nextCursor"]}
    return items


def _prefixed(item: Any, tool: ProxyTools, key: str) -> Any:
    return {**item, "name": f"{tool.prefix}{item['name']}"} if key == "prompts" else item


def _plain(params: Any) -> dict[str, Any]:
    if params is None:
        return {}
    tree: dict[str, Any] = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    meta = {name: value for name, value in (tree.pop("_meta", None) or {}).items() if "/" not in name}
    meta.pop("progressToken", None)
    return {**tree, "_meta": meta} if meta else tree
