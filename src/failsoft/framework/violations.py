"""One fault of one argument, as data; a refused call lists all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from failsoft.framework.record import record

__all__ = ["Reason", "Violation", "advice", "clause", "summarize"]

Reason: TypeAlias = Literal[
    "missing",
    "unexpected",
    "type",
    "enum",
    "range",
    "length",
    "pattern",
    "format",
    "value",
    "reference",
    "unknown_tool",
]

_SPELLED_OUT_AT_MOST = 5
"""Faults that a message spells out; of the next ones it gives the names, and the rest it counts."""
_NAMED_AT_MOST = 20
_NAME_AT_MOST = 40
_as_json = json.JSONEncoder(ensure_ascii=False).encode
_WITHOUT_ARTICLE = (
    *("a ", "an ", "the ", "one of ", "at ", "more ", "less ", "text ", "items ", "arguments ", "ASCII ", "Unicode "),
)
"""Beginnings of what was expected that do not go with `a valid`."""


@record
class Violation:
    """One fault of one argument.

    Args:
        path: Where, dotted from the arguments' root, list positions as numbers (`edits.0.limit`).
        reason: The kind of fault, one of `Reason`.
        message: What is wrong, in one sentence without the value.
        expected: What would be accepted (`integer`, `at least 1`).
        allowed: The accepted values, where they are few.
        suggestion: The accepted name or value that is closest to the one received.
        received: The value as received, only if short and not secret.
    """

    path: str
    reason: Reason
    message: str
    expected: str = ""
    allowed: tuple[Any, ...] = ()
    suggestion: Any = None
    received: Any = None

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form, without the keys that have nothing to say."""
        wire: dict[str, Any] = {"path": self.path, "reason": self.reason, "message": self.message}
        if self.expected:
            wire["expected"] = self.expected
        if self.allowed:
            wire["allowed"] = list(self.allowed)
        if self.suggestion is not None:
            wire["suggestion"] = self.suggestion
        if self.received is not None:
            wire["received"] = self.received
        return wire


def summarize(violations: Sequence[Violation]) -> str:
    """Return one sentence that names every field, and of the first ones what was expected; bounded, since it is read.

    `violations` has all of them.
    """
    if len(violations) == 1:
        return f"Invalid {'parameter' if violations[0].path else 'arguments:'} {clause(violations[0])}."
    clauses = "; ".join([clause(violation) for violation in violations[:_SPELLED_OUT_AT_MOST]])
    named = [item.path for item in violations[_SPELLED_OUT_AT_MOST:_NAMED_AT_MOST] if len(item.path) <= _NAME_AT_MOST]
    also = [f"'{path}'" for path in dict.fromkeys(named)]
    more = len(violations) - _SPELLED_OUT_AT_MOST - len(named)
    tail = ", ".join([*also, f"{more} more"] if more > 0 else also)
    return f"{len(violations)} invalid parameters: {clauses}{f'; and {tail}' if tail else ''}."


def clause(violation: Violation) -> str:
    """Return `'limit': expected integer (did you mean 5?)`; without a name for a fault of the arguments at large."""
    said = f"'{violation.path}': {violation.message}" if violation.path else violation.message
    meant = violation.suggestion
    if meant is None:
        return said
    return f"{said} (did you mean {repr(meant) if isinstance(meant, str) else _as_json(meant)}?)"


def advice(violation: Violation) -> str:
    """Return what to provide instead, as a request: `Provide a valid integer`; nothing where nothing is known.

    Source: seed 004, whose words for it only suit a type.
    """
    expected = violation.expected
    if not expected:
        return ""
    if violation.reason == "unexpected":
        return f"Use {expected}"
    if violation.reason == "range" and not expected.startswith(("a ", "an ")):
        return f"Provide a value that is {expected}"
    is_whole = not expected[0].isalpha() or expected.startswith(_WITHOUT_ARTICLE)
    return f"Provide {expected}" if is_whole else f"Provide a valid {expected}"
