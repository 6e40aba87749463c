"""Converts pydantic's errors to `Violation`s: one per location, in JSON's terms, without values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pydantic_core

from failsoft.framework.errors.base import ToolError
from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.text import bounded
from failsoft.framework.validation.accepted import Accepted
from failsoft.framework.validation.json_schema_faults import violations_from_jsonschema
from failsoft.framework.validation.pydantic_reasons import CONSEQUENCES, REASONS, TAGS
from failsoft.framework.validation.schema_words import Schema, matching
from failsoft.framework.validation.wording import ABSENT, Location, quotable, violation

__all__ = ["VIOLATIONS_AT_MOST", "violations_from_jsonschema", "violations_from_pydantic"]

VIOLATIONS_AT_MOST = 200
"""Maximum number of violations, so that a million wrong items do not make a million violations."""

_FAULTS_AT_MOST = 2_000
"""Maximum number of faults that are listed at all: pydantic takes 3 us for each, on the event loop."""

_MAPPING = (dict, Mapping)
"""For `isinstance`: the check for dict is fast, that for the abstract class takes 0.3 us."""
_NO_CONTEXT: Mapping[str, Any] = {}
_CONSTANTS = frozenset({"literal_error", "enum"})
_ABOUT_THE_ABSENT = frozenset(kind for kind, (reason, _) in REASONS.items() if reason == "missing")
_SIMPLE = {
    kind: fact
    for kind, fact in REASONS.items()
    if fact[0] in {"missing", "unexpected", "type"} and kind not in TAGS and "{" not in fact[1]
}
"""The kinds whose violation needs neither pydantic's context nor its text."""
_LISTED = re.compile(r"'([^']*)'|(?<![\w.'])(-?\d{1,18})(?![\w.'])")
_BRANCH = re.compile(r".*\[.*\]|int|str|float|bool|none|date|datetime|dict|list|tuple|set|bytes|url|uuid|decimal|any")
"""Names that pydantic gives the branches of a union; needed only without the arguments."""


@dataclass(slots=True)
class _Line:
    """One line of a `ValidationError`: its kind, where it is, and which union branches led there."""

    kind: str
    text: str
    context: Mapping[str, Any]
    place: Location
    branches: tuple[tuple[int, str], ...] = ()
    is_name: bool = False
    merged: Sequence[_Line] = ()


def violations_from_pydantic(
    error: pydantic_core.ValidationError, schema: Accepted | Schema | None = None, arguments: Any = ABSENT
) -> list[Violation]:
    """Return all faults of the arguments, one per location, in pydantic's order.

    Args:
        error: What the validator raised.
        schema: The JSON Schema of the arguments; it gives accepted names, values and types. An `Accepted` made from it
            can be passed instead, to be reused.
        arguments: The arguments as received. Without them, names of union branches may stay in a path.
    """
    if error.error_count() > _FAULTS_AT_MOST:
        said = f"they have {error.error_count()} faults, too many to list; correct them and call again"
        return [Violation(path="", reason="value", message=said, expected="arguments that fit the schema")]
    accepted = schema if isinstance(schema, Accepted) else Accepted.by(schema or {})
    faults = error.errors(include_url=False)
    if type(arguments) is dict and len(faults) <= VIOLATIONS_AT_MOST:
        simple = [_of_argument(details, accepted, arguments) for details in faults]
        if all(simple):
            return simple  # type: ignore[return-value]  # none of them is None
    lines = [_locate(details, accepted, arguments) for details in faults]
    if len(lines) > 1:
        causes = [line for line in lines if line.kind not in CONSEQUENCES] or lines
        is_union = [line for line in causes if line.branches]
        lines = (_collapse(causes, 0) if is_union else causes)[:VIOLATIONS_AT_MOST]
    return [_violation(line) for line in lines]


def _of_argument(details: Any, accepted: Accepted, arguments: dict[str, Any]) -> Violation | None:
    """Return the fault of an argument itself, of a frequent kind, at half the cost of the general way; else None."""
    fact, steps = _SIMPLE.get(details["type"]), details["loc"]
    name = steps[0] if len(steps) == 1 else "[key]"
    if fact is None or name == "[key]" or not (name in arguments or name in accepted.names):
        return None
    place = Location(steps, arguments.get(name), accepted.below(name), accepted, arguments)
    return violation(fact[0], place, expected=fact[1])


def _locate(details: Any, accepted: Accepted, arguments: Any) -> _Line:
    """Follow pydantic's `loc` through the arguments and the schema, leaving out the names of union branches."""
    kind, steps = details["type"], details["loc"]
    place = Location((), arguments, accepted)
    line = _Line(kind, details["msg"], details.get("ctx", _NO_CONTEXT), place)
    for number, step in enumerate(steps, 1):
        if step == "[key]":
            line.is_name, place.value = True, details.get("input")
        elif _is_step(step, place) or (number == len(steps) and kind in _ABOUT_THE_ABSENT):
            _descend(place, step)
        else:
            line.branches += ((len(place.path), str(step)),)
    if place.value is ABSENT:
        place.value = details.get("input")
    if kind in TAGS:
        discriminator = str(line.context.get("discriminator", ""))
        if discriminator.startswith("'"):
            _descend(place, discriminator.strip("'"))
    return line


