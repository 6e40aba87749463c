"""Harmless faults, made of each meant call: the form is wrong, and nobody doubts what was meant."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Literal, get_args, get_origin
from zlib import crc32

from agents.adversarial.cases import Call, Case, Meant, Trade, differ, is_accepted
from agents.adversarial.worlds import Known, Tool, tools

__all__ = ["choices", "forms", "harmless", "renamed", "replaced", "typos"]

LONG_NAME = 6
LONG_WORD = 4
LONG_VALUE = 5
Fault = tuple[str, str, Call]
"""Kind, what was done, and the call that is sent."""


def forms(name: str) -> dict[str, str]:
    """Return a name in other case and with other separators, by what that is called."""
    words = name.split("_")
    title = "".join(word.title() for word in words)
    found = {
        "camel": words[0] + "".join(word.title() for word in words[1:]),
        "kebab": "-".join(words),
        "title": title,
        "upper": name.upper(),
    }
    return {how: form for how, form in found.items() if form != name}


def typos(name: str) -> dict[str, str]:
    """Return a name with one letter doubled, dropped, or swapped with the next, always at the same places.

    Short words are left alone: without its first letter `kg` is `g`.
    """
    long = [found for found in re.finditer(r"[^\W\d_]+", name) if len(found[0]) >= LONG_WORD]
    places = [place for found in long for place in range(found.start() + (found.start() == 0), found.end() - 1)]
    apart = [place for place in places if name[place] != name[place + 1]]
    if not apart:
        return {}

    def at(how: str) -> int:
        return apart[crc32(f"{name} {how}".encode()) % len(apart)]

    doubled, dropped, swapped = at("doubled"), at("dropped"), at("swapped")
    return {
        "doubled": name[: doubled + 1] + name[doubled:],
        "dropped": name[:dropped] + name[dropped + 1 :],
        "swapped": name[:swapped] + name[swapped + 1] + name[swapped] + name[swapped + 2 :],
    }


def renamed(arguments: Mapping[str, Any], old: str, new: str, value: Any = ...) -> dict[str, Any]:
    """Return arguments with another name, in the same place, and perhaps another value."""
    return {
        new if key == old else key: value if key == old and value is not ... else kept
        for key, kept in arguments.items()
    }


def replaced(arguments: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """Return arguments with another value."""
    return renamed(arguments, name, name, value)


def choices(annotation: Any) -> tuple[Any, ...]:
    """Return the values of a closed list; none if a type is no such list."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    found = [choices(part) for part in get_args(annotation) if not isinstance(part, (str, int, Known))]
    return next((one for one in found if one), ()) if get_origin(annotation) not in {list, dict, tuple} else ()


def _records(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], Callable[[Any], Any]]]:
    """Yield the objects among the arguments, alone or first in a list: name, object, and how a changed one is put."""
    for name, value in arguments.items():
        if isinstance(value, dict) and value:
            yield name, value, lambda changed: changed
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            rest = value[1:]
            yield name, value[0], lambda changed, rest=rest: [changed, *rest]


def _names(tool: str, arguments: Mapping[str, Any], known: Collection[str] = ()) -> Iterator[Fault]:
    for name in arguments:
        for how, form in forms(name).items():
            yield "name form", f"{name}, {how}", (tool, renamed(arguments, name, form))
        for how, typo in (typos(name) if len(name) >= LONG_NAME else {}).items():
            if typo not in arguments and typo not in known:
                yield "name typo", f"{name}, {how}", (tool, renamed(arguments, name, typo))


def _values(tool: str, arguments: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the values in other forms, which are the same values."""

    def sent(name: str, how: str, value: Any) -> Fault:
        return "value form", f"{name}, {how}", (tool, replaced(arguments, name, value))

    for name, value in arguments.items():
        if isinstance(value, bool):
            yield sent(name, "text", str(value).lower())
            yield sent(name, "title", str(value))
        elif isinstance(value, int):
            yield sent(name, "text", str(value))
            yield sent(name, "float", float(value))
        elif isinstance(value, float):
            yield sent(name, "text", f"{value:g}")
        elif isinstance(value, (list, dict)) and value:
            yield sent(name, "JSON", json.dumps(value))
            if isinstance(value, list) and len(value) == 1:
                yield sent(name, "single", value[0])


def _spellings(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield values of closed lists and spelled names in other case; for reads with one letter wrong as well."""
    for name, value in arguments.items():
        known = tool.known(name) if name in tool.parameters else None
        is_spelled = known is not None and known.kind == "spelled"
        listed = choices(tool.parameters[name].annotation) if name in tool.parameters else ()
        if not isinstance(value, str) or not (is_spelled or value in listed):
            continue
        for how, form in {"upper": value.upper(), "title": value.title(), "lower": value.lower()}.items():
            if form != value:
                yield "value case", f"{name}, {how}", (tool.name, replaced(arguments, name, form))
        if tool.read_only and len(value) >= LONG_VALUE:
            for how, typo in typos(value).items():
                if typo not in listed:
                    yield "value typo", f"{name}, {how}", (tool.name, replaced(arguments, name, typo))


def _of_call(tool: Tool, arguments: dict[str, Any], *, is_first: bool) -> Iterator[Fault]:
    name = tool.name
    yield from _values(name, arguments)
    yield from _spellings(tool, arguments)
    for outer, record, put in _records(arguments):
        for kind, how, (_, changed) in (*(_names(name, record) if is_first else ()), *_values(name, record)):
            yield kind, f"{outer}.{how}", (name, replaced(arguments, outer, put(changed)))
    if is_first:
        yield from _names(name, arguments, tool.parameters)
        for how, form in forms(name).items():
            yield "name form", how, (form, arguments)
        for how, typo in (typos(name) if len(name) >= LONG_NAME else {}).items():
            yield "name typo", how, (typo, arguments)
        yield "value form", "wrapped", (name, {"arguments": arguments})


def firsts(trade: Trade) -> Iterator[tuple[Tool, Meant, bool]]:
    """Yield what is meant, with its tool, and whether it is the first of that tool."""
    seen: set[str] = set()
    for meant in trade.meant:
        name = meant.call[0]
        yield tools(trade.world)[name], meant, name not in seen
        seen.add(name)


def harmless(trade: Trade) -> Iterator[Case]:
    """Yield the harmless faults of a trade, each once."""
    sent_before: set[str] = set()
    for number, (tool, meant, is_first) in enumerate(firsts(trade), 1):
        for kind, how, sent in _of_call(tool, meant.call[1], is_first=is_first):
            text = json.dumps(sent, sort_keys=True)
            if text in sent_before or not differ(sent, meant.call) or is_accepted(trade.world, sent):
                continue
            sent_before.add(text)
            yield Case(
                trade.name, f"{number} {tool.name}: {kind}, {how}", kind, meant.words, meant.call, sent, harmless=True
            )
