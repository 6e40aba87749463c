"""One fault at one place in the arguments, and the faults of texts, numbers and sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from failsoft.framework.arguments.accepted import Accepted
from failsoft.framework.arguments.bounded import found_in, is_multiple, is_of_format, is_unicode
from failsoft.framework.arguments.schemas import FORMATS, Schema, matching
from failsoft.framework.arguments.wording import Location, violation
from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.text import bounded

_BOUNDS: dict[str, tuple[Reason, str]] = {
    "minimum": ("range", "at least {0}"),
    "maximum": ("range", "at most {0}"),
    "exclusiveMinimum": ("range", "more than {0}"),
    "exclusiveMaximum": ("range", "less than {0}"),
    "multipleOf": ("range", "a multiple of {0}"),
    "minLength": ("length", "at least {0} character{s}"),
    "maxLength": ("length", "at most {0} character{s}"),
    "minItems": ("length", "at least {0} item{s}"),
    "maxItems": ("length", "at most {0} item{s}"),
    "minProperties": ("length", "at least {0} name{s}"),
    "maxProperties": ("length", "at most {0} name{s}"),
    "minContains": ("length", "at least {0} fitting item{s}"),
    "maxContains": ("length", "at most {0} fitting item{s}"),
}
"""Keyword -> reason and template over the keyword's value; `{s}` is its plural."""


class Place:
    """A value in the arguments, and what the schema says of it."""

    __slots__ = ("_accepted", "above", "step", "value")

    def __init__(self, above: Place | None, step: str | int, value: Any, accepted: Accepted | None = None) -> None:
        self.above = above
        self.step = step
        self.value = value
        self._accepted = accepted

    @property
    def accepted(self) -> Accepted:
        """What is accepted here; found when it is asked for, since most values have no fault."""
        if self._accepted is None:
            above = self.above
            self._accepted = above.accepted.below(self.step)  # type: ignore[union-attr]  # the root is given its own
        return self._accepted

    def held_to(self, schema: Any) -> Place:
        """Return the same place, held to one branch of its schema."""
        return Place(self.above, self.step, self.value, self.accepted.held_to([schema]))

    def path(self) -> tuple[str | int, ...]:
        """Return the steps from the root."""
        if self.above is None:
            return ()
        if self.above.above is None:
            return (self.step,)
        steps: list[str | int] = []
        place = self
        while place.above is not None:
            steps.append(place.step)
            place = place.above
        return tuple(reversed(steps))

    def location(self) -> Location:
        """Return the place for a violation."""
        above = self.above
        if above is None:
            return Location((), self.value, self.accepted)
        return Location(self.path(), self.value, self.accepted, above.accepted, above.value)


class Fault:
    """One fault, not yet in words."""

    __slots__ = ("expected", "place", "reason", "said")

    def __init__(self, reason: Reason, place: Place, expected: str = "", said: str = "") -> None:
        self.reason: Reason = reason
        self.place = place
        self.expected = expected
        self.said = said

    def told(self) -> Violation:
        """Return the violation."""
        return violation(self.reason, self.place.location(), expected=self.expected, said=self.said)


def faults_of_text(schema: Schema, place: Place) -> Iterator[Fault]:
    """Yield the faults of a text: no Unicode, its length, its pattern, its format."""
    text = place.value
    if not text.isascii() and not is_unicode(text):
        yield Fault("format", place, "Unicode text")
        return
    yield from faults_of_size(schema, place, len(text), "Length")
    pattern, form = schema.get("pattern"), schema.get("format")
    if isinstance(pattern, str) and not found_in(pattern, text):
        yield Fault("pattern", place, matching(bounded(pattern, 80)))
    if isinstance(form, str) and not is_of_format(form, text):
        yield Fault("format", place, FORMATS.get(form, bounded(form, 80)))


def faults_of_number(schema: Schema, place: Place) -> Iterator[Fault]:
    """Yield the bounds that a number breaks."""
    value = place.value
    for keyword, is_beyond in (
        ("minimum", lambda limit: value < limit),
        ("maximum", lambda limit: value > limit),
        ("exclusiveMinimum", lambda limit: value <= limit),
        ("exclusiveMaximum", lambda limit: value >= limit),
        ("multipleOf", lambda limit: not is_multiple(value, limit)),
    ):
        limit = schema.get(keyword)
        if isinstance(limit, (int, float)) and not isinstance(limit, bool) and is_beyond(limit):
            yield fault_of_bound(keyword, limit, place)


def faults_of_size(schema: Schema, place: Place, size: int, unit: str) -> Iterator[Fault]:
    """Yield the bound of a size that is broken; `unit` is the end of its keywords: `Length`, `Items`, `Properties`."""
    least, most = f"min{unit}", f"max{unit}"
    if size < schema.get(least, 0):
        yield fault_of_bound(least, schema[least], place)
    if size > schema.get(most, math.inf):
        yield fault_of_bound(most, schema[most], place)


def fault_of_bound(keyword: str, limit: Any, place: Place) -> Fault:
    """Return the fault of a value beyond a bound."""
    reason, template = _BOUNDS[keyword]
    shown = int(limit) if isinstance(limit, float) and limit.is_integer() else limit
    return Fault(reason, place, template.format(bounded(str(shown), 80), s="" if limit == 1 else "s"))
