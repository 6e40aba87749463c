"""A toolset whose answers are as long as the caller wants; `bare_server.py` has the same tool."""

from __future__ import annotations

from failsoft import BaseTool, Conflict, operation

__all__ = ["Texts"]


class Texts(BaseTool):
    """Texts that say nothing."""

    @operation(read_only=True, timeout=30.0)
    async def get_text(self, size: int) -> str:
        """Return a text of this many characters; a negative number fails."""
        if size < 0:
            raise Conflict(message="The text was changed meanwhile.")
        return "x" * size
