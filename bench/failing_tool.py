"""A toolset with an operation that fails and one that works, to compare what failures cost."""

from __future__ import annotations

from failsoft import BaseTool, operation

__all__ = ["Failing"]


class Failing(BaseTool):
    """Fails, or works."""

    @operation(read_only=True)
    async def fail(self, title: str, limit: int) -> str:
        """Fail."""
        return {}[title, limit]

    @operation(read_only=True)
    async def work(self, title: str, limit: int) -> str:
        """Work."""
        return f"{title} {limit}"
