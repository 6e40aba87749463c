"""`Violation`: one problem of one argument, as data; equal ones of a list are merged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from failsoft.framework.errors.corrections import HowFar
from failsoft.framework.text import bounded, json_type, named, quoted

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

_SPELLED_OUT_AT_MOST = 3
"""The number of faults that a message describes; it counts the others, and `violations` lists them."""
_RECEIVED_AT_MOST = 60
_CLAUSE_AT_MOST = 300
_CANDIDATES_AT_MOST = 3
_as_json = json.JSONEncoder(ensure_ascii=False).encode
_WITHOUT_ARTICLE = (
    *("a ", "an ", "the ", "one of ", "at ", "more ", "less ", "text ", "items ", "arguments ", "ASCII ", "Unicode "),
)
"""Beginnings of `expected` that do not follow `a valid`."""
_JSON_BEGINS = frozenset("[{")
_NAMED = frozenset({"enum", "unexpected"})
"""Reasons for which `allowed` contains everything that `expected` says."""


@dataclass(kw_only=True, unsafe_hash=True)  # never changed; `frozen` would cost a call for every field
class Violation:
    """One fault of one argument.

    Args:
        path: The location, dotted, with list positions as numbers (`edits.0.limit`), or `*` for the positions in `at`.
        reason: The kind of fault, one of `Reason`.
        message: What is wrong, in one clause without the value.
        expected: What would be accepted (`integer`, `at least 1`).
        allowed: The accepted values, where they are few.
        suggestion: The accepted name or value that is closest to the one received.
        received: The value as received, only if short and not secret.
        line: The line number, from 1, for faults in the content of a file.
        at: The positions of equal faults in a list, as ranges (`0-3,7`).
        how_far: How far the suggestion may go: into the corrected call (`use`), or as a question (`ask`). None for an
            author's own, which is judged later.
        unsaid: The same where it is not echoed: it holds contents, or is long.
        omit: Whether the argument should be left out (null for an optional one).
        is_standard: Whether the message only repeats the other fields; it is then not sent.

    Examples:
        >>> found = Violation(path="day", reason="range", message="is in the future", expected="a past day")
        >>> InvalidParameter(message="`day` is in the future.", violations=[found]).violations[0].path
        'day'
    """

    path: str
    reason: Reason
    message: str
    expected: str = ""
    allowed: tuple[Any, ...] = ()
    suggestion: Any = None
    received: Any = None
    line: int | None = None
    at: str = ""
    how_far: HowFar | None = field(default=None, compare=False)
    unsaid: Any = field(default=None, compare=False, repr=False)
    omit: bool = field(default=False, compare=False)
    is_standard: bool = field(default=False, compare=False)

    def to_dict(self, said: str = "") -> dict[str, Any]:
        """Return the wire form, without keys that are empty or repeat another one.

        Args:
            said: The message that is sent beside it; a value that it quotes is not sent again.
        """
        wire: dict[str, Any] = {"path": self.path, "reason": self.reason}
        if self.at:
            wire["at"] = self.at
        if not self.is_standard or not (self.expected or self.allowed or self.reason == "missing"):
            wire["message"] = self.message
        is_listed = self.allowed and self.reason in _NAMED and not self.expected.endswith(" more")
        if self.expected and not (is_listed and " or " not in self.expected):
            wire["expected"] = self.expected
        if self.allowed and not (self.reason == "unexpected" and self.suggestion is not None and self.how_far != "ask"):
            wire["allowed"] = list(self.allowed)
        if self.suggestion is not None:
            wire["suggestion"] = self.suggestion
        if self.received is not None and _with_value(self) not in said:
            wire["received"] = self.received
        if self.line is not None:
            wire["line"] = self.line
        return wire

    def first_path(self) -> str:
        """Return the path of the first of several equal faults, with its number for the `*`."""
        return self.path.replace("*", self.at.partition(",")[0].partition("-")[0], 1) if self.at else self.path


def once_each(violations: Sequence[Violation]) -> tuple[Violation, ...]:
    """Leave out the missing names that were only misspelt: the unexpected name with its suggestion says it."""
    if len(violations) == 1:
        return tuple(violations)
    spelled = [item for item in violations if item.reason == "unexpected" and isinstance(item.suggestion, str)]
    if not spelled:
        return tuple(violations)
    meant = {".".join([*item.path.split(".")[:-1], item.suggestion]) for item in spelled}
    return tuple([item for item in violations if item.reason != "missing" or item.path not in meant])


def collapsed(violations: Sequence[Violation]) -> tuple[Violation, ...]:
    """Merge equal violations of the items of a list: the index becomes `*`, and `at` has the positions.

    Where several names are not accepted in one place, the accepted ones are listed with the first alone.

    >>> faults = [Violation(path=f"edits.{n}.old", reason="missing", message="is missing") for n in (0, 1, 2, 7)]
    >>> [(fault.path, fault.at) for fault in collapsed(faults)]
    [('edits.*.old', '0-2,7')]
    """
    if len(violations) < 2:  # noqa: PLR2004 - nothing to merge
        return tuple(violations)
    if "." not in "".join([item.path for item in violations]):
        return _listed_once(violations)
    groups: dict[Any, list[tuple[int, Violation]]] = {}
    for number, violation in enumerate(violations):
        steps = violation.path.split(".")
        place = next((place for place in range(len(steps) - 1, 0, -1) if steps[place].isdecimal()), None)
        if place is None or violation.at:
            groups[number] = [(0, violation)]
            continue
        index, steps[place] = int(steps[place][:9]), "*"
        facts = (".".join(steps), violation.reason, violation.message, violation.expected, str(violation.allowed))
        groups.setdefault(facts, []).append((index, violation))
    return _listed_once(
        [_as_one(key[0], members) if len(members) > 1 else members[0][1] for key, members in groups.items()]
    )


def _listed_once(violations: Sequence[Violation]) -> tuple[Violation, ...]:
    if [item.reason for item in violations].count("unexpected") < 2:  # noqa: PLR2004 - the first lists them
        return tuple(violations)
    found, listed = list(violations), None
    for place, item in enumerate(violations):
        if item.reason == "unexpected" and item.suggestion is None:
            if item.allowed == listed:
                found[place] = replace(item, allowed=(), expected="")
            listed = item.allowed
    return tuple(found)


def _as_one(path: str, members: Sequence[tuple[int, Violation]]) -> Violation:
    first = members[0][1]
    same_hint = all(item.suggestion == first.suggestion for _, item in members)
    same_value = all(item.received == first.received for _, item in members)
    return replace(
        first,
        path=path,
        at=_ranges(index for index, _ in members),
        suggestion=first.suggestion if same_hint else None,
        received=first.received if same_value else None,
    )


def _ranges(numbers: Iterable[int]) -> str:
    """Return `0-3,7`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return bounded(",".join([f"{start}-{end}" if end > start else str(start) for start, end in runs]))


