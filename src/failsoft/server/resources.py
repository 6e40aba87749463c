"""Resources, prompts and completion over MCP; failures become the typed `data` of protocol errors."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError

from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.arguments.corrected import in_another_form
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.corrections import closest_name, is_same_form
from failsoft.framework.offers import Completion, Prompt, Resource, ResourceList
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.text import bounded

T = TypeVar("T")
_Context = ServerRequestContext[Any, Any]
_VALUES_AT_MOST = 100
"""Completions in one response; the limit of the protocol."""
_CALLERS_FAULT = frozenset({"invalid_argument", "not_found", "precondition_failed", "conflict", "already_exists"})
_SHOWN_AT_MOST = 300


class Respond(Protocol):
    """Runs a bound declaration for a request and encodes its response."""

    def __call__(
        self,
        ctx: _Context,
        bound: BoundOperation,
        arguments: Mapping[str, Any],
        encode: Callable[[ToolResponse[Any]], T],
    ) -> Awaitable[T]:
        """Return the encoded response."""


class OfferProtocol:
    """Handles the protocol's requests about resources and prompts.

    Args:
        tools: The toolsets that are served together.
        respond: Runs a declaration.

    Raises:
        CONFIG_ERROR: Two declarations share a URI or a name, or a completion names no prompt or template.
    """

    def __init__(self, tools: Sequence[BaseTool], respond: Respond) -> None:
        self._respond = respond
        offers = [bound for tool in tools for bound in tool.offers]
        self._resources = {
            bound.declaration.template.text: bound for bound in offers if isinstance(bound.declaration, Resource)
        }
        self._prompts = {bound.name: bound for bound in offers if isinstance(bound.declaration, Prompt)}
        self._completions = {
            (bound.declaration.of, bound.declaration.argument): bound
            for bound in offers
            if isinstance(bound.declaration, Completion)
        }
        _check(offers, self._resources, self._prompts)

    def handlers(self) -> dict[str, Any]:
        """Return the handlers for the SDK's server, only for capabilities that have declarations."""
        handlers: dict[str, Any] = {}
        if self._resources:
            handlers["on_list_resources"] = self.list_resources
            handlers["on_list_resource_templates"] = self.list_templates
            handlers["on_read_resource"] = self.read_resource
        if self._prompts:
            handlers |= {"on_list_prompts": self.list_prompts, "on_get_prompt": self.get_prompt}
        if self._completions:
            handlers["on_completion"] = self.complete
        return handlers

    async def list_resources(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return a page of the resources: those without variables first, then those that templates list."""
        cursor = params.cursor if params is not None else None
        fixed = [bound for bound in self._resources.values() if not _resource(bound).template.names]
        listers = [(bound, lister) for bound in self._resources.values() if (lister := _resource(bound).lister)]
        place, inner = _decoded(cursor, len(listers))
        found = [_described(bound) for bound in fixed] if cursor is None else []
        following: str | None = None
        if listers:
            listed, rest = await self._listed(ctx, *listers[place], inner)
            found += listed
            if rest is not None:
                following = json.dumps([place, rest])
            elif place + 1 < len(listers):
                following = json.dumps([place + 1, None])
        return types.ListResourcesResult(resources=found, next_cursor=following)

    async def list_templates(
        self, _ctx: _Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return all templates."""
        templates = [
            types.ResourceTemplate(
                uri_template=uri,
                name=bound.name,
                title=bound.title,
                description=bound.description or None,
                mime_type=_resource(bound).mime_type,
            )
            for uri, bound in self._resources.items()
            if _resource(bound).template.names
        ]
        return types.ListResourceTemplatesResult(resource_templates=templates)

    async def read_resource(self, ctx: _Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Return the contents of a resource.

        Raises:
            MCPError: There is none, or it cannot be read; `data` is the typed error.
        """
        uri = str(params.uri)
        for bound in self._resources.values():
            values = _resource(bound).template.match(uri)
            if values is not None:

                def encode(response: ToolResponse[Any], bound: BoundOperation = bound) -> Any:
                    return _contents(uri, _resource(bound), response)

                return await self._respond(ctx, bound, values, encode)
        raise _unknown(uri, self._resources)

    async def list_prompts(
        self, _ctx: _Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """Return all prompts."""
        return types.ListPromptsResult(prompts=[_prompt(bound) for bound in self._prompts.values()])

    async def get_prompt(self, ctx: _Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Return the messages of a prompt.

        Raises:
            MCPError: There is none, or its arguments are not valid; `data` is the typed error.
        """
        bound = self._prompts.get(params.name)
        if bound is None:
            raise _unknown(params.name, self._prompts, kind="prompt")
        arguments = _typed(bound, params.arguments or {})
        return await self._respond(ctx, bound, arguments, lambda response: _messages(bound, response))

    async def complete(self, ctx: _Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Return values for an argument, best first; none if no completion is declared for it.

        Raises:
            MCPError: There is no such prompt or template, or the completion failed; `data` is the typed error.
        """
        of = params.ref.name if isinstance(params.ref, types.PromptReference) else params.ref.uri
        known = self._prompts if isinstance(params.ref, types.PromptReference) else self._resources
        if of not in known:
            raise _unknown(of, known, kind="prompt" if known is self._prompts else "resource template")
        bound = self._completions.get((of, params.argument.name))
        if bound is None:
            return types.CompleteResult(completion=types.Completion(values=[]))
        arguments: dict[str, Any] = {"value": params.argument.value}
        if "arguments" in bound.input_schema.get("properties", {}):
            arguments["arguments"] = dict((params.context.arguments if params.context else None) or {})
        return await self._respond(ctx, bound, arguments, _completed)

    async def _listed(
        self, ctx: _Context, bound: BoundOperation, lister: ResourceList, cursor: str | None
    ) -> tuple[list[types.Resource], str | None]:
        listing = bound.tool.bound(lister)
        takes_cursor = "cursor" in listing.input_schema.get("properties", {})
        arguments = {"cursor": cursor} if takes_cursor and cursor is not None else {}
        return await self._respond(ctx, listing, arguments, lambda response: _page(bound, response))


def _check(offers: Sequence[BoundOperation], resources: Mapping[str, Any], prompts: Mapping[str, Any]) -> None:
    taken: set[tuple[str, str]] = set()
    for bound in offers:
        match bound.declaration:
            case Resource() as item:
                key = ("the resource", item.template.text)
            case Prompt():
                key = ("the prompt", bound.name)
            case Completion() as item:
                key = (f"the completion of '{item.argument}'", item.of)
                if item.of not in resources and item.of not in prompts:
                    issue = f"'{bound.name}' completes an argument of '{item.of}', neither a prompt nor a resource"
                    raise ConfigurationError(issue=issue)
            case _:
                continue
        if key in taken:
            raise ConfigurationError(issue=f"{key[0]} '{key[1]}' is declared twice", resolution="rename one of them")
        taken.add(key)


def _resource(bound: BoundOperation) -> Resource:
    declaration: Any = bound.declaration
    return declaration  # type: ignore[no-any-return]  # filled with resources only


def _described(bound: BoundOperation) -> types.Resource:
    return types.Resource(
        uri=_resource(bound).template.text,
        name=bound.name,
        title=bound.title,
        description=bound.description or None,
        mime_type=_resource(bound).mime_type,
    )


def _prompt(bound: BoundOperation) -> types.Prompt:
    required = bound.input_schema.get("required", ())
    arguments = [
        types.PromptArgument(name=name, description=schema.get("description"), required=name in required)
        for name, schema in bound.input_schema.get("properties", {}).items()
    ]
    return types.Prompt(name=bound.name, title=bound.title, description=bound.description or None, arguments=arguments)


def _typed(bound: BoundOperation, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Return a prompt's arguments, which the protocol sends as strings, in the JSON types of its parameters."""
    typed: dict[str, Any] = dict(arguments)
    for name, schema in bound.input_schema.get("properties", {}).items():
        kinds = {schema.get("type"), *(item.get("type") for item in schema.get("anyOf", ()))} - {None}
        if isinstance(typed.get(name), str) and kinds and "string" not in kinds:
            value = in_another_form(typed[name], frozenset(map(str, kinds)))
            typed[name] = value if is_same_form(typed[name], value) else typed[name]
    return typed


def _data(response: ToolResponse[Any]) -> Any:
    """Return the data of a success.

    Raises:
        MCPError: It is a failure: -32602 if the caller can correct it, else -32603; `data` is the typed error.
    """
    if response.error is None:
        return json_safe(response.data)
    wire = response.encode().structured
    code = types.INVALID_PARAMS if response.error.category in _CALLERS_FAULT else types.INTERNAL_ERROR
    inner = wire.get("error")
    raise MCPError(code=code, message=response.error.message, data=inner if isinstance(inner, dict) else wire)


def _contents(uri: str, declaration: Resource, response: ToolResponse[Any]) -> types.ReadResourceResult:
    data = _data(response)
    is_several = isinstance(data, list) and bool(data) and all(_is_content(item) for item in data)
    items = data if is_several else [data]
    receipt = response.metadata.recovery
    meta: dict[str, Any] | None = None if receipt is None else {"dev.failsoft/recovery": receipt.to_dict()}
    contents = [_content(uri, declaration.mime_type, item) for item in items]
    return types.ReadResourceResult.model_validate({"contents": contents, "_meta": meta})


def _is_content(item: Any) -> bool:
    return isinstance(item, dict) and bool(item.keys() & {"text", "blob"})


def _content(uri: str, mime_type: str | None, item: Any) -> dict[str, Any]:
    if isinstance(item, str):
        return {"uri": uri, "mimeType": mime_type or "text/plain", "text": item}
    if not _is_content(item):
        return {"uri": uri, "mimeType": mime_type or "application/json", "text": json.dumps(item, ensure_ascii=False)}
    kind = "blob" if "blob" in item else "text"
    default = "text/plain" if kind == "text" else "application/octet-stream"
    return {"uri": item.get("uri") or uri, "mimeType": item.get("mime_type") or mime_type or default, kind: item[kind]}


def _messages(bound: BoundOperation, response: ToolResponse[Any]) -> types.GetPromptResult:
    data = _data(response)
    items = data if isinstance(data, list) else [data]
    messages = [
        {"role": item.get("role", "user"), "content": _block(item.get("content"))}
        if isinstance(item, dict) and "content" in item
        else {"role": "user", "content": _block(item)}
        for item in items
    ]
    return types.GetPromptResult.model_validate({"description": bound.description or None, "messages": messages})


def _block(content: Any) -> dict[str, Any]:
    if isinstance(content, dict) and "type" in content:
        return content
    return {"type": "text", "text": content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)}


def _completed(response: ToolResponse[Any]) -> types.CompleteResult:
    values = [str(value) for value in _data(response)]
    return types.CompleteResult(
        completion=types.Completion(
            values=values[:_VALUES_AT_MOST], total=len(values), has_more=len(values) > _VALUES_AT_MOST
        )
    )


def _page(bound: BoundOperation, response: ToolResponse[Any]) -> tuple[list[types.Resource], str | None]:
    data = _data(response)
    page = data if isinstance(data, dict) else {"resources": data}
    resources = [
        types.Resource(
            uri=item["uri"],
            name=item["name"],
            title=item.get("title"),
            description=item.get("description"),
            mime_type=item.get("mime_type") or _resource(bound).mime_type,
            size=item.get("size"),
        )
        for item in page["resources"]
    ]
    return resources, page.get("next_cursor")


def _decoded(cursor: str | None, lists: int) -> tuple[int, str | None]:
    """Return the index of the list that a cursor continues, and that list's own cursor.

    Raises:
        MCPError: -32602 for a cursor that this server did not issue.
    """
    if cursor is None:
        return 0, None
    try:
        match json.loads(cursor):
            case [int() as place, str() | None as inner] if 0 <= place < lists:
                return place, inner
    except (ValueError, RecursionError):
        pass  # refused below, like a cursor of another list
    raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: it was not returned by this list")


def _unknown(name: str, known: Mapping[str, Any], *, kind: str = "resource") -> MCPError:
    closest = closest_name(name, known)
    shown = json.dumps(bounded(name, _SHOWN_AT_MOST), ensure_ascii=False)
    hint = f'; did you mean "{closest}"?' if closest else ""
    logger.bind(code="NOT_FOUND", operation=kind).warning("A resource or prompt that does not exist was asked for")
    return MCPError(
        code=types.INVALID_PARAMS,
        message=f"No {kind} {shown}{hint}",
        data={"code": "NOT_FOUND", "category": "not_found", **({"suggestion": closest} if closest else {})},
    )
