"""Text that came from outside, made fit to quote: bounded, one line, encodable."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["QUOTED_AT_MOST", "bounded", "printable", "snake_case"]

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

QUOTED_AT_MOST = 300
"""Characters of foreign text that a message may quote."""


def printable(text: str) -> str:
    """Return the text without control and format characters; lone surrogates become the replacement character.

    Format characters go too: zero-width and bidirectional marks hide instructions from people but not from models.
    """
    if text.isascii() and text.isprintable():
        return text
    kept = []
    for character in text:
        kind = unicodedata.category(character)
        if kind == "Cs":
            kept.append("\ufffd")
        elif kind in {"Cc", "Zl", "Zp"}:
            kept.append(" ")
        elif kind not in {"Cf", "Co", "Cn"}:
            kept.append(character)
    return "".join(kept)


def bounded(text: str, limit: int = QUOTED_AT_MOST) -> str:
    """Return the text printable and at most `limit` characters long, with an ellipsis where it was cut."""
    if len(text) <= limit and text.isascii() and text.isprintable():  # nearly every text, at a third of the cost
        return text
    clean = printable(text[: limit * 4])
    return clean if len(clean) <= limit and len(text) <= limit * 4 else clean[: limit - 1] + "…"


def snake_case(name: str) -> str:
    """Return the name of a class in snake case: `HTTPProxyTool` becomes `http_proxy_tool`."""
    return _WORD.sub("_", name).lower().strip("_")
