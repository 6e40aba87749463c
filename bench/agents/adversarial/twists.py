"""Adversarial cases that are made of each meant call: what is nearest to the sent call is not what was meant."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from agents.adversarial.cases import Call, Case, Meant, Trade, differ, is_accepted
from agents.adversarial.faults import choices, firsts, renamed, replaced
from agents.adversarial.words import CURRENCIES, IMPERIAL, UNITS, VERBS, opposites
from agents.adversarial.worlds import Tool, World, tools

__all__ = ["twists"]

Twist = tuple[str, str, str, Call | None, Call]
"""Kind, what was done, what is wanted if it is not what the meant call is for, the call that does it, and the sent."""
AS_SENT = "Exactly what the call says, which nothing on this server does."
DIGITS = 4
ADJECTIVES = ("ed", "al", "ent", "ive", "ing", "ic", "y", "open", "urgent")
"""Endings of words that have a sense with `un-` and `pre-`."""
OTHER_CURRENCIES = {"eur": ("usd", "chf"), "usd": ("cad", "eur"), "gbp": ("eur", "egp")}


def _is_two_sided(tool: Tool, name: str) -> bool:
    """Return whether a flag that is false says the opposite; as a filter it mostly says that all will do."""
    words = name.split("_")
    return "only" not in words and (not tool.read_only or "include" in words)


def _opposite_names(tool: Tool, given: Mapping[str, Any]) -> Iterator[Twist]:
    words = {word for name in tool.parameters for word in name.split("_")}
    for name, value in given.items():
        found = [(other, word) for other, word in opposites(name) if word not in words]
        if isinstance(value, bool):
            if not _is_two_sided(tool, name):
                continue
            found.append((f"not_{name}", "not"))
        for other, _ in found:
            sent = (tool.name, renamed(given, name, other))
            if isinstance(value, bool):
                says = f"`{other}` is {value}, so `{name}` is {not value}; everything else as the call says."
                yield "opposite", f"{name}, {other}", says, (tool.name, replaced(given, name, not value)), sent
            elif not any(word == "not" for word in other.split("_")):
                yield "opposite", f"{name}, {other}", AS_SENT, None, sent


def _negated_values(tool: Tool, given: Mapping[str, Any]) -> Iterator[Twist]:
    for name, value in given.items():
        if isinstance(value, bool):
            says = f"`{name}` is false; everything else as the call says."
            yield (
                *("negation", f"{name}, no", says, (tool.name, replaced(given, name, False))),  # noqa: FBT003 - the value
                (tool.name, replaced(given, name, "no")),
            )
        listed = choices(tool.parameters[name].annotation) if name in tool.parameters else ()
        if not isinstance(value, str) or value not in listed:
            continue
        if {*listed} <= {*CURRENCIES}:
            for other in [one for one in CURRENCIES if one not in listed][:3]:
                yield "currency", f"{name}, {other}", AS_SENT, None, (tool.name, replaced(given, name, other))
            continue
        others = [other for other, word in opposites(value) if word not in "_".join(listed).split("_")]
        for other in others:
            yield "opposite", f"{name}, {other}", AS_SENT, None, (tool.name, replaced(given, name, other))
        forms = [f"not {value}", f"non-{value}"] if len(listed) > 2 else []
        if value.endswith(ADJECTIVES):
            forms += [f"pre-{value}", *([f"un{value}"] if len(listed) > 2 else [])]
        for other in forms:
            yield "negation", f"{name}, {other}", AS_SENT, None, (tool.name, replaced(given, name, other))


def _number(value: Any, factor: Fraction) -> float | None:
    """Return a value in another unit, if people would write it."""
    found = Fraction(str(value)) * factor
    if (found * 10**DIGITS).denominator != 1:
        return None
    return int(found) if found.denominator == 1 else float(found)


def _numbers(given: Mapping[str, Any]) -> Iterator[tuple[str, Any, str, str]]:
    """Yield the numbers whose names have a last word: name, value, the name without it, and the word."""
    for name, value in given.items():
        stem, _, unit = name.rpartition("_")
        if stem and isinstance(value, (int, float)) and not isinstance(value, bool):
            yield name, value, stem, unit


def _units(tool: Tool, given: Mapping[str, Any]) -> Iterator[Twist]:
    """Yield the same amounts in other units, by the name or in the value."""
    for name, value, stem, unit in _numbers(given):
        meant = (tool.name, dict(given))
        for other, factor in UNITS.get(unit, ()):
            number = _number(value, factor)
            if number is None or f"{stem}_{other}" in tool.parameters:
                continue
            sent = renamed(given, name, f"{stem}_{other}", number)
            yield "unit", f"{name}, {stem}_{other}", "", meant, (tool.name, sent)
            if other != "ratio":
                text = f"{number}%" if other == "percent" else f"{number} {other}"
                yield "unit", f"{name}, {text}", "", meant, (tool.name, replaced(given, name, text))
        if unit == "cents" and (number := _number(value, Fraction(1, 100))) is not None and stem not in tool.parameters:
            yield "unit", f"{name}, {stem}", "", meant, (tool.name, renamed(given, name, stem, number))
        if unit == "celsius" and (number := _number(value, Fraction(9, 5))) is not None:
            sent = replaced(given, name, f"{number + 32} F")
            yield "unit", f"{name}, Fahrenheit", "", meant, (tool.name, sent)


def _foreign(tool: Tool, given: Mapping[str, Any]) -> Iterator[Twist]:
    """Yield amounts in units that are no round part of the right one, and in other currencies."""
    for name, value, stem, unit in _numbers(given):
        if unit in IMPERIAL:
            other, factor = IMPERIAL[unit]
            number = int(value) + 1
            right = (tool.name, replaced(given, name, float(number * factor)))
            says = f"`{name}` is as much as {number} {other}; everything else as the call says."
            yield "unit", f"{name}, {other}", says, right, (tool.name, replaced(given, name, f"{number} {other}"))
        for other in OTHER_CURRENCIES.get(unit, ()):
            sent = renamed(given, name, f"{stem}_{other}")
            yield "currency", f"{name}, {other}", AS_SENT, None, (tool.name, sent)
            sent = replaced(given, name, f"{value} {other.upper()}")
            yield "currency", f"{name}, {other.upper()}", AS_SENT, None, (tool.name, sent)


def _siblings(value: str, *, is_spelled: bool) -> list[str]:
    """Return an id with another digit, early or late, and with two swapped, which in a spelled name may be a typo."""
    places = [place for place, letter in enumerate(value) if letter.isdigit()]
    found = []
    for place in (places[-1:], places[:1], places[len(places) // 2 :][:1]):
        for at in place:
            found += [value[:at] + str((int(value[at]) + step) % 10) + value[at + 1 :] for step in (1, 3, 7)]
    if is_spelled:
        return found
    found += [value[:at] + value[at + 1] + value[at] + value[at + 2 :] for at in places if at + 1 in places]
    return found


def _ids(world: type[World], tool: Tool, given: Mapping[str, Any]) -> Iterator[Twist]:
    marked = [
        (name, mark)
        for one in tools(world).values()
        for name in one.parameters
        if (mark := one.known(name)) is not None and name not in tool.parameters
    ]
    for name, value in given.items():
        known = tool.known(name) if name in tool.parameters else None
        if known is None or not isinstance(value, str):
            continue
        near = _siblings(value, is_spelled=known.kind == "spelled")
        fresh = [one for one in near if one not in world.ids[known.what]]
        for other in dict.fromkeys(fresh[:1] + fresh[-2:]):
            yield "sibling id", f"{name}, {other}", AS_SENT, None, (tool.name, replaced(given, name, other))
        for what, ids in world.ids.items():
            if what != known.what and ids[0] not in world.ids[known.what]:
                sent = (tool.name, replaced(given, name, ids[0]))
                yield "other thing", f"{name}, a {what}", AS_SENT, None, sent
        for other, mark in dict(marked).items():
            if mark.what != known.what:
                sent = (tool.name, renamed(given, name, other, world.ids[mark.what][0]))
                yield "other thing", f"{name}, {other}", AS_SENT, None, sent


def _values(tool: Tool, given: Mapping[str, Any]) -> Iterator[Twist]:
    meant = (tool.name, dict(given))

    def sent(kind: str, name: str, value: Any) -> Twist:
        return kind, f"{name}, {value}", "", meant, (tool.name, replaced(given, name, value))

    for name, value in given.items():
        annotation = str(tool.parameters[name].annotation) if name in tool.parameters else ""
        if isinstance(value, str) and "datetime.datetime" in annotation:
            at = datetime.fromisoformat(value)
            yield sent("date", name, f"{at:%d/%m/%Y %H:%M} UTC")
            yield sent("date", name, f"{at:%m/%d/%Y %H:%M} UTC")
        elif isinstance(value, str) and "datetime.date" in annotation:
            day = date.fromisoformat(value)
            for form in (f"{day:%d.%m.%Y}", f"{day:%d/%m/%Y}", f"{day:%m/%d/%Y}", f"{day:%Y-%m-%d}T12:00:00Z"):
                yield sent("date", name, form)
        elif isinstance(value, list) and len(value) > 1 and all(isinstance(item, str) for item in value):
            yield sent("list", name, ", ".join(value))
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 1000:
            written = f"{value:,}"
            yield sent("number", name, written)
            yield sent("number", name, written.translate(str.maketrans(",.", ".,")))


def _bounds(tool: Tool, given: Mapping[str, Any]) -> Iterator[Twist]:
    """Yield writes of more and of less than the tool accepts; on reads nobody doubts that a page may be smaller."""
    for name, value in given.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not tool.read_only:
            for other in (value * 10_000, -value):
                yield "bound", f"{name}, {other}", AS_SENT, None, (tool.name, replaced(given, name, other))


def _extras(tool: Tool, given: Mapping[str, Any]) -> Iterator[Twist]:
    """Yield calls that ask for something that the tool cannot do."""
    annotations = " ".join(str(one.annotation) for one in tool.parameters.values())

    def sent(name: str, value: Any, says: str) -> Twist:
        return "extra", name, says, None, (tool.name, {**given, name: value})

    if tool.read_only:
        if "datetime" not in annotations:
            yield sent("as_of", "2025-01-01", "What the call says, as it was on 1 January 2025.")
        return
    if not any("dry" in name.split("_") for name in tool.parameters):
        yield sent("dry_run", True, "A rehearsal of what the call says, in which nothing is changed.")  # noqa: FBT003 - the value
    if "datetime" not in annotations:
        yield sent("not_before", "2027-01-31T08:00:00Z", "What the call says, but not before 31 January 2027.")


def _other_tools(world: type[World], tool: Tool, given: dict[str, Any]) -> Iterator[Twist]:
    names = [other for other, _ in opposites(tool.name, VERBS)]
    if not tool.read_only:
        names += [f"un{tool.name}", f"preview_{tool.name}", f"undo_{tool.name}"]
    for name in names:
        if name not in tools(world):
            yield "other tool", name, AS_SENT, None, (name, given)


def _nested(tool: Tool, given: Mapping[str, Any], put: Callable[[Any], Any]) -> Iterator[Twist]:
    """Yield what can be done inside an object: its parameters are those that were sent."""
    inner = Tool(tool.name, "", {}, tool.read_only, tool.destructive, tool.idempotent)
    for kind, how, says, meant, (_, sent) in (
        *_units(inner, given),
        *_foreign(inner, given),
        *_values(inner, given),
        *_bounds(inner, given),
    ):
        yield kind, how, says, None if meant is None else (tool.name, put(meant[1])), (tool.name, put(sent))


def _of_call(world: type[World], tool: Tool, given: dict[str, Any], *, is_first: bool) -> Iterator[Twist]:
    yield from _ids(world, tool, given)
    yield from _units(tool, given)
    yield from _foreign(tool, given)
    yield from _values(tool, given)
    yield from _bounds(tool, given)
    if is_first:
        yield from _opposite_names(tool, given)
        yield from _negated_values(tool, given)
        yield from _extras(tool, given)
        yield from _other_tools(world, tool, given)
    for outer, value in given.items():
        record = value[0] if isinstance(value, list) and value else value
        if isinstance(record, dict) and record:
            rest = value[1:] if isinstance(value, list) else None

            def put(changed: Any, outer: str = outer, rest: Any = rest) -> dict[str, Any]:
                return replaced(given, outer, changed if rest is None else [changed, *rest])

            for kind, how, *others in _nested(tool, record, put):
                yield (kind, f"{outer}.{how}", *others)  # type: ignore[misc] - the rest of a twist


def twists(trade: Trade) -> Iterator[Case]:
    """Yield the adversarial cases of a trade, each once; what is right as it was sent is none."""
    sent_before: set[str] = set()
    for number, (tool, wanted, is_first) in enumerate(firsts(trade), 1):
        for kind, how, says, meant, sent in _of_call(trade.world, tool, wanted.call[1], is_first=is_first):
            text = json.dumps(sent, sort_keys=True)
            if text in sent_before or is_accepted(trade.world, sent):
                continue
            if meant is not None and not (differ(sent, meant) and is_accepted(trade.world, meant)):
                continue
            sent_before.add(text)
            name = re.sub(r"\s+", " ", f"{number} {tool.name}: {kind}, {how}")
            yield Case(trade.name, name, kind, _words(wanted, says, sent), meant, sent)


def _words(wanted: Meant, says: str, sent: Call) -> str:
    return f"{says} It says: {sent[0]} {json.dumps(sent[1])}" if says else wanted.words
