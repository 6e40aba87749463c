"""One fault of one argument, as data; a refused call lists all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["Reason", "Violation", "summarize"]

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

_NAMED_AT_MOST = 5
"""Faults that a message spells out; the rest are counted, and `violations` still lists them."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """Return one sentence that names every field and what was expected of it, bounded to five fields."""
    if len(violations) == 1:
        return f"Invalid parameter {_clause(violations[0])}."
    clauses = "; ".join(_clause(violation) for violation in violations[:_NAMED_AT_MOST])
    more = len(violations) - _NAMED_AT_MOST
    tail = f"; and {more} more" if more > 0 else ""
    return f"{len(violations)} invalid parameters: {clauses}{tail}."


def _clause(violation: Violation) -> str:
    clause = f"'{violation.path}': {violation.message}"
    if violation.suggestion is not None:
        clause += f" (did you mean {violation.suggestion!r}?)"
    return clause
