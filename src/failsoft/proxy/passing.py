"""What the upstreams of a proxy offer besides tools: resources, prompts and other requests, which pass through."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import mcp_types as types
import pydantic_core
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError

from failsoft.client.faults import all_pages, fault_from, is_made_here
from failsoft.framework.errors import BadOutput, ResultTooLarge, Timeout, ToolError
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import printable, printable_lines
from failsoft.proxy.listing import readable
from failsoft.proxy.toolset import ProxyTools, in_its_own_name

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
_LIST_BYTES_AT_MOST = 4_000_000
_NAME_AT_MOST = 2_048
"""Characters of the name of a prompt, or of the address of a resource."""


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

    async def roots_changed(self, _ctx: ServerRequestContext[Any, Any], _params: types.NotificationParams) -> None:
        """Pass on that the folders of the client have changed, which an upstream may ask for."""
        for tool in self._upstreams:
            await tool.upstream.roots_changed()

    def _with(self, capability: str) -> list[ProxyTools]:
        return [tool for tool in self._upstreams if getattr(tool.upstream.capabilities, capability) is not None]

    def _lister(self, method: str, capability: str, key: str) -> Callable[..., Any]:
        async def handle(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
            if len(self._upstreams) == 1:
                tool = self._upstreams[0]
                page = await _ask(tool, ctx, method, _params(params))
                return _modeled(tool, method, {**page, key: _shown(method, key, page.get(key))})
            items: list[Any] = []
            for tool in self._with(capability):
                listed = _shown(method, key, await _all_items(tool, ctx, method, key))
                items += [_prefixed(item, tool, key) for item in listed]
            return _modeled(self._upstreams[0], method, {key: items})

        return handle

    def _asker(self, method: str, capability: str) -> Callable[..., Any]:
        async def handle(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
            refused: MCPError | None = None
            for tool in self._with(capability):
                try:
                    return _modeled(tool, method, await _ask(tool, ctx, method, _params(params)))
                except MCPError as error:
                    refused = refused or error
            raise refused or MCPError(code=types.METHOD_NOT_FOUND, message="Method not found")

        return handle

    async def _get_prompt(self, ctx: ServerRequestContext[Any, Any], params: types.GetPromptRequestParams) -> Any:
        tool, name = self._owner(params.name, "prompts")
        prompt = await _ask(tool, ctx, "prompts/get", {**_params(params), "name": name})
        if isinstance(prompt.get("description"), str):
            prompt["description"] = printable_lines(prompt["description"])
        return _modeled(tool, "prompts/get", prompt)

    async def _complete(self, ctx: ServerRequestContext[Any, Any], params: types.CompleteRequestParams) -> Any:
        sent = _params(params)
        if sent["ref"].get("type") == "ref/prompt":
            tool, name = self._owner(sent["ref"]["name"], "completions")
            sent["ref"]["name"] = name
            return _modeled(tool, "completion/complete", await _ask(tool, ctx, "completion/complete", sent))
        return await self._asker("completion/complete", "completions")(ctx, params)

    async def _set_level(self, ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
        for tool in self._with("logging"):
            await _ask(tool, ctx, "logging/setLevel", _params(params))
        return types.EmptyResult()

    def _owner(self, name: str, capability: str) -> tuple[ProxyTools, str]:
        """Return the upstream that a prefixed name belongs to, and the name that it has there."""
        upstreams = self._with(capability)
        for tool in upstreams:
            if name.startswith(tool.prefix):
                return tool, name.removeprefix(tool.prefix)
        raise MCPError(code=types.INVALID_PARAMS, message="No server of this proxy has that name")


def _modeled(tool: ProxyTools, method: str, raw: dict[str, Any]) -> BaseModel | dict[str, Any]:
    """Return a result as the SDK's model; one that asks the client something as it came, without keys of ours.

    Raises:
        MCPError: It breaks the protocol.
    """
    raw = in_its_own_name(raw)
    if raw.get("resultType", "complete") != "complete":
        return raw
    try:
        return _RESULTS[method].model_validate(raw, by_name=False)
    except ValidationError as error:
        raise refusal(fault_from(error, server=tool.name)) from error


async def _ask(tool: ProxyTools, ctx: ServerRequestContext[Any, Any], method: str, params: Any) -> dict[str, Any]:
    """Return the upstream's result as it came, within the time limit of calls.

    Raises:
        MCPError: The upstream's own error; or -32603 with the code of a typed error in `data`.
    """
    settings = tool.runtime.settings
    try:
        with tool.front.calling(ctx.session):
            async with asyncio.timeout(settings.default_timeout_s or None):
                result = await tool.upstream.request(method, params, is_list=method in _LISTS)
    except TimeoutError as error:
        raise refusal(Timeout(message=f"The server '{tool.name}' did not answer in time.")) from error
    except MCPError as error:
        if not is_made_here(error):
            raise
        raise refusal(fault_from(error, server=tool.name, restarts=True)) from error
    except Exception as error:
        raise refusal(fault_from(error, server=tool.name, restarts=True)) from error
    size, limit = len(pydantic_core.to_json(result)), settings.max_response_bytes
    if size > limit and method not in _LISTS:
        raise refusal(ResultTooLarge(size_bytes=size, limit_bytes=limit))
    return result


def refusal(error: ToolError) -> MCPError:
    """Return the protocol's error for a failure of a request that has no result for failures."""
    data = {"code": error.code, "category": error.category, "message": error.message}
    return MCPError(code=types.INTERNAL_ERROR, message=error.message, data=data)


