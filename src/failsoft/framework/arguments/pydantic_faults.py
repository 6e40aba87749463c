"""Why pydantic refused arguments: the published schema's explanation, and what an author's own checks say beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pydantic_core

from failsoft.framework.arguments.accepted import Accepted
from failsoft.framework.arguments.faults import VIOLATIONS_AT_MOST, Explanation
from failsoft.framework.arguments.schemas import ALLOWED_AT_MOST, Schema
from failsoft.framework.arguments.values import FORMATS, matching
from failsoft.framework.arguments.wording import ABSENT, INTEGER_BELOW, TOO_MUCH, Misfit, Place, violation
from failsoft.framework.errors.tool_error import ToolError
from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.safe.secret_names import is_secret_name
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import bounded

_LINES_AT_MOST = 2_000
"""Lines of a `ValidationError` that are read; pydantic takes 3 us for each."""
_CONSEQUENCES = frozenset({"default_factory_not_called"})

_REASONS: tuple[tuple[Reason, str], ...] = (
    ("missing", r"missing|missing_\w*argument|union_tag_not_found"),
    ("unexpected", r"extra_forbidden|unexpected_\w+|multiple_argument_values|no_such_attribute"),
    ("enum", r"enum|literal_error|union_tag_invalid"),
    ("pattern", r"string_pattern_mismatch"),
    ("length", r"\w*too_(?:short|long)"),
    ("range", r"greater_\w+|less_\w+|multiple_of|finite_number|int_parsing_size|decimal_\w*(?:digits|places)"),
    ("range", r"date(?:time)?_(?:past|future)"),
    (
        "type",
        r"\w+_type|(?:bool|int|float)_parsing|int_from_float|none_required|is_\w+_of|invalid_key|\w+_sentinel_error",
    ),
    ("type", r"ellipsis_error|set_item_not_hashable"),
    ("format", r"(?:date|time|url|uuid|json|timezone|decimal|fraction|complex|bytes|string)\w*_\w+"),
    ("value", r"value_error|assertion_error|iteration_error|recursion_\w+|get_attribute_error|needs_python_object"),
    ("value", r"frozen_\w+|default_factory_not_called"),
)
"""Reason -> pydantic's own kinds of errors; any other kind is an author's."""

_AUTHORS = frozenset({"value_error", "assertion_error"})
_FORMAT_OF = re.compile(r"(datetime|date|time_delta|time|url|uuid)_(?:\w*parsing|type|syntax_violation|object_invalid)")
_FORMATS = {"datetime": "date-time", "time_delta": "duration", "url": "uri"}
_SAID = re.compile(r"should (?:only )?(?:be |have |match |contain )?(?:an? instance of |a valid |an? )?(.+)")
_IN_JSON = {
    "dictionary": "object",
    "list": "array",
    "tuple": "array",
    "set": "array",
    "frozenset": "array",
    "decimal": "a decimal number",
}
_BRANCH = re.compile(r".*\[.*\]|int|str|float|bool|none|date|datetime|dict|list|tuple|set|bytes|url|uuid|decimal|any")
"""Names that pydantic gives the branches of a union; needed only without the arguments."""


@cache
def reason_of(kind: str) -> Reason | None:
    """Return the reason of a violation for one of pydantic's kinds of errors; None for an author's own kind."""
    return next((reason for reason, kinds in _REASONS if re.fullmatch(kinds, kind)), None)


def violations_from_pydantic(
    error: pydantic_core.ValidationError,
    schema: Accepted | Schema | None = None,
    arguments: Any = ABSENT,
) -> list[Violation]:
    """Return all faults of the arguments, one a place.

    Args:
        error: What the validator raised.
        schema: The JSON Schema of the arguments, or what was made of it before.
        arguments: The arguments as received. Without them or a schema, the error alone says what is wrong.
    """
    if error.error_count() > _LINES_AT_MOST:
        return [TOO_MUCH]
    accepted = schema if isinstance(schema, Accepted) else Accepted.by(schema or {})
    lines = error.errors(include_url=False)
    faults: dict[tuple[Any, ...], Misfit] = {}
    if arguments is not ABSENT and accepted.schema:
        names = {line["loc"][0] if line["loc"] else "": None for line in lines}
        faults = Explanation(accepted).by_place(arguments, names)
    if len(lines) == len(faults):
        for line in lines:
            if line["loc"] not in faults or line["type"] in _AUTHORS:
                break
        else:  # the usual case: pydantic and the schema agree
            return list(map(violation, faults.values()))
    own = [line for line in lines if line["type"] not in _CONSEQUENCES] or lines
    return _with_lines(faults, own, arguments, accepted)


def _with_lines(
    faults: Mapping[tuple[Any, ...], Misfit], lines: Sequence[Any], arguments: Any, accepted: Accepted
) -> list[Violation]:
    """Return the faults that pydantic has found, too, and those that it alone has found."""
    own = [_ErrorLine(line, arguments, accepted) for line in lines]
    said = {line.path for line in own if line.is_authors}
    kept = [
        path
        for path in faults
        if any(line.is_told_by(path) for line in own) and not any(path[: len(place)] == place for place in said)
    ]
    rest = [line for line in own if line.is_authors or not any(map(line.is_told_by, kept))]
    if said:  # the other branches of a union fail for other reasons
        rest = [line for line in rest if line.is_authors or line.union is None]
    by_place: dict[tuple[Any, ...], _ErrorLine] = {}
    for line in sorted(rest, key=lambda line: (not line.is_authors, line.reason == "type")):
        by_place.setdefault(line.path, line)
    order = dict.fromkeys(line.path for line in rest)
    told = [*(faults[path] for path in kept), *(by_place[path].fault() for path in order)]
    return list(map(violation, told[:VIOLATIONS_AT_MOST]))


class _ErrorLine:
    """One line of a `ValidationError`."""

    __slots__ = ("_details", "is_authors", "is_name", "loc", "path", "place", "reason", "union")

    def __init__(self, details: Any, arguments: Any, accepted: Accepted) -> None:
        self._details = details
        self.loc = details["loc"]
        own = reason_of(details["type"])
        self.is_authors = own is None or details["type"] in _AUTHORS
        self.reason: Reason = own or "value"
        self.is_name = False
        self.union: tuple[Any, ...] | None = None
        self.place = self._located(arguments, accepted)
        self.path = self.place.path()

    def _located(self, arguments: Any, accepted: Accepted) -> Place:
        """Follow pydantic's `loc` through the arguments, leaving out the names of union branches."""
        kind = self._details["type"]
        place = Place(None, "", arguments, accepted)
        for number, step in enumerate(self.loc, 1):
            if step == "[key]":
                self.is_name, place.value = True, self._details.get("input")
            elif _is_step(step, place) or (number == len(self.loc) and self.reason == "missing"):
                place = _below(place, step)
            elif self.union is None:
                self.union = place.path()
        tag = str(self._details.get("ctx", {}).get("discriminator", ""))
        if kind.startswith("union_tag") and tag.startswith("'"):
            place = _below(place, tag.strip("'"))
        if place.value is ABSENT:
            place.value = self._details.get("input")
        return place

    def is_told_by(self, path: tuple[Any, ...]) -> bool:
        """Return whether a fault at a place is the same one, or that of another branch of the same union."""
        own = self.path if self.union is None else self.union
        return path[: len(own)] == own or own[: len(path)] == path

    def fault(self) -> Misfit:
        """Return the fault, with the author's own sentence where a check of the author's refused."""
        expected = self._expected()
        if self.is_name:
            return Misfit("value", self.place, said=f"this name is not accepted: expected {expected or 'another one'}")
        return Misfit(self.reason, self.place, expected, self._said())

    def _expected(self) -> str:
        kind, text = self._details["type"], self._details["msg"]
        if self.is_authors or self.reason in {"missing", "unexpected", "value"}:
            return ""
        if form := _FORMAT_OF.fullmatch(kind):
            words = FORMATS[_FORMATS.get(form[1], form[1])]
            return f"string: {words}" if kind.endswith("_type") else words
        if self.reason == "pattern":
            return matching(bounded(str(self._details.get("ctx", {}).get("pattern", "")), 80))
        found = _SAID.search(text if self.reason == "enum" else text.partition(", ")[0])
        words = found[1] if found else ""
        return bounded(_IN_JSON.get(words, words), 200)

    def _said(self) -> str:
        """Return the sentence of a check that the tool's author wrote, without pydantic's prefix."""
        if not self.is_authors:
            return ""
        carried = self._details.get("ctx", {}).get("error")
        if isinstance(carried, ToolError):
            return carried.message.rstrip(".")
        return _quotable(str(carried) if isinstance(carried, Exception) else self._details["msg"], self.place)


