"""Words one violation of an argument, the same way for every validator."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from failsoft.framework.arguments.accepted import NOTHING_KNOWN, Accepted
from failsoft.framework.arguments.corrected import in_another_form
from failsoft.framework.arguments.schemas import ALLOWED_AT_MOST, one_of
from failsoft.framework.errors.corrections import Correction, correction, how_far
from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.safe.redaction import is_content, withhold_contents
from failsoft.framework.safe.secrets import is_secret_name, redact_text
from failsoft.framework.text import QUOTED_AT_MOST, bounded, json_type, named, printable

ABSENT: Any = object()
"""Marks a value that was not received or is not known."""
_ECHO_AT_MOST = 60
"""Characters of a received value that may be echoed."""
_SECRET_AT_LEAST = 8
"""Characters below which a text does not look like a secret."""
_STEP_AT_MOST = 100
_JSON_AT_MOST = 1_500
"""Characters of a suggestion that is a list or an object."""


@dataclass(slots=True)
class Location:
    """The location of a fault, and what is known about it.

    Args:
        path: Steps from the arguments' root: names and list positions.
        value: The value received.
        accepted: What is accepted.
        around: What is accepted in the enclosing object.
        beside: The enclosing object as received; its names are not suggested as corrections.
    """

    path: tuple[str | int, ...]
    value: Any = ABSENT
    accepted: Accepted = NOTHING_KNOWN
    around: Accepted = NOTHING_KNOWN
    beside: Any = ABSENT


def violation(
    reason: Reason, place: Location, *, expected: str = "", said: str = "", listed: Sequence[Any] = ()
) -> Violation:
    """Return the fault as data, its message bounded and without the value received.

    Args:
        reason: The kind of fault.
        place: Where it is.
        expected: What would be accepted, if the schema does not say it better.
        said: A complete clause instead of the usual one.
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
    found = None if private and not _is_content_alone(place) else _correction(reason, place, allowed)
    is_said = found is not None and not private and _is_sendable(found.meant)
    return Violation(
        path=dotted(place.path),
        reason=reason,
        message=bounded(said) if said else _clause(reason, place, expected),
        expected=expected,
        allowed=tuple(filter(_is_json_scalar, allowed[:ALLOWED_AT_MOST])) if allowed else (),
        suggestion=found.meant if found is not None and is_said else None,
        received=None if private else _echo(place.value),
        how_far=found and found.how_far,
        unsaid=found.meant if found is not None and not is_said else None,
        omit=reason == "type" and _is_null_for_absent(place),
        is_standard=not said,
    )


def _missing(place: Location, expected: str) -> Violation:
    expected = place.accepted.words or bounded(expected)
    message = bounded(f"is missing ({expected})") if expected else "is missing"
    return Violation(path=dotted(place.path), reason="missing", message=message, expected=expected, is_standard=True)


def _unexpected(place: Location) -> Violation:
    name = str(place.path[-1]) if place.path else ""
    around = place.around
    given = place.beside if isinstance(place.beside, (dict, Mapping)) else ()
    free = [option for option in around.names if option not in given]
    found = correction(name, free, what="parameter", changes=around.changes, aliases=around.aliases)
    own = around.aliases.get(name)
    if own is not None and own in given:
        message = f"is another name of {named(str(own))}, which was sent too"
        return Violation(path=dotted(place.path), reason="unexpected", message=message, expected="one of the two names")
    return Violation(
        path=dotted(place.path),
        reason="unexpected",
        message=around.refusal_of_a_name,
        expected=around.words_of_names,
        allowed=around.names[:ALLOWED_AT_MOST],
        suggestion=found and found.meant,
        how_far=found and found.how_far,
        is_standard=bool(around.names),
    )


def _clause(reason: Reason, place: Location, expected: str) -> str:
    if not expected:
        return "is not acceptable"
    clause = f"expected {expected[: QUOTED_AT_MOST - 60]}"
    if reason == "type" and place.value is not ABSENT:
        kind = json_type(place.value)
        if f" or {kind} " not in f" or {expected} ":
            clause += f", got {kind}"
        if _is_null_for_absent(place):
            clause = f"leave it out instead of null, or give {expected[: QUOTED_AT_MOST - 60]}"
    return clause


def _is_optional(place: Location) -> bool:
    name = place.path[-1] if place.path else None
    return name in place.around.names and name not in place.around.required