def summarize(violations: Sequence[Violation]) -> str:
    """Return one sentence about the first three faulty parameters and the number of others."""
    if len(violations) == 1:
        text = clause(violations[0])
        whole = f"{text[:1].upper()}{text[1:]}" if violations[0].path else f"Invalid arguments: {text}"
        return whole if whole.endswith(("?", ".")) else f"{whole}."
    counted = once_each(violations)
    if len(counted) < len(violations):
        return summarize(counted)
    merged = collapsed(violations)
    clauses = "; ".join([clause(violation).rstrip("?.") for violation in merged[:_SPELLED_OUT_AT_MOST]])
    more = len(merged) - _SPELLED_OUT_AT_MOST
    return f"{len(violations)} invalid parameters: {clauses}{f'; and {more} more' if more > 0 else ''}."


def clause(violation: Violation) -> str:
    """Return what is wrong with one parameter: ``` `limit`: expected integer, got "5" ```."""
    name = named(violation.path) if violation.path else ""
    if violation.at:
        name += f" ({bounded(violation.at, _RECEIVED_AT_MOST)})"
    if violation.reason == "missing":
        return f"{name} {violation.message}".strip()
    if violation.reason == "unexpected" and name and (violation.is_standard or not violation.expected):
        return f"no parameter {name}{_hint(violation) or _accepted(violation)}"
    message = _with_value(violation) if violation.is_standard else violation.message
    said = bounded(f"{name}: {message}" if name else message, _CLAUSE_AT_MOST)
    if violation.reason == "reference" and violation.allowed and violation.suggestion is None:
        return f"{said}; existing: {', '.join(map(quoted, violation.allowed[:_CANDIDATES_AT_MOST]))}"
    return said + _hint(violation) if violation.reason in {"enum", "reference"} else said


def _hint(violation: Violation) -> str:
    return "" if violation.suggestion is None else f"; did you mean {_shown(violation)}?"


def _accepted(violation: Violation) -> str:
    accepted = ", ".join(map(named, violation.allowed[:8]))
    return f"; accepted: {accepted}" if accepted else ""


def _with_value(violation: Violation) -> str:
    """Return the message with the value received, in place of its type; not with JSON that was sent as text."""
    message, value = violation.message, violation.received
    if value is None or (isinstance(value, str) and value[:1] in _JSON_BEGINS):
        return message
    shown = quoted(value, _RECEIVED_AT_MOST) if isinstance(value, str) else _as_json(value)
    kind = f"got {json_type(value)}"
    return f"{message.removesuffix(kind)}got {shown}" if message.endswith(kind) else f"{message}, got {shown}"


def _shown(violation: Violation) -> str:
    if isinstance(violation.suggestion, str):
        return named(violation.suggestion) if violation.reason == "unexpected" else quoted(violation.suggestion)
    return _as_json(violation.suggestion)


def advice(violation: Violation) -> str:
    """Return what to provide instead as a request: `Provide a valid integer`; empty if unknown.

    Source: seed 004, whose wording only suits a type.
    """
    expected = violation.expected
    if not expected:
        return ""
    if violation.reason == "unexpected":
        return f"Use {expected}" if violation.suggestion is None else f"Did you mean {_shown(violation)}?"
    if violation.reason == "range" and not expected.startswith(("a ", "an ")):
        return f"Provide a value that is {expected}"
    is_whole = not expected[0].isalpha() or expected.startswith(_WITHOUT_ARTICLE)
    return f"Provide {expected}" if is_whole else f"Provide a valid {expected}"
