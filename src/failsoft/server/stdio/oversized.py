"""Error answer to a request over stdio that exceeds the size limit."""

from __future__ import annotations

import json
import re

from mcp_types import INVALID_REQUEST

EDGE_BYTES = 400
"""Bytes kept of either end of the line, to find the id in."""
_ID = rb'"id"\s*:\s*(?P<id>-?(?:0|[1-9]\d{0,17})|"[ !#-\[\]-~]{1,200}")'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_METHOD = rb'"method"\s*:\s*"[^"\\]{1,200}"'
_FIRST = re.compile(rb"\s*\{\s*(?:(?:" + _VERSION + rb"|" + _METHOD + rb")\s*,\s*){0,2}" + _ID + rb"\s*,")
_LAST = re.compile(rb",\s*" + _ID + rb"\s*(?:,\s*(?:" + _VERSION + rb"|" + _METHOD + rb")\s*){0,2}\}\s*\Z")


def refusal(head: bytes, tail: bytes, limit: int) -> str | None:
    """Return the error response, or None without an id: a notification, or not JSON-RPC.

    Clients write the id before the parameters or after them, so both ends of the line are searched.

    Args:
        head: The beginning of the line.
        tail: Its end.
        limit: The size limit of a line, in bytes.
    """
    found = _FIRST.match(head) or _LAST.search(tail)
    if found is None:
        return None
    message = f"The request is longer than the {limit} bytes that this server reads; send less in one call"
    answer = {
        "jsonrpc": "2.0",
        "id": json.loads(found["id"]),
        "error": {"code": INVALID_REQUEST, "message": message},
    }
    return json.dumps(answer, separators=(",", ":")) + "\n"