async def _all_items(tool: ProxyTools, ctx: ServerRequestContext[Any, Any], method: str, key: str) -> list[Any]:
    async def page_at(cursor: str | None) -> dict[str, Any]:
        return await _ask(tool, ctx, method, {} if cursor is None else {"cursor": cursor})

    items: list[Any] = []
    size = 0
    try:
        async for page in all_pages(page_at, server=tool.name, at_most=_PAGES_AT_MOST):
            listed = page.get(key)
            items += listed if isinstance(listed, list) else ()
            size += len(pydantic_core.to_json(listed))
            if size > _LIST_BYTES_AT_MOST:
                logger.bind(upstream=tool.name, method=method, size_bytes=size).warning(
                    "The list of an upstream is too long; its further pages are left out"
                )
                break
    except BadOutput as error:
        raise refusal(error) from error
    return items


def _shown(method: str, key: str, items: Any) -> list[Any]:
    """Return the prompts or resources whose names and addresses hide and reorder nothing, with texts that do not.

    One that breaks the protocol is left out, since it would take the whole list away.
    """
    listed = items if isinstance(items, list) else ()
    return [
        readable(item) for item in listed if isinstance(item, dict) and _is_plain(item) and _fits(method, key, item)
    ]


def _fits(method: str, key: str, item: dict[str, Any]) -> bool:
    try:
        _RESULTS[method].model_validate({key: [item]}, by_name=False)
    except ValidationError:
        return False
    return True


def _is_plain(item: dict[str, Any]) -> bool:
    """Return whether the names by which a client asks for an item are printable and short."""
    names = [name for key in ("name", "uri", "uriTemplate") if isinstance(name := item.get(key), str)]
    return all(len(name) <= _NAME_AT_MOST and printable(name) == name for name in names)


def _prefixed(item: Any, tool: ProxyTools, key: str) -> Any:
    return {**item, "name": f"{tool.prefix}{item['name']}"} if key == "prompts" else item


def _params(params: Any) -> dict[str, Any]:
    """Return the parameters of a request without what belongs to its connection."""
    if params is None:
        return {}
    tree: dict[str, Any] = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    meta = {name: value for name, value in (tree.pop("_meta", None) or {}).items() if "/" not in name}
    meta.pop("progressToken", None)
    return {**tree, "_meta": meta} if meta else tree
