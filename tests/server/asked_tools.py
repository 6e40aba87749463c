"""Tools that ask before they do anything, and one that says how often they did."""

from __future__ import annotations

from typing import Any

from failsoft import AskPerson, BaseTool, operation

__all__ = ["Asked"]


class Asked(BaseTool):
    """A shop that delivers what somebody agrees to."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.bought: list[str] = []

    @operation(confirm=True)
    async def buy(self, what: str) -> str:
        """Buy something that a person agrees to."""
        self.bought.append(what)
        return what

    @operation(recovery=[AskPerson(ask=["address"])])
    async def deliver(self, address: str) -> str:
        """Deliver to an address."""
        return f"to {address}"

    @operation(read_only=True)
    async def count(self) -> int:
        """Return how many things were bought."""
        return len(self.bought)
