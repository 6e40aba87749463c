"""A tool that asks before it does anything, and one that says how often it was done."""

from __future__ import annotations

from typing import Any

from failsoft import ApprovalRequired, BaseTool, CallContext, operation
from tests.doors import Question

__all__ = ["Asked", "Unasked"]

_FORM = {"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]}


class Asked(BaseTool):
    """A shop that delivers what somebody agrees to."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.bought: list[str] = []

    @operation(effects=True)
    async def buy(self, what: str, call: CallContext) -> str:
        """Buy something that a person agrees to."""
        ask = call.scope.ask
        if ask is None:
            raise ApprovalRequired(message="Asking is impossible.")
        answer = await ask(Question(f"Buy {what}?", _FORM, "confirm"))
        if answer.action != "accept" or answer.content.get("confirm") is not True:
            raise ApprovalRequired(message=f"The answer is {answer.action}.")

        async def deliver() -> str:
            self.bought.append(what)
            return what

        return str(await call.effect("delivery", run=deliver))

    @operation(read_only=True)
    async def count(self) -> int:
        """Return how many things were bought."""
        return len(self.bought)


class Unasked(BaseTool):
    """Never asks."""

    @operation(read_only=True)
    async def echo(self, text: str) -> str:
        """Return the text."""
        return text
