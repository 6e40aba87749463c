"""The tool that the benchmarks call: small, so that what is measured is everything around it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from failsoft import BaseTool, Conflict, DocumentNotFound, operation

__all__ = ["ARGUMENTS", "Document", "Documents", "find"]

ARGUMENTS: dict[str, dict[str, Any]] = {
    "success": {"path": "guide/intro.md", "limit": 5},
    "typed error": {"path": "changed.md"},
    "recovered": {"path": "guide/intro.mdx"},
    "typed error, recovery tried": {"path": "gone.rst"},
    "wrong type": {"path": "guide/intro.md", "limit": "five"},
    "wrong type, correctable": {"path": "guide/intro.md", "limit": "5"},
    "misspelt name": {"path": "guide/intro.md", "limt": 5},
    "missing": {"limit": 5},
    "three faults": {"pth": "guide/intro.md", "limit": "five"},
}
"""What to call it with, by what then happens."""


class Document(BaseModel):
    """What the tool returns."""

    path: str
    lines: int


def find(path: str, limit: int = 10) -> Document:
    """Return the document, or raise what its path says."""
    if path == "changed.md":
        raise Conflict(message="The document was changed meanwhile.")
    if path.startswith("gone") or path.endswith(".mdx"):
        raise DocumentNotFound(path=path, suggestions=["guide/intro.md"])
    return Document(path=path, lines=limit)


class Documents(BaseTool):
    """Documents that are made up."""

    @operation(read_only=True, timeout=30.0)
    async def get_document(self, path: str, limit: int = 10) -> Document:
        """Return a document."""
        return find(path, limit)
