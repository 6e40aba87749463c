"""The cases of a trade: what was meant, what was sent, and how both are written down."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import ConfigDict, ValidationError, create_model

from agents.adversarial.worlds import World, tools

__all__ = ["KINDS", "Call", "Case", "Meant", "Trade", "Trap", "differ", "is_accepted", "nothing"]

Call = tuple[str, dict[str, Any]]
KINDS = {
    "name form": "a name in other case or with other separators",
    "name typo": "one letter of a long name wrong",
    "value form": "the value in another form: text for a number, one value for a list of one, JSON text",
    "value case": "a value of a closed list, or a spelled name, in other case",
    "value typo": "one letter of such a value wrong",
    "opposite": "from for to, min for max, enable for disable",
    "negation": "un-, non-, pre-, not",
    "unit": "another unit in a name or value",
    "currency": "another currency",
    "sibling id": "an id, a version or a date in a name that does not exist here, beside one that does",
    "other thing": "the id, or the name of an id, of another kind of thing",
    "other value": "a value of a closed list that is near another one and means something else",
    "other name": "a parameter that is near another one and means something else",
    "other tool": "a tool that is near another one and does something else",
    "date": "a date in another order, or with a time",
    "number": "a number written as people do",
    "bound": "more or less than a write accepts",
    "list": "several values in one text, or in another structure",
    "extra": "something that this tool cannot do, asked for in one more parameter",
}
"""What can be wrong with a call; the first five are harmless."""
HARMLESS = frozenset([*KINDS][:5])


@dataclass(frozen=True, slots=True)
class Case:
    """One call that is not as it should be.

    Args:
        server: The trade.
        name: What it is called, once in its trade.
        kind: One of `KINDS`.
        words: What the caller wants, so that nobody doubts it.
        meant: The call that does that; None if nothing on this server does.
        sent: The call that is made.
        harmless: Whether only its form is wrong, so that the answer should lead to what was meant.
    """

    server: str
    name: str
    kind: str
    words: str
    meant: Call | None
    sent: Call
    harmless: bool = False


@dataclass(frozen=True, slots=True)
class Trap:
    """A case that was thought up for its trade; `Case` without what follows from that."""

    kind: str
    words: str
    meant: Call | None
    sent: Call


class Meant:
    """Something that callers want, and the call that does it.

    Args:
        words: What they want, in a sentence with all the facts.
        tool: The tool.
        arguments: Its arguments; in the first call of each tool all that it takes, as far as that makes sense.
    """

    def __init__(self, words: str, tool: str, /, **arguments: Any) -> None:
        self.words = words
        self.call: Call = (tool, arguments)

    def sent(self, kind: str, drop: str = "", /, *, tool: str = "", **changes: Any) -> Trap:
        """Return the trap in which this was meant, and was sent with changes.

        Args:
            kind: One of `KINDS`.
            drop: The names of the arguments that are not sent, with spaces between them.
            tool: The tool that is called in place of the right one.
            changes: The arguments that are added or replaced.
        """
        return Trap(kind, self.words, self.call, self._changed(drop, tool, changes))

    def but(self, words: str, kind: str, drop: str = "", /, *, tool: str = "", **changes: Any) -> Trap:
        """Return the trap in which the call was sent with changes, and means something that this server cannot do."""
        return Trap(kind, words, None, self._changed(drop, tool, changes))

    def _changed(self, drop: str, tool: str, changes: Mapping[str, Any]) -> Call:
        name, arguments = self.call
        gone = drop.split()
        if unknown := {*gone} - {*arguments}:
            msg = f"{sorted(unknown)} is not among the arguments of {self.words!r}"
            raise ValueError(msg)
        return tool or name, {key: value for key, value in arguments.items() if key not in gone} | changes


def nothing(words: str, kind: str, tool: str, /, **arguments: Any) -> Trap:
    """Return the trap of a call that means something that this server cannot do."""
    return Trap(kind, words, None, (tool, arguments))


@dataclass(frozen=True, slots=True)
class Trade:
    """A server, what callers want of it, and the traps: what each module of a set defines as `TRADE`."""

    world: type[World]
    meant: Sequence[Meant]
    traps: Sequence[Trap]

    @property
    def name(self) -> str:
        """The name of the world."""
        return self.world.__name__.casefold()

    def written(self) -> Iterable[Case]:
        """Yield the traps as cases."""
        for number, trap in enumerate(self.traps, 1):
            name = f"trap {number}, {trap.sent[0]}: {trap.kind}"
            yield Case(self.name, name, trap.kind, trap.words, trap.meant, trap.sent, trap.kind in HARMLESS)


def differ(one: Call | None, other: Call | None) -> bool:
    """Return whether two calls differ as JSON: 45 and 45.0 do, and 1 and true."""
    return json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True)


@cache
def _models(world: type[World]) -> dict[str, Any]:
    fields = {
        tool.name: {
            name: (one.annotation, ... if one.default is inspect.Parameter.empty else one.default)
            for name, one in tool.parameters.items()
        }
        for tool in tools(world).values()
    }
    config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())
    return {name: create_model(name, __config__=config, **found) for name, found in fields.items()}


def is_accepted(world: type[World], call: Call) -> bool:
    """Return whether a call is right as it is: the tool, the names, the JSON types, the bounds and the ids."""
    name, arguments = call
    if name not in tools(world):
        return False
    tool = tools(world)[name]
    try:
        _models(world)[name].model_validate_json(json.dumps(arguments), strict=True)
    except ValidationError:
        return False
    for parameter, value in arguments.items():
        known = tool.known(parameter)
        if known is not None and value is not None and value not in world.ids[known.what]:
            return False
    return True
