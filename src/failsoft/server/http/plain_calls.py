"""Recognises plain `tools/call` requests of the stateless protocol version: those with nothing unusual in them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

from mcp.shared.inbound import decode_header_value, x_mcp_header_map
from starlette.types import Message, Scope

from failsoft.framework.call.bound import BoundOperation
from failsoft.server.http.plain_requests import fits_protocol, has_plain_headers, header_values, request_in

METHOD = "tools/call"

_HEADERS = header_values(METHOD)
_DIGITS_AT_MOST = 18
_REMEMBERED_AT_MOST = 8
_PARAMS = frozenset({"name", "arguments", "_meta"})


class PlainCalls:
    """Reads plain calls of the tools of a server.

    Args:
        tools: The tools.
        max_body_bytes: The size of a body that is not refused.
    """

    def __init__(self, tools: Iterable[BoundOperation], *, max_body_bytes: int) -> None:
        self._names = {bound.name.encode(): bound.name for bound in tools if _is_plain(bound)}
        self._max_body_bytes = max_body_bytes
        self._passed: deque[dict[str, Any]] = deque(maxlen=_REMEMBERED_AT_MOST)

    def named_in(self, scope: Scope, headers: dict[bytes, bytes]) -> str | None:
        """Return the tool that the headers of a plain call name, or None.

        Args:
            scope: The ASGI scope of the request.
            headers: Its headers; of repeated ones one each.
        """
        size = headers.get(b"content-length", b"0")
        is_plain = (
            has_plain_headers(scope, headers, _HEADERS)
            and size.isdigit()
            and len(size) <= _DIGITS_AT_MOST
            and int(size) <= self._max_body_bytes
        )
        return self._names.get(headers.get(b"mcp-name", b"")) if is_plain else None

    def read(self, messages: Sequence[Message], name: str) -> dict[str, Any] | None:
        """Return the request in a complete body, validated by the protocol's own types, or None if it is not plain.

        Args:
            messages: The ASGI messages of the body.
            name: The tool that the headers name.
        """
        tree = request_in(messages, METHOD, bytes_at_most=self._max_body_bytes)
        if tree is None:
            return None
        params = tree["params"]
        is_call = params.keys() <= _PARAMS and params.get("name") == name
        return tree if is_call and self._fits(params) else None

    def _fits(self, params: dict[str, Any]) -> bool:
        """Return whether the parameters fit the protocol; metadata that has passed is not validated again."""
        meta, arguments = params["_meta"], params.get("arguments")
        if meta in self._passed and (arguments is None or type(arguments) is dict):
            return True
        if not fits_protocol(METHOD, params):
            return False
        if _is_text(meta):
            self._passed.append(deepcopy(meta))
        return True


def _is_plain(bound: BoundOperation) -> bool:
    """Return whether the headers of a call have nothing to say but the name of the tool."""
    name = bound.name
    return name.isascii() and decode_header_value(name) == name and not x_mcp_header_map(bound.input_schema)


def _is_text(tree: Any) -> bool:
    """Return whether a tree has no leaves but strings; trees that are equal to it then have the same types."""
    return type(tree) is str or (type(tree) is dict and all(map(_is_text, tree.values())))
