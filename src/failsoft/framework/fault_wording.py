"""One fault of one argument put into words: the same wording whichever validator found it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from failsoft.framework.accepted import NOTHING_KNOWN, Accepted
from failsoft.framework.did_you_mean import closest_name, closest_value, coerced
from failsoft.framework.redaction import is_content, is_secret_name, redact_text, withhold_contents
from failsoft.framework.schema_words import ALLOWED_AT_MOST, json_type, one_of
from failsoft.framework.text import QUOTED_AT_MOST, bounded, printable
from failsoft.framework.violations import Reason, Violation

__all__ = ["ABSENT", "Place", "dotted", "quotable", "violation"]

ABSENT: Any = object()
"""Stands for a value that was not received, or that is not known."""

_ECHO_AT_MOST = 60
"""Characters of a received value that may be echoed."""
_SECRET_AT_LEAST = 8
"""Characters below which a text does not look like a secret."""
_STEP_AT_MOST = 100


@dataclass(slots=True)
class Place:
    """Where a fault is, and what is known about that place.

    Args:
        path: Steps from the arguments' root: names and list positions.
        value: What was received there.
        accepted: What is accepted there.
        around: What is accepted in the object that it stands in.
        beside: That object as received; none of its names is suggested for another one.
    """

    path: tuple[str | int, ...]
    value: Any = ABSENT
    accepted: Accepted = NOTHING_KNOWN
    around: Accepted = NOTHING_KNOWN
    beside: Any = ABSENT


def violation(
    reason: Reason, place: Place, *, expected: str = "", said: str = "", listed: Sequence[Any] = ()
) -> Violation:
    """Return the fault as data, its message bounded and without the value received.

    Args:
        reason: The kind of fault.
        place: Where it is.
        expected: What would be accepted, if the schema does not say it better.
        said: A whole clause in place of the usual one.
        listed: The accepted values, if the schema does not list them.
    """
    if reason == "missing":
        return _missing(place, expected)
    if reason == "unexpected":
        return _unexpected(place)
    allowed = place.accepted.values or tuple(listed)
    if reason == "type":
        expected = place.accepted.words_of_type or expected
    elif reason == "enum" and allowed:
        expected = " or ".join(filter(None, [one_of(allowed), expected]))
    private = _is_private(place)
    expected = bounded(expected)
    return Violation(
        path=dotted(place.path),
        reason=reason,
        message=bounded(said) if said else _clause(reason, place, expected),
        expected=expected,
        allowed=tuple(filter(_is_json_scalar, allowed[:ALLOWED_AT_MOST])) if allowed else (),
        suggestion=None if private else _suggestion(reason, place, allowed),
        received=None if private else _echo(place.value),
    )


def _missing(place: Place, expected: str) -> Violation:
    expected = bounded(place.accepted.words or expected)
    message = f"is required: expected {expected}" if expected else "is required"
    return Violation(path=dotted(place.path), reason="missing", message=bounded(message), expected=expected)


def _unexpected(place: Place) -> Violation:
    name = str(place.path[-1]) if place.path else ""
    names = place.around.names
    given = place.beside if isinstance(place.beside, (dict, Mapping)) else ()
    return Violation(
        path=dotted(place.path),
        reason="unexpected",
        message=place.around.refusal_of_a_name,
        expected=place.around.words_of_names,
        allowed=names[:ALLOWED_AT_MOST],
        suggestion=closest_name(name, [option for option in names if option not in given]),
    )


def _clause(reason: Reason, place: Place, expected: str) -> str:
    if not expected:
        return "is not acceptable"
    clause = f"expected {expected[: QUOTED_AT_MOST - 60]}"
    if reason == "type" and place.value is not ABSENT:
        kind = json_type(place.value)
        if f" or {kind} " not in f" or {expected} ":
            clause += f", got {kind}"
        if place.value is None and _is_optional(place):  # many callers write null for what they do not want to say
            clause += " (leave it out instead)"
    return clause


def _is_optional(place: Place) -> bool:
    name = place.path[-1] if place.path else None
    return name in place.around.names and name not in place.around.required


def _suggestion(reason: Reason, place: Place, allowed: Sequence[Any]) -> Any:
    if place.value is ABSENT or (isinstance(place.value, str) and len(place.value) > _ECHO_AT_MOST):
        return None
    if allowed and reason in {"enum", "type"}:
        return _sendable(closest_value(place.value, allowed))
    same = coerced(place.value, place.accepted.kinds) if reason == "type" else None
    if isinstance(same, str) and place.accepted.is_formatted:  # a number is no date, not even written as text
        return None
    return _sendable(same)


def _sendable(value: Any) -> Any:
    """Return a suggestion if it is plain JSON and short, else None: a suggestion is an echo too."""
    if isinstance(value, (list, dict)):
        items = value.values() if isinstance(value, dict) else value
        names = value if isinstance(value, dict) else ()
        fits = len(value) <= ALLOWED_AT_MOST and all(_is_json_scalar(item) for item in (*items, *names))
        return value if fits and len(str(value)) <= 2 * _ECHO_AT_MOST else None
    return value if value is not None and _is_json_scalar(value) else None


def _echo(value: Any) -> Any:
    return value if value is not ABSENT and _is_json_scalar(value) else None


def _is_json_scalar(value: Any) -> bool:
    """Return whether a value is short, and can be written as JSON and read by a person as it is."""
    if isinstance(value, str):
        fits = len(value) <= _ECHO_AT_MOST
        return fits and ((value.isascii() and value.isprintable()) or printable(value) == value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) < 10**_ECHO_AT_MOST)


def _is_private(place: Place) -> bool:
    """Return whether a value is not to be echoed: long, a secret by name or looks, or the content of a file."""
    value = place.value
    for step in place.path:
        if isinstance(step, str) and (is_secret_name(step) or is_content(step, value)):
            return True
    if isinstance(value, str):
        return len(value) >= _SECRET_AT_LEAST and redact_text(value[: _ECHO_AT_MOST + 1]) != value
    return isinstance(value, (list, tuple, dict)) and bool(withhold_contents(value) != value)


def quotable(text: str, place: Place) -> str:
    """Return the sentence of an author's own check, or nothing if it repeats what was received."""
    clean = bounded(text).strip().rstrip(".")
    is_named_secret = any(isinstance(step, str) and is_secret_name(step) for step in place.path)
    if is_named_secret or any(leaf in clean for leaf in _leaves(place.value)):
        return ""
    return redact_text(clean)


def _leaves(value: Any, depth: int = 3) -> list[str]:
    """Return the texts in a value that would be recognized in a sentence: four characters and more."""
    if isinstance(value, str):
        return [value, bounded(value).strip()] if len(value) > 3 else []  # noqa: PLR2004 - 'a' is in every sentence
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        short = not isinstance(value, int) or abs(value) < 10**_ECHO_AT_MOST
        return [str(value)] if short and len(str(value)) > 3 else []  # noqa: PLR2004 - the same
    if depth and isinstance(value, (Mapping, list, tuple)):
        items = list(value.values() if isinstance(value, Mapping) else value)[:ALLOWED_AT_MOST]
        return [leaf for item in items for leaf in _leaves(item, depth - 1)]
    return []


def dotted(path: Sequence[str | int]) -> str:
    """Return `edits.0.limit`, printable and bounded."""
    steps = ".".join(map(str, path)) if len(path) != 1 else str(path[0])
    if len(steps) > _STEP_AT_MOST:
        steps = ".".join([bounded(str(step), _STEP_AT_MOST) for step in path])
    return bounded(steps)
