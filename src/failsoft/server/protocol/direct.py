"""Innermost middleware of the SDK's server: plain requests for tools, answered without the SDK's work on results."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import pydantic_core
from mcp.server import Server, ServerRequestContext
from mcp_types import methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from failsoft.server.lifecycle import ADMITTED

_CALL, _LIST = "tools/call", "tools/list"
_MEMBERS = {_CALL: frozenset({"name", "arguments", "_meta"}), _LIST: frozenset({"_meta"})}
_ACCEPTED_AT_MOST, _META_AT_MOST = 256, 1_000
"""How much of the metadata that the SDK has accepted is remembered, and the length of one in bytes."""

Answering: TypeAlias = Callable[[ServerRequestContext[Any, Any], Mapping[str, Any]], Awaitable[dict[str, Any]] | None]
"""Returns the result of a call with these parameters, or None if it is not answered directly."""


class DirectAnswers:
    """Innermost middleware of the SDK's server: answers plain requests for the list and plain calls itself.

    The SDK validates, copies and stamps each result, which takes most of the time of a short call, and 80 ms for a list
    of 1,000 tools. What is not plain is passed on, so that each refusal is the SDK's. With another handler, or with
    middleware after this one, everything is passed on.

    Args:
        server: The SDK's server, with its handlers.
        call: Answers the calls.
    """

    def __init__(self, server: Server[Any], call: Answering) -> None:
        self._server = server
        self._call = call
        self._entries = {method: server.get_request_handler(method) for method in (_CALL, _LIST)}
        self._usual = len(server.middleware) + 1
        """How many middlewares the server has, this one included, if nobody has added one."""
        self._kept: dict[str, _WireList] = {}
        self._accepted: set[tuple[str, str, bool, bytes]] = set()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        """Answer a request, or pass it on."""
        entry: Any = self._entries.get(ctx.method)
        is_request = entry is not None and ctx.request_id is not None  # not a notification
        if not is_request or not self._is_last(ctx.method, entry) or not self._is_plain(ctx):
            return await call_next(ctx)
        if ctx.method == _LIST:
            return await self._list(ctx, entry, call_next)
        answer = self._call(ctx, ctx.params or {})
        return await (call_next(ctx) if answer is None else answer)

    def _is_last(self, method: str, entry: Any) -> bool:
        """Return whether the handler comes next, and no middleware whose answers may differ from one to the next."""
        return self._server.middleware[-1] is self and self._server.get_request_handler(method) is entry

    def _is_plain(self, ctx: ServerRequestContext[Any, Any]) -> bool:
        """Return whether the SDK would accept the request, and it has no member that only the SDK knows."""
        params = ctx.params or {}
        is_odd = ctx.meta is None and "_meta" in params  # a member of it is not what the handler's parameters allow
        if is_odd or not _is_begun(ctx) or not params.keys() <= _MEMBERS[ctx.method]:
            return False
        try:
            meta = pydantic_core.to_json(params.get("_meta"))  # 1, 1.0 and True are equal, but not as JSON
            known = ctx.method, ctx.protocol_version, "_meta" in params, meta
            if known not in self._accepted or not _is_usual(ctx.method, params):
                methods.validate_client_request(ctx.method, ctx.protocol_version, params)
                self._accept(known)
        except (KeyError, ValueError):  # ValidationError, too
            return False
        return True

    def _accept(self, known: tuple[str, str, bool, bytes]) -> None:
        if len(self._accepted) >= _ACCEPTED_AT_MOST:
            self._accepted.clear()
        if len(known[-1]) <= _META_AT_MOST:
            self._accepted.add(known)

    async def _list(self, ctx: ServerRequestContext[Any, Any], entry: Any, call_next: Any) -> dict[str, Any]:
        """Return the list; while the handler returns the same object, it has not changed."""
        listed = await entry.handler(ctx, None)
        kept = self._kept.get(ctx.protocol_version)
        if kept is None or kept.listed is not listed:
            kept = self._kept[ctx.protocol_version] = _WireList(listed, await call_next(ctx))
        has_others = len(self._server.middleware) > self._usual
        return copy.deepcopy(kept.tree) if has_others else dict(kept.tree)  # other middleware may change the tools

    def encoded(self, method: str, result: Mapping[str, Any], version: str) -> bytes:
        """Return a result of the server as JSON; a list that no other middleware has changed was encoded before."""
        kept = self._kept.get(version) if method == _LIST else None
        return kept.encoded if kept is not None and kept.tree == result else _as_json(result)


class _WireList:
    """A list of tools on the wire, and the handler's object that it was made from."""

    def __init__(self, listed: object, tree: dict[str, Any]) -> None:
        self.listed = listed
        self.tree = tree

    @cached_property
    def encoded(self) -> bytes:
        return _as_json(self.tree)


def _as_json(tree: Mapping[str, Any]) -> bytes:
    return pydantic_core.to_json(tree, inf_nan_mode="null")


def _is_usual(method: str, params: Mapping[str, Any]) -> bool:
    """Return whether the SDK accepts the parameters besides the metadata."""
    return method == _LIST or (type(params.get("name")) is str and type(params.get("arguments", {})) is dict)


def _is_begun(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Return whether the client may ask: with a connection, `initialize` comes first."""
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS or (ctx.request is not None and ADMITTED in ctx.request.scope):
        return True  # failsoft's own HTTP is stateless in both eras
    return ctx.session.client_params is not None


def encoded(server: Server[Any], method: str, result: Mapping[str, Any], version: str) -> bytes:
    """Return a result of the SDK's server as JSON."""
    last = server.middleware[-1] if server.middleware else None
    return last.encoded(method, result, version) if isinstance(last, DirectAnswers) else _as_json(result)
