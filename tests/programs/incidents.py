"""What the page about incidents says of each one."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["PAGE", "alerts_of", "is_query", "seen_of"]

PAGE = Path(__file__).parents[2] / "docs/how-to/incidents.md"


def seen_of() -> dict[str, list[str]]:
    """Return the queries and events by which an incident is seen, by its heading."""
    return _words("Seen as")


def alerts_of() -> dict[str, list[str]]:
    """Return the alerts of an incident, by its heading."""
    return _words("Alert")


def is_query(shown: str) -> bool:
    """Return whether a word is a query rather than an event."""
    return "mcp_" in shown or shown.startswith(("up{", "process_"))


def _words(item: str) -> dict[str, list[str]]:
    sections = dict(section.split("\n", 1) for section in PAGE.read_text().split("\n## ")[1:])
    found = {}
    for title, text in sections.items():
        shown = re.search(rf"^- \*\*{item}:\*\* (.*?)(?=^- |\Z)", text, re.MULTILINE | re.DOTALL)
        words = re.findall(r"`([^`]+)`", shown[1]) if shown else []
        found[title] = [" ".join(word.split()) for word in words]
    return found
