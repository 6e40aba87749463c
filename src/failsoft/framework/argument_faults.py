"""What a validator found wrong with the arguments, as `Violation`s: one a place, in JSON's terms, values kept out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pydantic_core

from failsoft.framework.errors.base import ToolError
from failsoft.framework.fault_wording import ABSENT, Place, quotable, violation
from failsoft.framework.json_schema_faults import violations_from_jsonschema
from failsoft.framework.pydantic_reasons import CONSEQUENCES, REASONS, TAGS
from failsoft.framework.schema_words import Schema, accepted_names, alternatives, below
from failsoft.framework.text import bounded
from failsoft.framework.violations import Reason, Violation

__all__ = ["VIOLATIONS_AT_MOST", "carried_errors", "violations_from_jsonschema", "violations_from_pydantic"]

VIOLATIONS_AT_MOST = 200
"""Violations in one answer: a list of a million wrong items must not become an answer of a million violations."""

_FAULTS_AT_MOST = 2_000
"""Faults beyond which pydantic is not asked to list them: that takes 3 us each, on the event loop."""

_MAPPING = (dict, Mapping)
"""For `isinstance`: a dict is told at once, while an abstract class is asked for 0.3 us."""
_CONSTANTS = frozenset({"literal_error", "enum"})
_LISTED = re.compile(r"'([^']*)'|(?<![\w.'])(-?\d{1,18})(?![\w.'])")
_BRANCH = re.compile(r".*\[.*\]|int|str|float|bool|none|date|datetime|dict|list|tuple|set|bytes|url|uuid|decimal|any")
"""Names that pydantic gives the branches of a union; needed only where the arguments are not at hand."""


@dataclass(slots=True)
class _Line:
    """One line of a `ValidationError`: where it is among the arguments, and which union branches led there."""

    kind: str
    path: tuple[str | int, ...]
    branches: tuple[tuple[int, str], ...]
    context: Mapping[str, Any]
    value: Any
    text: str
    schemas: Sequence[Schema]
    around: Sequence[Schema] = ()
    beside: Any = None
    is_name: bool = False
    merged: Sequence[_Line] = ()


def violations_from_pydantic(
    error: pydantic_core.ValidationError, schema: Schema | None = None, arguments: Any = ABSENT
) -> list[Violation]:
    """Return all faults of the arguments, one a place, in pydantic's order.

    Args:
        error: What the validator raised.
        schema: The JSON Schema that the arguments were held to; it gives accepted names, values and types.
        arguments: The arguments as received. Without them, names of union branches may stay in a path.
    """
    root: Schema = schema or {}
    if error.error_count() > _FAULTS_AT_MOST:
        said = f"the arguments have {error.error_count()} faults, too many to list; correct them and call again"
        return [Violation(path="", reason="value", message=said, expected="arguments that fit the schema")]
    start = alternatives([root], root)
    lines = [_locate(details, root, start, arguments) for details in error.errors(include_url=False)]
    if len(lines) > 1:
        told = [line for line in lines if line.kind not in CONSEQUENCES] or lines
        lines = _collapse(told, 0)[:VIOLATIONS_AT_MOST]
    return [_violation(line, root) for line in lines]


def carried_errors(error: pydantic_core.ValidationError) -> list[ToolError]:
    """Return the typed errors that validators of the arguments raised, in the order of the arguments."""
    contexts = (details.get("ctx", {}) for details in error.errors(include_url=False, include_input=False))
    found = (context.get("error") for context in contexts)
    return [carried for carried in found if isinstance(carried, ToolError)]


def _locate(details: Any, root: Schema, start: Sequence[Schema], arguments: Any) -> _Line:
    """Follow pydantic's `loc` through the arguments and the schema, telling steps from names of union branches."""
    kind, steps = details["type"], details["loc"]
    line = _Line(kind, (), (), details.get("ctx", {}), arguments, details["msg"], start)
    for number, step in enumerate(steps):
        may_be_absent = number == len(steps) - 1 and REASONS.get(kind, ("",))[0] == "missing"
        if step == "[key]":
            line.is_name, line.value = True, details.get("input")
        elif _is_step(step, line, may_be_absent=may_be_absent):
            _descend(line, step, root)
        else:
            line.branches += ((len(line.path), str(step)),)
    if line.value is ABSENT:
        line.value = details.get("input")
    if kind in TAGS:
        discriminator = str(line.context.get("discriminator", ""))
        if discriminator.startswith("'"):
            _descend(line, discriminator.strip("'"), root)
    return line


def _is_step(step: str | int, line: _Line, *, may_be_absent: bool) -> bool:
    if isinstance(step, int):
        return line.value is ABSENT or isinstance(line.value, (list, tuple)) or may_be_absent
    if line.value is ABSENT:
        return _BRANCH.fullmatch(step) is None
    if not isinstance(line.value, _MAPPING):
        return False
    return step in line.value or may_be_absent or step in accepted_names(line.schemas)


