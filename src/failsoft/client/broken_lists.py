"""Lists of tools that cannot be read whole: too long, or with a tool that is nested without end or no Unicode."""

from __future__ import annotations

import json
import re
from typing import Any

import pydantic_core

_BRACKETS = re.compile(rb'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)(?:"|\\?\Z)|[][{}]', re.DOTALL)
"""Whole strings, whose brackets do not count, and brackets."""
_DATA = re.compile(rb"^(data: ?)(.+)$", re.MULTILINE)
_LEVELS_AT_MOST = 160
"""Fewer than pydantic reads, and more than a schema may have (`failsoft.framework.arguments.schemas`)."""
_BYTES_AT_MOST = 4_000_000
_TOKENS_AT_MOST = 250_000
"""Strings and brackets of the part of a list that is read: those of some thousand tools."""


def readable_list(message: bytes) -> bytes | None:
    """Return a message that answers `tools/list`, with what cannot be read of a tool left out; None for any other one.

    A tool that is nested too deeply still is, by fewer levels, and one that is no Unicode keeps its name at most, so
    that whoever reads the list can refuse them by name.

    Args:
        message: A JSON-RPC message that could not be read.
    """
    if len(message) > _BYTES_AT_MOST:
        return None
    try:
        try:
            tree = json.loads(message.decode(errors="surrogateescape"))
        except RecursionError:  # only so many levels are worth the time to look at each bracket
            tree = json.loads(_shallow(message).decode(errors="surrogateescape"))
        result = tree["result"]
        if not isinstance(result["tools"], list) or "content" in result:
            return None
        result["tools"] = [tool if _is_readable(tool) else _named(tool) for tool in result["tools"]]
        return pydantic_core.to_json(tree)
    except (ValueError, RecursionError, LookupError, TypeError):
        return None


def shortened_list(message: bytes) -> bytes | None:
    """Return a message that answers `tools/list` with its first tools alone; None for any other one.

    Args:
        message: A JSON-RPC message with more values than are read.
    """
    if b'"tools"' not in message:
        return None
    openers: list[bytes] = []
    end = 0
    for number, token in enumerate(_BRACKETS.finditer(message)):
        if number > _TOKENS_AT_MOST or token.start() > _BYTES_AT_MOST:
            break
        if token[0] in (b"[", b"{"):
            openers.append(token[0])
        elif token[0] in (b"]", b"}") and openers:
            openers.pop()
            if openers == [b"{", b"{", b"["]:  # the message, its result and the list
                end = token.end()
    try:
        tree = pydantic_core.from_json(message[:end] + b"]}}")
        is_list = "id" in tree and isinstance(tree["result"]["tools"], list) and "content" not in tree["result"]
    except (ValueError, LookupError, TypeError):
        return None
    return message[:end] + b"]}}" if is_list else None


def shortened_event(events: bytes) -> bytes | None:
    """Return an event whose line of data is a message for `shortened_list`, shortened; None for any other events."""
    found = _DATA.search(events)
    shortened = None if found is None else shortened_list(found[2])
    return None if shortened is None else b"data: " + shortened + b"\n\n"


def readable_body(body: bytes) -> bytes:
    """Return the body of an answer to `tools/list`, made readable if it is not."""
    try:
        pydantic_core.from_json(body)
    except ValueError:
        return readable_list(body) or body
    return body


def readable_events(events: bytes) -> bytes:
    """Return events of an answer to `tools/list`, each with one line of data, made readable if they are not."""
    return _DATA.sub(lambda line: line[1] + readable_body(line[2]), events)


def _shallow(message: bytes) -> bytes:
    """Return JSON in which objects and lists below a depth are null."""
    kept, levels, begin = bytearray(), 0, 0
    for token in _BRACKETS.finditer(message):
        if token[0] in (b"[", b"{"):
            levels += 1
            if levels == _LEVELS_AT_MOST + 1:
                kept += message[begin : token.start()] + b"null"
        elif token[0] in (b"]", b"}"):
            levels -= 1
            if levels == _LEVELS_AT_MOST:
                begin = token.end()
    return bytes(kept + message[begin:])


def _is_readable(tool: Any) -> bool:
    try:
        pydantic_core.to_json(tool)
    except ValueError:
        return False
    return True


def _named(tool: Any) -> dict[str, Any]:
    name = tool.get("name") if isinstance(tool, dict) else None
    return {"name": name if _is_readable(name) else "", "inputSchema": "not Unicode"}
