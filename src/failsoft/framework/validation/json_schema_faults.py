"""Converts `jsonschema` errors to violations from their keywords, not from messages, which quote values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.text import bounded
from failsoft.framework.validation.accepted import Accepted
from failsoft.framework.validation.schema_words import FORMATS, matching
from failsoft.framework.validation.wording import Location, violation

__all__ = ["violations_from_error", "violations_from_jsonschema"]

_VIOLATIONS_AT_MOST = 200
"""Maximum number of violations; validation stops after them."""

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
    "uniqueItems": ("value", "items that all differ"),
}
"""Keyword -> reason and template over the keyword's value; `{s}` is its plural."""


_CONSTANTS = frozenset({"const", "enum"})


def violations_from_jsonschema(validator: Any, instance: Any, accepted: Accepted | None = None) -> list[Violation]:
    """Return all faults of the arguments, one per location and reason, in the schema's order.

    Args:
        validator: A validator of `jsonschema`, made with the arguments' schema.
        instance: The arguments as received.
        accepted: What the schema accepts, to be reused.
    """
    found: dict[tuple[str, Reason], Violation] = {}
    whole = Accepted.by(validator.schema) if accepted is None else accepted
    for error in validator.iter_errors(instance):
        for fault in _violations(error, (), whole):
            found.setdefault((fault.path, fault.reason), fault)
        if len(found) >= _VIOLATIONS_AT_MOST:
            break
    wrong_type = {path for path, reason in found if reason == "type"}
    return [fault for (path, reason), fault in found.items() if reason != "enum" or path not in wrong_type]


def violations_from_error(error: Any) -> list[Violation]:
    """Return the violations of a `jsonschema.ValidationError` raised by other code."""
    return list(_violations(error, (), Accepted.by(error.schema if isinstance(error.schema, Mapping) else {})))


def _violations(error: Any, above: tuple[str | int, ...], whole: Accepted) -> Iterator[Violation]:
    """Yield the violations of one jsonschema error; `above` is the path of its parent error."""
    path = (*above, *error.relative_path)
    keyword, limit, schema = error.validator, error.validator_value, error.schema
    place = Location(path, error.instance, whole.held_to([schema]))
    if "propertyNames" in error.relative_schema_path:
        yield violation("unexpected", Location((*path, error.instance)))
    elif keyword in {"anyOf", "oneOf"}:
        yield from _of_union(error, place, whole)
    elif keyword in {"required", "dependentRequired", "dependencies"}:
        for name in _missing(limit, error.instance):
            yield violation("missing", Location((*path, name), accepted=place.accepted.below(name)))
    elif keyword in {"additionalProperties", "unevaluatedProperties"}:
        yield from _unexpected(error, place)
    elif keyword is None:
        yield violation("unexpected", Location(path))
    elif keyword == "type":
        yield violation("type", place, expected=" or ".join(limit) if isinstance(limit, list) else str(limit))
    elif keyword in _CONSTANTS:
        yield violation("enum", place)
    else:
        reason, expected = _bound(keyword, limit, schema)
        yield violation(reason, place, expected=expected)


def _bound(keyword: str, limit: Any, schema: Any) -> tuple[Reason, str]:
    if keyword == "format":
        return "format", FORMATS.get(limit, bounded(str(limit), 80))
    if keyword == "pattern":
        return "pattern", matching(bounded(str(limit), 80))
    if keyword in {"items", "additionalItems", "unevaluatedItems"}:
        keyword, limit = "maxItems", len(schema.get("prefixItems") or ())
    reason, template = _BOUNDS.get(keyword, ("value", ""))
    return reason, template.format(bounded(str(limit), 80), s="" if limit == 1 else "s")


def _missing(limit: Any, instance: Any) -> Iterator[str]:
    """Yield the names that `required`, `dependentRequired` or draft 7's `dependencies` miss."""
    if isinstance(limit, Mapping):
        lists = [names for name, names in limit.items() if name in instance and isinstance(names, list)]
    else:
        lists = [limit]
    for names in lists:
        yield from (str(name) for name in names if name not in instance)


def _unexpected(error: Any, place: Location) -> Iterator[Violation]:
    around = place.accepted
    given = [str(name) for name in error.instance]
    extra = [n for n in given if n not in around.names and not any(re.search(each, n) for each in around.patterns)]
    for name in extra:
        yield violation("unexpected", Location((*place.path, name), around=around, beside=error.instance))
    if not extra:
        yield violation("unexpected", place)


def _of_union(error: Any, place: Location, whole: Accepted) -> Iterator[Violation]:
    """Yield the faults of the branch that fits the value best, or one fault that names all branches.

    Branches that accept the value's JSON type come first; among them, the one whose constants match, then the one with
    the fewest faults.
    """
    branches: dict[Any, list[Any]] = {}
    for inner in error.context:
        branches.setdefault(inner.relative_schema_path[0], []).append(inner)
    meant = [faults for faults in branches.values() if not any(_is_of_type(fault) for fault in faults)]
    shared = _shared(meant)
    if not branches:
        yield violation("value", place, said="fits more than one of the forms that exclude each other")
    elif shared is not None:
        yield _of_constants(shared, place)
    elif meant:
        for inner in min(meant, key=_distance):
            yield from _violations(inner, place.path, whole)
    else:
        yield violation("type", place)


def _shared(branches: Sequence[Sequence[Any]]) -> Any:
    """Return the fault of a constant that every branch has at one location (such as `kind`), or None."""
    for fault in branches[0] if branches else ():
        if all(any(_is_constant(other, fault) for other in branch) for branch in branches):
            return fault
    return None


def _is_constant(error: Any, like: Any) -> bool:
    return error.validator in _CONSTANTS and like.validator in _CONSTANTS and error.relative_path == like.relative_path


def _of_constants(fault: Any, place: Location) -> Violation:
    """Return the fault of a location where every branch has another constant; all of them are accepted there."""
    accepted = place.accepted
    for step in fault.relative_path:
        accepted = accepted.below(step)
    inner = Location((*place.path, *fault.relative_path), fault.instance, accepted)
    return violation("enum", inner, expected=accepted.words_beside_values)


def _is_of_type(error: Any) -> bool:
    return error.validator == "type" and not error.relative_path


def _distance(faults: Sequence[Any]) -> tuple[int, int]:
    return sum(fault.validator in _CONSTANTS for fault in faults), len(faults)
