"""Recognises plain `tools/call` requests of the stateless protocol version: those with nothing unusual in them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

import pydantic_core
from mcp.shared.inbound import decode_header_value, x_mcp_header_map
from mcp_types import LOG_LEVEL_META_KEY, PROTOCOL_VERSION_META_KEY, methods
from starlette.types import Message, Scope

from failsoft.framework.tool.bound_operation import BoundOperation

__all__ = ["METHOD", "VERSION", "PlainCalls"]

VERSION = "2026-07-28"
METHOD = "tools/call"

_HEADERS = {b"mcp-protocol-version": VERSION.encode(), b"mcp-method": METHOD.encode()}
_DIGITS_AT_MOST = 18
_REMEMBERED_AT_MOST = 8
_IDS = frozenset({int, str})
_MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})
_PARAMS = frozenset({"name", "arguments", "_meta"})
_OPTED_IN = frozenset({"progressToken", "progress_token", LOG_LEVEL_META_KEY})
"""Keys of `_meta` that ask for notifications."""


class PlainCalls:
    """Reads plain calls of the tools of a server.

    Args:
        tools: The tools.
        max_body_bytes: The size of a body that is not refused.
    """

    def __init__(self, tools: Iterable[BoundOperation[..., Any]], *, max_body_bytes: int) -> None:
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
            scope["method"] == "POST"
            and headers.items() >= _HEADERS.items()
            and len(headers) == len(scope["headers"])
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
        last = messages[-1]
        body = b"".join([message.get("body", b"") for message in messages])
        if last["type"] != "http.request" or last.get("more_body", False) or len(body) > self._max_body_bytes:
            return None
        try:
            tree = pydantic_core.from_json(body, allow_inf_nan=False)
            if not _is_plain_call(tree, name):
                return None
            self._validate(tree["params"])
        except ValueError:  # ValidationError, too
            return None
        return tree  # type: ignore[no-any-return]  # a dictionary, by now

    def _validate(self, params: dict[str, Any]) -> None:
        """Validate the parameters by the protocol's own type; metadata that has passed is not validated again.

        Raises:
            ValidationError: They do not fit the protocol.
        """
        meta, arguments = params["_meta"], params.get("arguments")
        if meta in self._passed and (arguments is None or type(arguments) is dict):
            return
        methods.validate_client_request(METHOD, VERSION, params)
        if _is_text(meta):
            self._passed.append(deepcopy(meta))


def _is_plain(bound: BoundOperation[..., Any]) -> bool:
    """Return whether the headers of a call have nothing to say but the name of the tool."""
    name = bound.name
    return name.isascii() and decode_header_value(name) == name and not x_mcp_header_map(bound.input_schema)


def _is_text(tree: Any) -> bool:
    """Return whether a tree has no leaves but strings; trees that are equal to it then have the same types."""
    return type(tree) is str or (type(tree) is dict and all(map(_is_text, tree.values())))


def _is_plain_call(tree: Any, name: str) -> bool:
    if type(tree) is not dict or tree.keys() != _MEMBERS:
        return False
    params = tree["params"]
    if tree["jsonrpc"] != "2.0" or tree["method"] != METHOD or type(tree["id"]) not in _IDS:
        return False
    if type(params) is not dict or not params.keys() <= _PARAMS or params.get("name") != name:
        return False
    meta = params.get("_meta")
    return type(meta) is dict and meta.get(PROTOCOL_VERSION_META_KEY) == VERSION and _OPTED_IN.isdisjoint(meta)
