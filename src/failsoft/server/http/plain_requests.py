"""What makes a request of the stateless protocol version plain: nothing in it asks for more than one answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pydantic_core
from mcp_types import LOG_LEVEL_META_KEY, PROTOCOL_VERSION_META_KEY, methods
from starlette.types import Message, Scope

VERSION = "2026-07-28"

_IDS = frozenset({int, str})
_MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})
_OPTED_IN = frozenset({"progressToken", "progress_token", LOG_LEVEL_META_KEY})
"""Keys of `_meta` that ask for notifications."""


def header_values(method: str) -> dict[bytes, bytes]:
    """Return the headers that every plain request of a method has."""
    return {b"mcp-protocol-version": VERSION.encode(), b"mcp-method": method.encode()}


def has_plain_headers(scope: Scope, headers: dict[bytes, bytes], values: dict[bytes, bytes]) -> bool:
    """Return whether a request is a POST with these header values, in which no header is repeated.

    Args:
        scope: The ASGI scope of the request.
        headers: Its headers; of repeated ones one each.
        values: See `header_values`.
    """
    return scope["method"] == "POST" and headers.items() >= values.items() and len(headers) == len(scope["headers"])


def request_in(messages: Sequence[Message], method: str, *, bytes_at_most: int) -> dict[str, Any] | None:
    """Return the plain JSON-RPC request in a complete body, or None. Only its `_meta` is known of its parameters.

    Args:
        messages: The ASGI messages of the body.
        method: The method that the headers name.
        bytes_at_most: A larger body is not read.
    """
    last = messages[-1]
    body = b"".join([message.get("body", b"") for message in messages])
    if last["type"] != "http.request" or last.get("more_body", False) or len(body) > bytes_at_most:
        return None
    try:
        tree = pydantic_core.from_json(body, allow_inf_nan=False)
    except ValueError:
        return None
    return tree if _is_plain(tree, method) else None


def fits_protocol(method: str, params: dict[str, Any]) -> bool:
    """Return whether the protocol's own type accepts the parameters."""
    try:
        methods.validate_client_request(method, VERSION, params)
    except ValueError:  # ValidationError, too
        return False
    return True


def _is_plain(tree: Any, method: str) -> bool:
    if type(tree) is not dict or tree.keys() != _MEMBERS:
        return False
    if tree["jsonrpc"] != "2.0" or tree["method"] != method or type(tree["id"]) not in _IDS:
        return False
    meta = tree["params"].get("_meta") if type(tree["params"]) is dict else None
    return type(meta) is dict and meta.get(PROTOCOL_VERSION_META_KEY) == VERSION and _OPTED_IN.isdisjoint(meta)
