"""Keeps the answer to `tools/list` as it goes on the wire, per protocol version.

The SDK converts, validates and copies the whole list for every request, which takes 80 ms for 1,000 tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import pydantic_core
from mcp.server import Server, ServerRequestContext
from mcp_types import methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

METHOD = "tools/list"


class KeptList:
    """Middleware of the SDK's server.

    The handler is called for every request. While it returns the same object, its list has not changed. With another
    handler, or with middleware after this one, it does nothing.

    Args:
        server: The SDK's server, with its handler.
    """

    def __init__(self, server: Server[Any]) -> None:
        self._server = server
        self._entry: Any = server.get_request_handler(METHOD)
        self._kept: dict[str, _WireList] = {}

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        """Answer a request for the list, and pass everything else on."""
        if ctx.method != METHOD or not self._is_last() or not _is_plain(ctx):
            return await call_next(ctx)
        listed = await self._entry.handler(ctx, None)
        kept = self._kept.get(ctx.protocol_version)
        if kept is None or kept.listed is not listed:
            kept = self._kept[ctx.protocol_version] = _WireList(listed, await call_next(ctx))
        # A copy, since other middleware may remove tools.
        return {**kept.tree, "tools": list(kept.tree["tools"])}

    def _is_last(self) -> bool:
        """Return whether the handler comes next, and no middleware whose answers may differ from one to the next."""
        return self._server.middleware[-1] is self and self._server.get_request_handler(METHOD) is self._entry

    def encoded(self, result: Mapping[str, Any], version: str) -> bytes:
        """Return a result for `tools/list` as JSON, which was encoded before if no other middleware has changed it."""
        kept = self._kept.get(version)
        return kept.encoded if kept is not None and kept.tree == result else _as_json(result)


def encoded(server: Server[Any], method: str, result: Mapping[str, Any], version: str) -> bytes:
    """Return a result of the SDK's server as JSON."""
    kept = (one for one in server.middleware if method == METHOD and isinstance(one, KeptList))
    return next((one.encoded(result, version) for one in kept), None) or _as_json(result)


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


def _is_plain(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Return whether the SDK would accept the request, and it asks for the whole list."""
    is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    is_begun = is_modern or ctx.request is not None or ctx.session.client_params is not None
    if not is_begun or not (ctx.params or {}).keys() <= {"_meta"}:
        return False
    try:
        methods.validate_client_request(METHOD, ctx.protocol_version, ctx.params)
    except (KeyError, ValueError):  # ValidationError, too
        return False
    return True
