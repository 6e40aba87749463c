"""Error answers to requests over stdio that are too long, or no JSON that can be read."""

from __future__ import annotations

import json
import re

from mcp_types import INVALID_REQUEST, PARSE_ERROR
from pydantic import ValidationError

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
    message = f"The request is longer than the {limit} bytes that this server reads; send less in one call"
    return _answer(head, tail, INVALID_REQUEST, message)


def answer_to_broken(error: Exception) -> str | None:
    """Return the error response to a line that is no JSON, such as one with a lone surrogate; None without an id.

    Args:
        error: What the SDK made of the line.
    """
    if not isinstance(error, ValidationError):
        return None
    fault = error.errors(include_url=False, include_context=False)[0]
    if fault["type"] != "json_invalid" or not isinstance(fault["input"], str):
        return None
    line = fault["input"].encode(errors="replace")
    return _answer(line[:EDGE_BYTES], line[-EDGE_BYTES:], PARSE_ERROR, "The request is no JSON that can be read")


def _answer(head: bytes, tail: bytes, code: int, message: str) -> str | None:
    found = _FIRST.match(head) or _LAST.search(tail.rstrip())
    if found is None:
        return None
    answer = {"jsonrpc": "2.0", "id": json.loads(found["id"]), "error": {"code": code, "message": message}}
    return json.dumps(answer, separators=(",", ":")) + "\n"
