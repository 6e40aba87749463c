"""What a handler may return besides plain data: MCP content blocks, and values that say the work failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failsoft.framework.text import bounded

__all__ = ["is_block", "is_result", "reported_failure", "split_content"]

_BLOCK_TYPES = frozenset({"text", "image", "audio", "resource", "resource_link"})
_NO_ATTRIBUTES: Mapping[str, Any] = {}


def is_block(value: Any) -> bool:
    """Return whether this is an MCP content block. Told by its module, so that `mcp` need not be loaded."""
    return type(value).__module__.partition(".")[0] in {"mcp", "mcp_types"} and (
        getattr(value, "type", None) in _BLOCK_TYPES
    )


def split_content(value: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the data and the content blocks of a handler's value; without other data it describes the blocks.

    The result of a call to another MCP server counts as what it holds: its structured content, or its blocks.
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
    """Return what a client that reads only the structured content learns of a block: all but the bytes."""
    facts = {"type": block.type}
    for name in ("text", "mime_type", "name", "uri", "description"):
        value = getattr(block, name, None)
        if value is not None:
            facts[name] = str(value)
    return facts


def reported_failure(value: Any) -> str | None:
    """Return the report if the value says the work failed, else None.

    `{"success": false}`, a non-empty `error`, and an `isError` result of another server all say so; the report is
    quoted, bounded and stripped, since it is foreign text.
    """
    if isinstance(value, Mapping):
        if value.get("success") is False or value.get("isError") is True or value.get("error"):
            return _report(_reason_in(value))
        return None
    own = getattr(value, "__dict__", _NO_ATTRIBUTES)  # asking a pydantic model for what it lacks costs 2 us
    if own.get("is_error") is True and "content" in own:
        texts = [str(block.text) for block in value.content or () if getattr(block, "type", "") == "text"]
        return _report(" ".join(texts) or "no reason given")
    return None


def _reason_in(value: Mapping[str, Any]) -> Any:
    """Return what a mapping says about its failure; `error` may be a mere flag beside the reason."""
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