def _is_null_for_absent(place: Location) -> bool:
    """Return whether null was sent for an optional argument, as many callers do for those that they do not give.

    Not in a call that changes something: there null may be meant.
    """
    return place.value is None and not place.around.changes and _is_optional(place)


def _is_too_long(text: str) -> bool:
    """Return whether a text is too long for a suggestion and is not JSON sent as text."""
    return len(text) > (_JSON_AT_MOST if text.lstrip()[:1] in {"[", "{"} else _ECHO_AT_MOST)


def _correction(reason: Reason, place: Location, allowed: Sequence[Any]) -> Correction | None:
    """Return what was probably meant; it may echo input."""
    value = place.value
    if reason not in {"enum", "type"} or value is ABSENT or (isinstance(value, str) and _is_too_long(value)):
        return None
    changes = place.accepted.changes
    found = correction(value, allowed, what="enum", changes=changes) if allowed else None
    if found is None and reason == "type":
        kinds = place.accepted.kinds
        meant = in_another_form(value, kinds, place.accepted.below(0).kinds if "array" in kinds else frozenset())
        answer = how_far(value, meant, what="value", changes=changes)
        if answer == "list" and meant is not None and isinstance(value, str):  # it may have a unit
            answer = how_far(value, meant, what="value", changes=changes, about=_about(place))
        found = Correction(meant, answer) if meant is not None and answer in {"use", "ask"} else None
    return found


def _about(place: Location) -> str:
    """Return what the schema says of a value, its unit among it."""
    name = place.path[-1] if place.path else ""
    described = place.around.described(name) if isinstance(name, str) else ""
    return f"{name} {described} {place.accepted.description}"


def _is_sendable(value: Any) -> bool:
    """Return whether a suggestion is plain JSON and short: it may echo input."""
    if isinstance(value, (list, dict)):
        text = str(value)
        fits = len(text) <= _JSON_AT_MOST and redact_text(text) == text and withhold_contents(value) == value
        return fits and all(map(_is_printable, _leaves_of(value)))
    return value is not None and _is_json_scalar(value)


def _leaves_of(value: Any) -> Iterator[Any]:
    """Yield every name and every scalar in a JSON tree."""
    if isinstance(value, (list, dict)):
        for item in value:
            yield from _leaves_of(item)
        if isinstance(value, dict):
            for item in value.values():
                yield from _leaves_of(item)
    else:
        yield value


def _is_printable(value: Any) -> bool:
    return printable(value) == value if isinstance(value, str) else _is_json_scalar(value)


def _echo(value: Any) -> Any:
    return value if value is not ABSENT and _is_json_scalar(value) else None


def _is_json_scalar(value: Any) -> bool:
    """Return whether a value is short and readable as JSON."""
    if isinstance(value, str):
        fits = len(value) <= _ECHO_AT_MOST
        return fits and ((value.isascii() and value.isprintable()) or printable(value) == value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) < 10**_ECHO_AT_MOST)


def _is_private(place: Location) -> bool:
    """Return whether a value must not be echoed: it is long, looks like a secret, or is the content of a file."""
    value = place.value
    for step in place.path:
        if isinstance(step, str) and (is_secret_name(step) or is_content(step, value)):
            return True
    if isinstance(value, str):
        return len(value) >= _SECRET_AT_LEAST and redact_text(value[: _ECHO_AT_MOST + 1]) != value
    if isinstance(value, (list, tuple, dict)):
        return len(value) > _ECHO_AT_MOST or bool(withhold_contents(value) != value)
    return False


def _is_content_alone(place: Location) -> bool:
    """Return whether a private value is a list or an object, or their JSON, and not named as a secret."""
    is_secret = any(isinstance(step, str) and is_secret_name(step) for step in place.path)
    value = place.value
    is_json = isinstance(value, (list, dict)) or (isinstance(value, str) and value.lstrip()[:1] in {"[", "{"})
    return is_json and not is_secret


def quotable(text: str, place: Location) -> str:
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
    if len(path) == 1 and len(name := str(path[0])) <= _STEP_AT_MOST:
        return _name(name)
    steps = ".".join(map(str, path))
    if len(steps) > _STEP_AT_MOST:
        steps = ".".join([bounded(str(step), _STEP_AT_MOST) for step in path])
    return bounded(steps)


@lru_cache(maxsize=1_024)
def _name(text: str) -> str:
    """Return a short name, printable. Cached, since most names come from schemas."""
    return bounded(text)