def _is_step(step: str | int, place: Place) -> bool:
    value = place.value
    if isinstance(step, int):
        return value is ABSENT or isinstance(value, (list, tuple))
    if value is ABSENT:
        return _BRANCH.fullmatch(step) is None
    return isinstance(value, Mapping) and (step in value or step in place.accepted.names)


def _below(place: Place, step: str | int) -> Place:
    if place.value is ABSENT:
        return Place(place, step)
    try:
        return Place(place, step, place.value[step])
    except (LookupError, TypeError):
        return Place(place, step, None)


def _quotable(text: str, place: Place) -> str:
    """Return the sentence of an author's own check, or nothing if it repeats what was received."""
    clean = bounded(text).strip().rstrip(".")
    is_secret = place.is_secret or any(isinstance(step, str) and is_secret_name(step) for step in place.path())
    if is_secret or any(leaf in clean for leaf in _leaves(place.value)):
        return ""
    return redact_text(clean)


def _leaves(value: Any, depth: int = 3) -> list[str]:
    """Return the texts in a value that would be recognized in a sentence: four characters and more."""
    if isinstance(value, str):
        return [value, bounded(value).strip()] if len(value) > 3 else []  # noqa: PLR2004 - 'a' is in every sentence
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        short = not isinstance(value, int) or abs(value) < INTEGER_BELOW
        return [str(value)] if short and len(str(value)) > 3 else []  # noqa: PLR2004 - the same
    if depth and isinstance(value, (Mapping, list, tuple)):
        items = list(value.values() if isinstance(value, Mapping) else value)[:ALLOWED_AT_MOST]
        return [leaf for item in items for leaf in _leaves(item, depth - 1)]
    return []