def _descend(line: _Line, step: str | int, root: Schema) -> None:
    line.around, line.beside = line.schemas, line.value
    line.path, line.schemas = (*line.path, step), below(line.schemas, step, root)
    if line.value is not ABSENT:
        try:
            line.value = line.value[step]
        except (LookupError, TypeError):
            line.value = None


def _collapse(lines: Sequence[_Line], depth: int) -> list[_Line]:
    """Return one line a place: of a union's branches the one that the value was meant for, or all of them in one.

    A branch whose faults lie deeper than the union itself took the value for its own kind; among those, the one
    whose tags fit, then the one with the fewest faults, is the one to mend.
    """
    unions: dict[tuple[str | int, ...], dict[str, list[_Line]]] = {}
    order: list[_Line | tuple[str | int, ...]] = []
    for line in lines:
        if len(line.branches) <= depth:
            order.append(line)
            continue
        length, branch = line.branches[depth]
        place = line.path[:length]
        if place not in unions:
            unions[place] = {}
            order.append(place)
        unions[place].setdefault(branch, []).append(line)
    settled: list[_Line] = []
    for entry in order:
        settled += [entry] if isinstance(entry, _Line) else _settle(unions[entry], len(entry), depth)
    return settled


def _settle(branches: Mapping[str, list[_Line]], length: int, depth: int) -> list[_Line]:
    meant = [lines for lines in branches.values() if any(len(line.path) > length for line in lines)]
    for tag in meant[0] if len(meant) > 1 else ():
        if all(any(_is_tag(line, tag) for line in lines) for lines in meant):
            return [tag]
    if meant:
        return _collapse(min(meant, key=_distance), depth + 1)
    lines = [line for own in branches.values() for line in own]
    lines[0].merged = lines[1:]
    return lines[:1]


def _is_tag(line: _Line, like: _Line) -> bool:
    """Return whether two branches want another constant at one place: all constants are accepted there."""
    return line.kind in _CONSTANTS and like.kind in _CONSTANTS and line.path == like.path


def _distance(lines: Sequence[_Line]) -> tuple[int, int]:
    return sum(line.kind in _CONSTANTS for line in lines), len(lines)


def _violation(line: _Line, root: Schema) -> Violation:
    reason, expected = _fact(line) if not line.merged else _of_branches([line, *line.merged])
    place = Place(path=line.path, value=line.value, schemas=line.schemas, root=root)
    if reason == "unexpected":
        place.names, place.given = accepted_names(line.around), _names(line.beside)
    if line.is_name:
        return violation("value", place, said=f"this name is not accepted: expected {expected or 'another one'}")
    said = _author_said(line, place) if reason == "value" and not line.merged else ""
    return violation(reason, place, expected=expected, said=said, listed=_listed(line))


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, _MAPPING) else []


def _of_branches(lines: Sequence[_Line]) -> tuple[Reason, str]:
    """Return several branches' faults as one: the reason that is not about the type, and all that is expected."""
    facts = [_fact(line) for line in lines]
    others = list(dict.fromkeys(reason for reason, _ in facts if reason != "type"))
    reason = others[0] if len(others) == 1 else facts[0][0]
    return reason, " or ".join(dict.fromkeys(words for _, words in facts if words))


class _Context(dict[str, Any]):
    """Pydantic's context for a template; what is not there leaves no gap in the sentence."""

    def __missing__(self, key: str) -> str:
        return "" if key == "s" else "the accepted one"


def _fact(line: _Line) -> tuple[Reason, str]:
    reason, template = REASONS.get(line.kind, ("value", ""))
    if "{" not in template:
        return reason, template
    context = _Context({name: bounded(str(value), 80) for name, value in line.context.items()})
    plural = any(context.get(name, "1") != "1" for name in re.findall(r"{(\w+)}", template) if name != "s")
    context["s"] = "s" if plural else ""
    return reason, template.format_map(context)


def _author_said(line: _Line, place: Place) -> str:
    """Return the sentence of a check that the tool's author wrote, without pydantic's prefix."""
    carried = line.context.get("error")
    if isinstance(carried, ToolError):
        return carried.message.rstrip(".")
    if isinstance(carried, Exception):
        return quotable(str(carried), place)
    return quotable(line.text, place) if line.kind not in REASONS else ""


def _listed(line: _Line) -> list[Any]:
    """Return the accepted values as pydantic's context lists them, for want of a schema."""
    found: list[Any] = []
    for one in (line, *line.merged):
        text = one.context.get("expected") or one.context.get("expected_tags")
        for quoted, number in _LISTED.findall(str(text)) if text else ():
            found.append(quoted if quoted or not number else int(number))
    return found
