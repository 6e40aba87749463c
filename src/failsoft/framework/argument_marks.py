"""What an annotation says about a parameter besides its type: the error class of its faults, and where it must lead."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from failsoft.framework.errors import InvalidArgument
from failsoft.framework.violations import Reason, Violation

__all__ = ["Fault", "Marks", "Reference", "read_marks"]

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Fault:
    """Gives a parameter's faults an error class of their own: `Annotated[int, Field(ge=1), Fault(InvalidLimit)]`.

    Args:
        error: The class that is raised in place of INVALID_PARAM, with the violations.
        reasons: Which kinds of fault it stands for; all, if none is given.
        at: The place in the parameter, dotted, `*` for any position in a list (`*.limit`), empty for the value itself;
            every place in it, if left out. Of several marks the first that fits decides.
    """

    error: type[InvalidArgument]
    reasons: frozenset[Reason] = frozenset()
    at: str | None = None

    def __init__(self, error: type[InvalidArgument], *reasons: Reason, at: str | None = None) -> None:
        object.__setattr__(self, "error", error)
        object.__setattr__(self, "reasons", frozenset(reasons))
        object.__setattr__(self, "at", at)

    def stands_for(self, violation: Violation) -> bool:
        """Return whether a violation of the parameter is a fault of this kind, at this place."""
        if self.reasons and violation.reason not in self.reasons:
            return False
        steps = violation.path.split(".")[1:]
        return self.at is None or self.at == ".".join("*" if step.isdecimal() else step for step in steps)


@dataclass(frozen=True, slots=True)
class Reference:
    """Checks that a well-formed value leads somewhere: `Annotated[str, Reference(lookup)]`.

    Args:
        lookup: `lookup(value)` or `lookup(tool, value)`, sync or async; raises a typed error if it leads nowhere. One
            that returns False does as well, though it tells the caller less.
    """

    lookup: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of one parameter."""

    faults: tuple[Fault, ...]
    references: tuple[Reference, ...]
    item_references: tuple[Reference, ...]


def read_marks(owner: str, annotation: Any) -> Marks:
    """Return the marks in an annotation, those of an optional value and of the items of a list included.

    Raises:
        TypeError: A reference stands where it is not looked up; silence would mean that it is never checked.
    """
    every = _deep(annotation)
    own = _shallow(annotation)
    of_items = [mark for item in _items(annotation) for mark in _shallow(item)]
    references, item_references = _only(Reference, own), _only(Reference, of_items)
    if len(_only(Reference, every)) != len(references) + len(item_references):
        msg = f"{owner} has a Reference too deep to be looked up: put it on the value itself or on the items of a list"
        raise TypeError(msg)
    return Marks(_only(Fault, every), references, item_references)


def _only(kind: type[M], marks: list[Any]) -> tuple[M, ...]:
    return tuple(mark for mark in marks if isinstance(mark, kind))


def _peeled(annotation: Any) -> tuple[Any, list[Any]]:
    """Return an annotation without `Annotated` and without its alias (`type X = ...`), and the marks that it had."""
    annotation = getattr(annotation, "__value__", annotation)
    if get_origin(annotation) is not Annotated:
        return annotation, []
    inner, *marks = get_args(annotation)
    inner, more = _peeled(inner)
    return inner, [*marks, *more]


def _shallow(annotation: Any) -> list[Any]:
    """Return the marks of a value, and of the members of a union of values."""
    inner, marks = _peeled(annotation)
    if get_origin(inner) in {Union, types.UnionType}:
        marks = marks + [mark for member in get_args(inner) for mark in _shallow(member)]
    return marks


def _items(annotation: Any) -> list[Any]:
    """Return the annotations of a list's items."""
    inner, _ = _peeled(annotation)
    origin = get_origin(inner)
    if origin in {Union, types.UnionType}:
        return [item for member in get_args(inner) for item in _items(member)]
    if origin in {list, set, frozenset} or (origin is tuple and get_args(inner)[-1] is ...):
        return [get_args(inner)[0]]
    return []


def _deep(annotation: Any) -> list[Any]:
    """Return every mark in an annotation, however deep."""
    inner, marks = _peeled(annotation)
    return marks + [mark for member in get_args(inner) for mark in _deep(member)]
