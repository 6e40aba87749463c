"""Content blocks and reported failures among the values that a handler returns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from failsoft.framework.text import bounded

__all__ = ["is_block", "is_result", "reported_failure", "split_content"]

_BLOCK_TYPES = frozenset({"text", "image", "audio", "resource", "resource_link"})
_NO_ATTRIBUTES: Mapping[str, Any] = {}


def is_block(value: Any) -> bool:
    """Return whether this is an MCP content block. The name of its module decides, so `mcp` is not imported."""
    return type(value).__module__.partition(".")[0] in {"mcp", "mcp_types"} and (
        getattr(value, "type", None) in _BLOCK_TYPES
    )


def split_content(value: Any) -> tuple[Any, tuple[Any, ...]]:
    """Split a handler's value into data and content blocks; without other data, the data describes the blocks.

    The result of a call to another MCP server is replaced by its structured content, or by its blocks.
    """
    if is_result(value):
        structured = value.structured_content
        if structured is not None:
            return structured, tuple(block for block in value.content if block.type != "text")
        value = list(value.content)
    if is_block(value):
        blocks: tuple[Any, ...] = (value,)
    elif isinstance(value, (list, tuple)) and value and any(is_block(item) for item in value):
        blocks = tuple(item for item in value if is_block(item))
        rest = [item for item in value if not is_block(item)]
        if rest:
            return (rest[0] if len(rest) == 1 else rest), blocks
    else:
        return value, ()
    if all(block.type == "text" for block in blocks):
        return "\n".join(block.text for block in blocks), ()
    return {"content": [_described(block) for block in blocks]}, blocks


def is_result(value: Any) -> bool:
    """Return whether this is the result of a call to another MCP server."""
    return type(value).__name__ == "CallToolResult" and type(value).__module__.partition(".")[0] in {"mcp", "mcp_types"}


def _described(block: Any) -> dict[str, Any]:
    """Describe a block for clients that read only the structured content: everything but the bytes."""
    facts = {"type": block.type}
    for name in ("text", "mime_type", "name", "uri", "description"):
        value = getattr(block, name, None)
        if value is not None:
            facts[name] = str(value)
    return facts


def reported_failure(value: Any) -> str | None:
    """Return the text of a failure that is reported by the returned value, otherwise None.

    A failure is `{"success": false}`, a non-empty `error`, or an `isError` result of another server. The text is
    quoted, bounded and stripped, because it is foreign.
    """
    if _is_mapping(type(value)):  # type: ignore[arg-type]  # a class is hashable
        if value.get("success") is False or value.get("isError") is True or value.get("error"):
            return _report(_reason_in(value))
        return None
    own = getattr(value, "__dict__", _NO_ATTRIBUTES)  # looking up a missing attribute of a pydantic model costs 2 us
    if own.get("is_error") is True and "content" in own:
        texts = [str(block.text) for block in value.content or () if getattr(block, "type", "") == "text"]
        return _report(" ".join(texts) or "no reason given")
    return None


@lru_cache(maxsize=500)  # `isinstance` takes three times as long for a class that is no mapping
def _is_mapping(kind: type) -> bool:
    return issubclass(kind, Mapping)


def _reason_in(value: Mapping[str, Any]) -> Any:
    """Return the text of a reported failure; `error` may be only a flag next to the reason."""
    error = value.get("error")
    reason = value.get("message") if error is True or not error else error
    content = value.get("content")
    if not reason and isinstance(content, (list, tuple)):
        reason = " ".join(str(block.get("text", "")) for block in content if isinstance(block, Mapping)).strip()
    return reason or value.get("code") or "no reason given"


def _report(reason: Any) -> str:
    if isinstance(reason, Mapping):
        reason = reason.get("message") or reason.get("code") or "no reason given"
    return bounded(str(reason)) if isinstance(reason, (str, int, float)) else "no reason given"
