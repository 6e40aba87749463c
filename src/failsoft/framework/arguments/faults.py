"""Why arguments were refused: one fault a place, from the published schema; an author's own checks beside it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from failsoft.framework.arguments.accepted import NOTHING_KNOWN, Accepted
from failsoft.framework.arguments.patterns import found_in
from failsoft.framework.arguments.schemas import Schema, mapping
from failsoft.framework.arguments.values import (
    beyond,
    faults_of_number,
    faults_of_size,
    faults_of_text,
    is_of,
    same_json,
    unique_key,
)
from failsoft.framework.arguments.wording import ABSENT, TOO_MUCH, Misfit, Place, violation
from failsoft.framework.errors.violations import Violation

VIOLATIONS_AT_MOST = 200
"""Maximum number of violations, so that a million wrong items do not make a million violations."""
_UNKNOWN_AT_MOST = 20
"""Unknown names of one object that are listed: each is compared with all names that there are."""
_COMPARED_AT_MOST = 10_000
"""Pairs of an unknown name and a known one that are compared."""
_COMPARED_IN_A_STEP = 4
_GONE_THROUGH_IN_A_STEP = 1_000
_STEPS_AT_MOST = 20_000
"""Values and schemas that are looked at for one refusal, some 30 ms."""
COMBINING = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas"})
"""Keywords with schemas of the same value."""


def _by_place(faults: Iterable[Misfit]) -> dict[tuple[str | int, ...], Misfit]:
    """Return the first fault of each place."""
    found: dict[tuple[str | int, ...], Misfit] = {}
    for fault in faults:
        found.setdefault(fault.place.path(), fault)
        if len(found) == VIOLATIONS_AT_MOST:
            break
    return found


class Explanation:
    """Finds every fault of a value by its schema.

    Args:
        accepted: What the whole schema accepts.
    """

    def __init__(self, accepted: Accepted) -> None:
        self._whole = accepted
        self._steps = _STEPS_AT_MOST

    @property
    def is_whole(self) -> bool:
        """Whether everything was looked at."""
        return self._steps >= 0

    def faults(self, value: Any, at: Iterable[str | int] = ()) -> list[Misfit]:
        """Return the faults, one a place, in the schema's order.

        Args:
            value: What the whole schema is of.
            at: Where the value is, if that is not the root.
        """
        return list(_by_place(self._of(self._whole.schema, _at(at, value, self._whole))).values())

    def by_place(self, value: Any, names: Iterable[Any]) -> dict[tuple[str | int, ...], Misfit]:
        """Return the faults of arguments by their places: of these alone, where the schema is that of plain parameters.

        Args:
            value: The arguments.
            names: Of the arguments that have faults, in their order.
        """
        schema, place = self._whole.schema, Place(None, "", value, self._whole)
        properties = mapping(schema, "properties")
        is_plain = properties and schema.get("additionalProperties") is False and COMBINING.isdisjoint(schema)
        if type(value) is not dict or not is_plain:
            return _by_place(self._of(schema, place))
        found: list[Misfit] = []
        unknown = 0
        for name in names:
            if name in value:
                below = properties.get(name)
                at = Place(place, name, value[name])
                if below is not None:
                    found += self._of(below, at)
                elif (unknown := unknown + 1) <= _UNKNOWN_AT_MOST:
                    found.append(Misfit("unexpected", at))
            elif name in properties:
                found.append(Misfit("missing", Place(place, name)))
            else:
                return _by_place(self._of(schema, place))
        return {found[0].place.path(): found[0]} if len(found) == 1 else _by_place(found)

    def _of(self, schema: Any, place: Place) -> list[Misfit]:
        """Return the faults of one value by one schema."""
        self._steps -= 1
        if schema is True or self._steps < 0 or not isinstance(schema, dict):
            return [Misfit("unexpected", place)] if schema is False else []
        value = place.value
        self._steps -= len(value) // _GONE_THROUGH_IN_A_STEP if isinstance(value, (str, list, dict)) else 0
        if "enum" in schema or "const" in schema:
            listed = [schema["const"]] if "const" in schema else schema["enum"]
            self._steps -= len(listed) // _COMPARED_IN_A_STEP
            if not any(same_json(value, option) for option in listed):
                return [Misfit("enum" if value is not None else "type", place)]
        elif "type" in schema and not is_of(schema["type"], value):
            return [Misfit("type", place)]
        found: list[Misfit] = []
        if isinstance(value, str):
            found += [Misfit(reason, place, expected) for reason, expected in faults_of_text(schema, value)]
        elif isinstance(value, dict):
            found += self._of_object(schema, place)
        elif isinstance(value, (list, tuple)):
            found += self._of_list(schema, place)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found += [Misfit(reason, place, expected) for reason, expected in faults_of_number(schema, value)]
        return found if COMBINING.isdisjoint(schema) else found + self._combined(schema, place)

    def _fits(self, schema: Any, place: Place) -> bool:
        return not self._of(schema, place)

    def _of_object(self, schema: Schema, place: Place) -> Iterator[Misfit]:
        value = place.value
        properties = mapping(schema, "properties")
        required = schema.get("required") or ()
        for name, below in properties.items():
            if name in value:
                yield from self._of(below, Place(place, name, value[name]))
            elif name in required:
                yield Misfit("missing", Place(place, name))
        yield from self._missing(schema, place)
        yield from self._of_other_names(schema, place, properties.keys())
        for reason, expected in faults_of_size(schema, len(value), "Properties"):
            yield Misfit(reason, place, expected)

    def _missing(self, schema: Schema, place: Place) -> Iterator[Misfit]:
        value = place.value
        names = [name for name in schema.get("required") or () if name not in mapping(schema, "properties")]
        for keyword in ("dependentRequired", "dependencies"):
            for trigger, needed in mapping(schema, keyword).items():
                if trigger in value and isinstance(needed, list):
                    names += needed
                elif trigger in value:
                    yield from self._of(needed, place)
        for name in names:
            if isinstance(name, str) and name not in value:
                yield Misfit("missing", Place(place, name))

    def _of_other_names(self, schema: Schema, place: Place, known: Collection[str]) -> Iterator[Misfit]:
        patterns = mapping(schema, "patternProperties")
        others, names = schema.get("additionalProperties", True), schema.get("propertyNames", True)
        if others is True and not patterns and names is True and "unevaluatedProperties" not in schema:
            return
        if schema.get("unevaluatedProperties") is False and others is True:
            others, known = False, {*known, *self._named_below(schema)}
        unknown, most = 0, min(_UNKNOWN_AT_MOST, 1 + _COMPARED_AT_MOST // (len(known) + 1))
        for key, item in place.value.items():
            name = key if isinstance(key, str) else str(key)
            at = Place(place, name, item)
            by_pattern = [below for pattern, below in patterns.items() if found_in(pattern, name)]
            for below in by_pattern:
                yield from self._of(below, at)
            if not by_pattern and name not in known and others is not True:
                unknown += others is False
                if unknown <= (most if others is False else math.inf):
                    yield from [Misfit("unexpected", at)] if others is False else self._of(others, at)
            elif names is not True and not self._fits(names, Place(place, name, name)):
                yield Misfit("unexpected", at)
            self._steps -= 1 + len(patterns) // _COMPARED_IN_A_STEP
            if self._steps < 0 or (unknown > most and not patterns and names is True):
                return

    def _named_below(self, schema: Any, depth: int = 8) -> set[str]:
        """Return the names that a schema knows, those in its parts for the same value among them."""
        if not isinstance(schema, Mapping) or depth == 0:
            return set()
        found = {*mapping(schema, "properties")}
        parts = [schema.get(keyword) for keyword in ("if", "then", "else")]
        parts += [part for keyword in ("allOf", "anyOf", "oneOf") for part in schema.get(keyword) or ()]
        parts += mapping(schema, "dependentSchemas").values()
        if "$ref" in schema:
            parts.append(self._whole.resolved(schema["$ref"]))
        return found.union(*(self._named_below(part, depth - 1) for part in parts))

    def _of_list(self, schema: Schema, place: Place) -> Iterator[Misfit]:
        value = place.value
        yield from (Misfit(reason, place, expected) for reason, expected in faults_of_size(schema, len(value), "Items"))
        if len(value) > schema.get("maxItems", math.inf):  # what is in it does not matter then, as to pydantic
            return
        prefix = schema.get("prefixItems") or ()
        items: Any = schema.get("items", True)
        if isinstance(items, list):  # before draft 2020-12
            prefix, items = items, schema.get("additionalItems", True)
        if items is False and len(value) > len(prefix):
            reason, expected = beyond("maxItems", len(prefix))
            yield Misfit(reason, place, expected)
        told = 0
        for index, item in enumerate(value):
            below = prefix[index] if index < len(prefix) else items
            if below is True or below is False:
                continue
            faults = self._of(below, Place(place, index, item))
            yield from faults
            told += bool(faults)
            if told >= VIOLATIONS_AT_MOST or self._steps < 0:
                return
        if schema.get("uniqueItems") is True and len({unique_key(item) for item in value}) < len(value):
            yield Misfit("value", place, "items that all differ")
        if "contains" in schema:
            fitting = sum(self._fits(schema["contains"], Place(place, index, one)) for index, one in enumerate(value))
            least, most = schema.get("minContains", 1), schema.get("maxContains", math.inf)
            if not least <= fitting <= most:
                reason, expected = beyond("minContains", least) if fitting < least else beyond("maxContains", most)
                yield Misfit(reason, place, expected)

    def _combined(self, schema: Schema, place: Place) -> list[Misfit]:
        found: list[Misfit] = []
        for keyword in ("$ref", "$dynamicRef"):
            if keyword in schema:
                found += self._of(self._whole.resolved(schema[keyword]), place)
        for part in schema.get("allOf") or ():
            found += self._of(part, place)
        for trigger, part in mapping(schema, "dependentSchemas").items():
            if isinstance(place.value, dict) and trigger in place.value:
                found += self._of(part, place)
        if "if" in schema:
            found += self._of(schema.get("then" if self._fits(schema["if"], place) else "else", True), place)
        for keyword in ("anyOf", "oneOf"):
            if isinstance(schema.get(keyword), list):
                found += self._of_union(schema, schema[keyword], place, is_exclusive=keyword == "oneOf")
        is_forbidden = "not" in schema and self._fits(schema["not"], place)
        return [*found, Misfit("value", place)] if is_forbidden else found

    def _of_union(
        self, schema: Schema, branches: Sequence[Any], place: Place, *, is_exclusive: bool
    ) -> Sequence[Misfit]:
        """Return the faults of the branch that was meant: THE rule, for signatures and JSON Schemas.

        A branch that accepts the value's JSON type was meant. Of several, if each has another constant at one place
        (`kind`), that is the fault; else the nearest one (`_distance`).
        """
        tag = mapping(schema, "discriminator").get("propertyName")
        if isinstance(tag, str) and isinstance(place.value, dict) and tag not in place.value:
            return [Misfit("missing", Place(place, tag))]
        tried = [(branch, self._of(branch, place)) for branch in branches]
        fitting = sum(not faults for _, faults in tried)
        if fitting > 1 and is_exclusive:
            return [Misfit("value", place, said="fits more than one of the forms that exclude each other")]
        return () if fitting else self._of_meant(tried, place)

    def _of_meant(self, tried: Sequence[tuple[Any, list[Misfit]]], place: Place) -> Sequence[Misfit]:
        meant = [one for one in tried if not any(_is_at(place, fault) and _is_of_type(fault) for fault in one[1])]
        if not meant:
            is_listed = any(_is_at(place, fault) and fault.reason == "enum" for _, faults in tried for fault in faults)
            return [Misfit("enum", place, place.accepted.words_beside_values) if is_listed else Misfit("type", place)]
        shared = _shared_constant([faults for _, faults in meant])
        if shared is not None:
            return [_at_union(shared, place)]
        at_place = [fault for _, faults in meant for fault in faults[:1] if _is_at(place, fault)]
        if len(meant) > 1 and len(at_place) == len(meant):
            words = dict.fromkeys(fault.expected for fault in at_place if fault.expected)
            return [Misfit(at_place[0].reason, place, " or ".join(words))]
        branch, faults = min(meant, key=_distance)
        if _is_at(place, faults[0]) and faults[0].reason == "enum":
            return [Misfit("enum", place, place.accepted.words_beside_values)]
        return self._of(branch, place.held_to(branch))


def _is_at(place: Place, fault: Misfit) -> bool:
    return fault.place.above is place.above and fault.place.step == place.step


def _is_of_type(fault: Misfit) -> bool:
    """Return whether a fault is that the value has another JSON type than its schema, or than its listed values."""
    if fault.reason == "enum":
        return not any(is_of(kind, fault.place.value) for kind in fault.place.accepted.kinds_of_values)
    return fault.reason == "type"


def _shared_constant(branches: Sequence[Sequence[Misfit]]) -> Misfit | None:
    """Return the fault of a constant that every branch has at one place; None if there is none, or one branch."""
    if len(branches) > 1:
        places = [{fault.place.path() for fault in faults if fault.reason == "enum"} for faults in branches]
        for fault in branches[0]:
            if fault.reason == "enum" and all(fault.place.path() in each for each in places):
                return fault
    return None


def _at_union(fault: Misfit, union: Place) -> Misfit:
    """Return the fault of a constant with the constants of all branches."""
    place = union
    for step in fault.place.path()[len(union.path()) :]:
        place = Place(place, step, place.value[step])
    return Misfit("enum", place, place.accepted.words_beside_values)


def _distance(tried: tuple[Any, Sequence[Misfit]]) -> tuple[int, int, int]:
    """Return how far a branch is from what was meant: by wrong constants, faults, and names that are missing."""
    reasons = [fault.reason for fault in tried[1]]
    return reasons.count("enum"), len(reasons), reasons.count("missing")


def explained(accepted: Accepted, value: Any) -> list[Violation]:
    """Return every fault of a value by its schema; none if it has none, or if only the validator knows it.

    Raises:
        RecursionError: It is nested too deeply.
    """
    explanation = Explanation(accepted)
    found = list(map(violation, explanation.faults(value)))
    return found if found or explanation.is_whole else [TOO_MUCH]


def violations_from_error(error: Any) -> list[Violation]:
    """Return the violations of a `jsonschema.ValidationError`."""
    accepted = Accepted.by(error.schema if isinstance(error.schema, Mapping) else {})
    faults = Explanation(accepted).faults(error.instance, at=error.absolute_path)
    return [violation(fault) for fault in faults] or [fault_of(error)]


def fault_of(error: Any) -> Violation:
    """Return the violation for an error of `jsonschema` that the schema does not explain, by its place alone."""
    return violation(Misfit("value", _at(error.absolute_path, error.instance, NOTHING_KNOWN)))


def _at(path: Iterable[str | int], value: Any, accepted: Accepted) -> Place:
    """Return the place of a value in arguments of which nothing else is known."""
    place = None
    steps = ("", *path)
    for step in steps[:-1]:
        place = Place(place, step, ABSENT, NOTHING_KNOWN)
    return Place(place, steps[-1], value, accepted)