def _is_step(step: str | int, place: Location) -> bool:
    value = place.value
    if isinstance(step, int):
        return value is ABSENT or isinstance(value, (list, tuple))
    if value is ABSENT:
        return _BRANCH.fullmatch(step) is None
    return isinstance(value, _MAPPING) and (step in value or step in place.accepted.names)


def _descend(place: Location, step: str | int) -> None:
    place.around, place.beside = place.accepted, place.value
    place.path, place.accepted = (*place.path, step), place.accepted.below(step)
    if place.value is not ABSENT:
        try:
            place.value = place.value[step]
        except (LookupError, TypeError):
            place.value = None


def _collapse(lines: Sequence[_Line], depth: int) -> list[_Line]:
    """Return one line per location: for a union, the branch that fits the value best, or all branches merged.

    Branches whose errors lie deeper than the union itself accepted the value's type; among those, the one whose tags
    match is chosen, then the one with the fewest errors.
    """
    unions: dict[tuple[str | int, ...], dict[str, list[_Line]]] = {}
    order: list[_Line | tuple[str | int, ...]] = []
    for line in lines:
        if len(line.branches) <= depth:
            order.append(line)
            continue
        length, branch = line.branches[depth]
        path = line.place.path[:length]
        if path not in unions:
            unions[path] = {}
            order.append(path)
        unions[path].setdefault(branch, []).append(line)
    settled: list[_Line] = []
    for entry in order:
        settled += [entry] if isinstance(entry, _Line) else _settle(unions[entry], len(entry), depth)
    return settled


def _settle(branches: Mapping[str, list[_Line]], length: int, depth: int) -> list[_Line]:
    meant = [lines for lines in branches.values() if any(len(line.place.path) > length for line in lines)]
    for tag in meant[0] if len(meant) > 1 else ():
        if all(any(_is_tag(line, tag) for line in lines) for lines in meant):
            return [tag]
    if meant:
        return _collapse(min(meant, key=_distance), depth + 1)
    lines = [line for own in branches.values() for line in own]
    lines[0].merged = lines[1:]
    return lines[:1]


def _is_tag(line: _Line, like: _Line) -> bool:
    """Return whether two branches have different constants at one location; all of them are accepted there."""
    return line.kind in _CONSTANTS and like.kind in _CONSTANTS and line.place.path == like.place.path


def _distance(lines: Sequence[_Line]) -> tuple[int, int]:
    return sum(line.kind in _CONSTANTS for line in lines), len(lines)


def _violation(line: _Line) -> Violation:
    reason, expected = _fact(line) if not line.merged else _of_branches([line, *line.merged])
    if line.is_name:
        return violation("value", line.place, said=f"this name is not accepted: expected {expected or 'another one'}")
    said = _author_said(line) if reason == "value" and not line.merged else ""
    return violation(reason, line.place, expected=expected, said=said, listed=_listed(line) if reason == "enum" else ())


def _of_branches(lines: Sequence[_Line]) -> tuple[Reason, str]:
    """Merge the faults of several branches: a reason other than the type, and everything that is expected."""
    facts = [_fact(line) for line in lines]
    others = list(dict.fromkeys(reason for reason, _ in facts if reason != "type"))
    reason = others[0] if len(others) == 1 else facts[0][0]
    return reason, " or ".join(dict.fromkeys(words for _, words in facts if words))


class _Context(dict[str, Any]):
    """Pydantic's context for a template; missing values become empty."""

    def __missing__(self, key: str) -> str:
        return "" if key == "s" else "the accepted one"


def _fact(line: _Line) -> tuple[Reason, str]:
    reason, template = REASONS.get(line.kind, ("value", ""))
    if "{" not in template:
        return reason, template
    context = _Context({name: bounded(str(value), 80) for name, value in line.context.items()})
    plural = any(context.get(name, "1") != "1" for name in re.findall(r"{(\w+)}", template) if name != "s")
    context["s"] = "s" if plural else ""
    if "pattern" in context:
        context["pattern"] = matching(context["pattern"])
    return reason, template.format_map(context)


def _author_said(line: _Line) -> str:
    """Return the sentence of a check that the tool's author wrote, without pydantic's prefix."""
    carried = line.context.get("error")
    if isinstance(carried, ToolError):
        return carried.message.rstrip(".")
    if isinstance(carried, Exception):
        return quotable(str(carried), line.place)
    return quotable(line.text, line.place) if line.kind not in REASONS else ""


def _listed(line: _Line) -> list[Any]:
    """Return the accepted values as pydantic's context lists them, for want of a schema."""
    found: list[Any] = []
    for one in (line, *line.merged):
        text = one.context.get("expected") or one.context.get("expected_tags")
        for quoted, number in _LISTED.findall(str(text)) if text else ():
            found.append(quoted if quoted or not number else int(number))
    return found
