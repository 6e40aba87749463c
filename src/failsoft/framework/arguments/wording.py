"""Words one violation of an argument, the same way for every validator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from failsoft.framework.arguments.accepted import NOTHING_KNOWN, Accepted, one_of, source_of
from failsoft.framework.arguments.corrected import in_another_form, leaves_of
from failsoft.framework.arguments.schemas import ALLOWED_AT_MOST
from failsoft.framework.errors.corrections import Correction, correction, how_far
from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.safe.redaction import is_content, withhold_contents
from failsoft.framework.safe.secret_names import is_secret_name
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import QUOTED_AT_MOST, bounded, json_type, named, printable, quoted

ABSENT: Any = object()
"""Marks a value that was not received or is not known."""
ECHO_AT_MOST = 60
"""Characters of a received value that may be echoed."""
INTEGER_BELOW = 10**ECHO_AT_MOST
"""The first positive integer that is not echoed."""
_SECRET_AT_LEAST = 8
"""Characters below which a text does not look like a secret."""
_STEP_AT_MOST = 100
_OF_FORM = frozenset({"pattern", "format"})
_JSON_AT_MOST = 1_500
"""Characters of a suggestion that is a list or an object."""
TOO_MUCH = Violation(
    path="",
    reason="value",
    message="they have too many faults, or faults in too large a value, to list; correct them and call again",
    expected="arguments that fit the schema",
)
NOT_JSON = Violation(
    path="",
    reason="format",
    message="they cannot be written as JSON (a cycle, or text that is not Unicode)",
    expected="a JSON object",
)


class Place:
    """A value in the arguments, and what the schema accepts there.

    Args:
        above: The enclosing value; None at the root.
        step: Its name or position in there.
        value: As received; `ABSENT` where it is missing or not known.
        accepted: What is accepted; by default what `above` accepts there, found only when asked for, since most values
            have no fault.
    """

    __slots__ = ("_accepted", "above", "step", "value")

    def __init__(
        self, above: Place | None, step: str | int, value: Any = ABSENT, accepted: Accepted | None = None
    ) -> None:
        self.above = above
        self.step = step
        self.value = value
        self._accepted = accepted

    @property
    def accepted(self) -> Accepted:
        """What is accepted here."""
        if self._accepted is None:
            self._accepted = NOTHING_KNOWN if self.above is None else self.above.accepted.below(self.step)
        return self._accepted

    def held_to(self, schema: Any) -> Place:
        """Return the same place, held to one branch of its schema."""
        return Place(self.above, self.step, self.value, self.accepted.held_to([schema]))

    @property
    def is_secret(self) -> bool:
        """Whether the schema marks the value as secret, or a part of it, or what it is a part of."""
        place: Place | None = self if self.accepted.marks_secrets else None
        while place is not None:
            if place.accepted.is_secret:
                return True
            place = place.above
        return self.accepted.holds_secrets

    def path(self) -> tuple[str | int, ...]:
        """Return the steps from the root: names and list positions."""
        if self.above is not None and self.above.above is None:  # most places are arguments
            return (self.step,)
        steps: list[str | int] = []
        place = self
        while place.above is not None:
            steps.append(place.step)
            place = place.above
        return tuple(reversed(steps))


@dataclass(slots=True)
class Misfit:
    """One fault, not yet in words.

    Args:
        reason: Its kind.
        place: Where it is.
        expected: What would be accepted, if the schema does not say it better.
        said: A complete clause instead of the usual one.
    """

    reason: Reason
    place: Place
    expected: str = ""
    said: str = ""


def violation(fault: Misfit) -> Violation:
    """Return the fault as data, its message bounded and without the value received."""
    reason, place, expected = fault.reason, fault.place, fault.expected
    path = place.path()
    if reason == "unexpected" and place.above is not None:
        return _unexpected(dotted(path), str(place.step), place.above)
    accepted = place.accepted
    if reason == "missing":
        expected = _with_source(accepted.words or bounded(expected), place)
        message = bounded(f"is missing ({expected})") if expected else "is missing"
        return Violation(path=dotted(path), reason=reason, message=message, expected=expected, is_standard=True)
    allowed = accepted.values
    if reason == "type":
        expected = accepted.words_of_type or expected
    elif reason == "enum" and allowed:
        expected = " or ".join(filter(None, [one_of(allowed), expected]))
    elif reason in _OF_FORM and expected:
        expected = _with_source(expected, place)
    is_content_alone = _is_content_alone(path, place.value) and not place.is_secret
    private = place.is_secret or _is_private(path, place.value)
    expected = bounded(expected)
    found = None if private and not is_content_alone else _correction(reason, place, allowed)
    is_said = found is not None and not private and _is_sendable(found.meant)
    return Violation(
        path=dotted(path),
        reason=reason,
        message=bounded(fault.said) if fault.said else _clause(reason, place, expected),
        expected=expected,
        allowed=tuple(filter(_is_json_scalar, allowed[:ALLOWED_AT_MOST])) if allowed else (),
        suggestion=found.meant if found is not None and is_said else None,
        received=None if private or place.value is ABSENT or not _is_json_scalar(place.value) else place.value,
        how_far=found and found.how_far,
        unsaid=found.meant if found is not None and not is_said else None,
        omit=reason == "type" and _is_null_for_absent(place),
        is_standard=not fault.said,
    )


def unresolved(path: str, value: Any, schema: Mapping[str, Any]) -> Violation:
    """Return the violation for a reference whose look-up found nothing.

    Args:
        path: Where it is in the arguments.
        value: The reference.
        schema: The JSON Schema of the arguments, whose description may say where references come from.
    """
    name, *_ = steps = path.split(".")
    named_value = quoted(value, ECHO_AT_MOST) if isinstance(value, str) and not _is_private(steps, value) else "it"
    source = source_of(str(schema.get("properties", {}).get(name, {}).get("description", "")))
    message = f"{named_value} does not exist{f'; expected one {source}' if source else ''}"
    return Violation(path=path, reason="reference", message=message)


def _with_source(expected: str, place: Place) -> str:
    """Return what is expected, with the tool that it comes from if the description says so."""
    sources = {} if place.above is None else place.above.accepted.sources
    return bounded(f"{expected}, {sources[place.step]}") if place.step in sources else expected


def _unexpected(path: str, name: str, holder: Place) -> Violation:
    around = holder.accepted
    given = holder.value if isinstance(holder.value, (dict, Mapping)) else ()
    free = [option for option in around.readable_names if option not in given]
    found = correction(name, free, what="parameter", changes=around.changes, aliases=around.aliases)
    own = around.aliases.get(name)
    if own is not None and own in given:
        message = f"is another name of {named(str(own))}, which was sent too"
        return Violation(path=path, reason="unexpected", message=message, expected="one of the two names")
    return Violation(
        path=path,
        reason="unexpected",
        message=around.refusal_of_a_name,
        expected=around.words_of_names,
        allowed=around.listed_names,
        suggestion=found and found.meant,
        how_far=found and found.how_far,
        is_standard=bool(around.names),
    )


def _clause(reason: Reason, place: Place, expected: str) -> str:
    if not expected:
        return "is not acceptable"
    clause = f"expected {expected[: QUOTED_AT_MOST - 60]}"
    if reason == "type" and place.value is not ABSENT:
        kind = json_type(place.value)
        if f" or {kind} " not in f" or {expected} ":
            clause += f", got {kind}"
        if _is_null_for_absent(place):
            clause += "; leave it out to give none"
    return clause


def _is_null_for_absent(place: Place) -> bool:
    """Return whether null was sent for an optional argument, as many callers do for those that they do not give.

    Not in a call that changes something: there null may be meant.
    """
    if place.value is not None or place.above is None:
        return False
    around = place.above.accepted
    return not around.changes and place.step in around.names and place.step not in around.required


def _is_too_long(text: str) -> bool:
    """Return whether a text is too long for a suggestion and is not JSON sent as text."""
    return len(text) > (_JSON_AT_MOST if text.lstrip()[:1] in {"[", "{"} else ECHO_AT_MOST)


def _correction(reason: Reason, place: Place, allowed: Sequence[Any]) -> Correction | None:
    """Return what was probably meant; it may echo input."""
    value = place.value
    if reason not in {"enum", "type"} or value is ABSENT or (isinstance(value, str) and _is_too_long(value)):
        return None
    accepted = place.accepted
    changes = accepted.changes
    found = correction(value, allowed, what="enum", changes=changes) if allowed else None
    if found is not None:
        return found
    kinds = accepted.kinds
    if reason == "enum":  # beside a closed list, other types may be accepted
        kinds -= frozenset(map(json_type, allowed))
    meant = in_another_form(value, kinds, accepted.below(0).kinds if "array" in kinds else frozenset())
    if meant is None:
        return None
    answer = how_far(value, meant, what="value", changes=changes)
    if answer == "list" and isinstance(value, str):  # it may have a unit
        answer = how_far(value, meant, what="value", changes=changes, about=_about(place))
    return Correction(meant, answer) if answer in {"use", "ask"} else None


def _about(place: Place) -> str:
    """Return what the schema says of a value, its unit among it."""
    own = place.accepted.description
    if place.above is None or not isinstance(place.step, str):
        return own
    return f"{place.step} {place.above.accepted.described(place.step)} {own}"


def _is_sendable(value: Any) -> bool:
    """Return whether a suggestion is plain JSON and short: it may echo input."""
    if isinstance(value, (list, dict)):
        text = str(value)
        fits = len(text) <= _JSON_AT_MOST and redact_text(text) == text and withhold_contents(value) == value
        return fits and all(map(_is_printable, leaves_of(value)))
    return value is not None and _is_json_scalar(value)


def _is_printable(value: Any) -> bool:
    return printable(value) == value if isinstance(value, str) else _is_json_scalar(value)


def _is_json_scalar(value: Any) -> bool:
    """Return whether a value is short and readable as JSON."""
    if isinstance(value, str):
        fits = len(value) <= ECHO_AT_MOST
        return fits and ((value.isascii() and value.isprintable()) or printable(value) == value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) < INTEGER_BELOW)


def _is_private(path: Sequence[str | int], value: Any) -> bool:
    """Return whether a value must not be echoed: it is long, looks like a secret, or is the content of a file."""
    for step in path:
        if isinstance(step, str) and (is_secret_name(step) or is_content(step, value)):
            return True
    if isinstance(value, str):
        return len(value) >= _SECRET_AT_LEAST and redact_text(value[: ECHO_AT_MOST + 1]) != value
    if isinstance(value, (list, tuple, dict)):
        return len(value) > ECHO_AT_MOST or bool(withhold_contents(value) != value)
    return False


def _is_content_alone(path: Sequence[str | int], value: Any) -> bool:
    """Return whether a private value is a list or an object, or their JSON, and not named as a secret."""
    is_json = isinstance(value, (list, dict)) or (isinstance(value, str) and value.lstrip()[:1] in {"[", "{"})
    return is_json and not any(isinstance(step, str) and is_secret_name(step) for step in path)


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
