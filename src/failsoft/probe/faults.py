"""Faulty calls: each is a call that works with one thing wrong in it."""

from __future__ import annotations

import copy
import random
import re
import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rapidfuzz.distance import DamerauLevenshtein

from failsoft.probe.samples import WAITS, Harvest, values_for
from failsoft.probe.schemas import ToolInfo

_UNEXPECTED = "failsoft_probe_parameter"
_LONG = 20_000
_A_KIND = 2
_CONTROL = "\x00\x1b[31m\u202e"
SURROGATE = "\ud800"
_ID_WORDS = re.compile(
    r"(?:^|_|(?<=[a-z]))(?:id|ids|path|paths|file|filename|key|slug|name|names|uri|url|table|repo|directory|folder|"
    r"timezone|branch|revision)s?$",
    re.IGNORECASE,
)
_FREE_TEXT = re.compile(
    r"query|search|text|content|message|body|expression|formula|sql|code|prompt|regex|pattern|title$", re.IGNORECASE
)
_ENDING = re.compile(r"\.\w{1,5}$")
_LIMITS = re.compile(r"limit|max|count|size|depth|length|rows|head|top|per_?page", re.IGNORECASE)
_OF_FORMATS = re.compile(r"date|time|email|url|uri|uuid|ipv[46]|timezone", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FaultyCall:
    """A faulty call.

    Args:
        kind: As in `probe.schema.json`; `none` for a call that fits the schema.
        tool: The tool that it is about.
        sent_tool: The name that is sent, another one for `unknown_tool`.
        arguments: What is sent.
        meant: The arguments of the call that was meant.
        field: The parameter that is wrong.
        accepted: What a good answer names, of which one suffices: a right name, values, a bound; if empty, nothing.
        is_declared: Whether the schema says that it is wrong, so that success is wrong too.
    """

    kind: str
    tool: str
    sent_tool: str
    arguments: Mapping[str, Any]
    meant: Mapping[str, Any]
    field: str = ""
    accepted: tuple[str, ...] = ()
    is_declared: bool = True


def faults_of(
    tool: ToolInfo, base: Mapping[str, Any], names: Iterable[str], harvest: Harvest, seed: int
) -> list[FaultyCall]:
    """Return the faults for a tool, at most two of a kind, the same for the same seed.

    Args:
        tool: The tool.
        base: Arguments that work, or that the schema accepts.
        names: The names of all tools.
        harvest: What other tools returned.
        seed: Chooses parameters and misspellings.
    """
    dice = random.Random(f"{seed} {tool.name}".encode(errors="surrogatepass"))  # noqa: S311 - a report can be made again
    maker = _Maker(tool, base, harvest, dice)
    made = (
        maker.missing(),
        maker.misspelt(),
        maker.unexpected(),
        maker.types(),
        maker.enums(),
        maker.ranges(),
        maker.values(),
        maker.unknown_tool([*names]),
        maker.formats(),
        maker.lengths(),
        maker.control(),
        maker.sizes(),
        maker.plain("cancel"),
        maker.plain("parallel"),
    )
    found: list[FaultyCall] = []
    for kind in made:
        faults = [*kind]
        found += faults if len(faults) <= _A_KIND else dice.sample(faults, _A_KIND)
    return found


class _Maker:
    def __init__(self, tool: ToolInfo, base: Mapping[str, Any], harvest: Harvest, dice: random.Random) -> None:
        self._tool, self._base, self._harvest, self._dice = tool, dict(base), harvest, dice
        self._parameters = [*tool.parameters.values()]

    def _fault(self, kind: str, sent: Mapping[str, Any], field: str = "", **more: Any) -> FaultyCall:
        meant = more.pop("meant", self._base)
        return FaultyCall(kind, self._tool.name, self._tool.name, sent, meant, field, **more)

    def _with(self, name: str, value: Any) -> dict[str, Any]:
        return {**copy.deepcopy(self._base), name: value}

    def missing(self) -> Iterator[FaultyCall]:
        for one in self._tool.required:
            sent = {name: value for name, value in self._base.items() if name != one.name}
            yield self._fault("missing", sent, one.name)

    def misspelt(self) -> Iterator[FaultyCall]:
        known = set(self._tool.parameters)
        for one in self._tool.required or self._parameters[:1]:
            wrong = misspelling(one.name, self._dice)
            if wrong in known or self._tool.is_open or WAITS.search(one.name):
                continue
            value = self._base.get(one.name)
            if value is None:
                value = values_for(one, self._tool, self._harvest)[0]
            sent = {wrong if name == one.name else name: given for name, given in self._with(one.name, value).items()}
            yield self._fault("misspelt", sent, wrong, meant=self._with(one.name, value), accepted=(one.name,))

    def unexpected(self) -> Iterator[FaultyCall]:
        if not self._tool.is_open:
            yield self._fault("unexpected", self._with(_UNEXPECTED, "yes"), _UNEXPECTED)

    def types(self) -> Iterator[FaultyCall]:
        wrong: dict[str, Any] = {
            "integer": "many",
            "number": "many",
            "boolean": "perhaps",
            "string": {"value": ["?"]},
            "array": 7,
            "object": "none",
        }
        for one in self._parameters:
            if one.type in wrong and not one.schema.get("several") and not one.choices:
                words = (one.type, *_TYPE_WORDS.get(one.type, ()))
                yield self._fault("type", self._with(one.name, wrong[one.type]), one.name, accepted=words)

    def enums(self) -> Iterator[FaultyCall]:
        for one in self._parameters:
            texts = [value for value in one.choices if isinstance(value, str) and value]
            if not texts:
                continue
            right = self._dice.choice(texts)
            wrong = misspelling(right, self._dice)
            if wrong.lower() not in {text.lower() for text in texts}:
                sent, meant = self._with(one.name, wrong), self._with(one.name, right)
                yield self._fault("enum", sent, one.name, meant=meant, accepted=tuple(texts))

    def ranges(self) -> Iterator[FaultyCall]:
        for one in self._parameters:
            if one.type not in {"integer", "number"}:
                continue
            schema = one.schema
            low, high = schema.get("minimum"), schema.get("maximum")
            above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
            for bound, value in ((high, (high or 0) + 1), (low, (low or 0) - 1), (above, above), (below, below)):
                if isinstance(bound, (int, float)) and not isinstance(bound, bool):
                    yield self._fault("range", self._with(one.name, value), one.name, accepted=_written(bound))
                    break

    def values(self) -> Iterator[FaultyCall]:
        for name, value in self._base.items():
            parameter = self._tool.parameters.get(name)
            if parameter is None or parameter.choices or not isinstance(value, str) or _FREE_TEXT.search(name):
                continue
            is_known = bool(_ID_WORDS.search(name) or parameter.examples or self._harvest.values(name, self._tool))
            if not is_known or len(value) <= 1 or value.startswith("http"):
                continue
            is_shaped = bool(parameter.schema.get("pattern") or parameter.schema.get("format"))
            wrong = [another(value, self._dice), *([] if is_shaped else [misspelling(value, self._dice)])]
            for one in dict.fromkeys(wrong):
                if one != value:
                    yield self._fault("value", self._with(name, one), name, is_declared=False)

    def unknown_tool(self, names: list[str]) -> Iterator[FaultyCall]:
        wrong = misspelling(self._tool.name, self._dice)
        closest = min(names, key=lambda name: (DamerauLevenshtein.distance(_flat(wrong), _flat(name)), name))
        if closest == self._tool.name and _flat(wrong) not in {_flat(name) for name in names}:
            yield FaultyCall("unknown_tool", self._tool.name, wrong, self._base, self._base, "", (self._tool.name,))

    def formats(self) -> Iterator[FaultyCall]:
        for one in self._parameters:
            said = one.schema.get("format") or one.schema.get("pattern")
            if one.type != "string" or one.choices:
                continue
            if said:
                yield self._fault("format", self._with(one.name, "not so"), one.name)
            elif one.is_required and _OF_FORMATS.search(one.name):
                yield self._fault("format", self._with(one.name, "not so"), one.name, is_declared=False)

    def lengths(self) -> Iterator[FaultyCall]:
        for one in self._parameters:
            schema = one.schema
            longest, most = schema.get("maxLength"), schema.get("maxItems")
            if one.type == "string" and isinstance(longest, int) and longest < _LONG * 10 and not one.choices:
                yield self._fault(
                    "length", self._with(one.name, "a" * (longest + 1)), one.name, accepted=(str(longest),)
                )
            elif one.type == "array" and isinstance(most, int) and most < _LONG // 10 and one.name in self._base:
                sent = self._with(one.name, [*self._base[one.name], *self._base[one.name]] * (most + 1))
                yield self._fault("length", sent, one.name, accepted=(str(most),))
            elif one.type == "string" and one.is_required and not one.choices:
                yield self._fault("length", self._with(one.name, "a" * _LONG), one.name, is_declared=False)

    def control(self) -> Iterator[FaultyCall]:
        texts = [one for one in self._parameters if isinstance(self._base.get(one.name), str) and not one.choices]
        for one in texts[:1]:
            value = self._base[one.name]
            for marks in (_CONTROL, SURROGATE):
                yield self._fault("control", self._with(one.name, f"{value}{marks}"), one.name, is_declared=False)

    def sizes(self) -> Iterator[FaultyCall]:
        sent = dict(self._base)
        for one in self._parameters:
            if one.type in {"integer", "number"} and _LIMITS.search(one.name):
                sent[one.name] = one.schema.get("maximum", 100_000)
            elif one.type in {"string", ""} and re.search("query|search|pattern|filter", one.name, re.IGNORECASE):
                sent[one.name] = sent.get(one.name, "a")
        if sent != self._base:
            yield self._fault("size", sent, is_declared=False)

    def plain(self, kind: str) -> Iterator[FaultyCall]:
        yield self._fault(kind, self._base, is_declared=False)


def _written(bound: float) -> tuple[str, ...]:
    """Return how a bound may be written."""
    whole = [str(int(bound)), f"{int(bound):,}"] if float(bound).is_integer() else []
    return (f"{bound:g}", str(bound), *whole)


_TYPE_WORDS = {
    "integer": ("int", "number", "whole", "numeric", "usize", "i32", "i64", "u32", "u64", "int64"),
    "number": ("float", "numeric", "integer", "f32", "f64", "float64", "double"),
    "boolean": ("bool", "true", "false"),
    "string": ("str", "text"),
    "array": ("list", "sequence", "slice"),
    "object": ("dict", "mapping", "map", "struct", "model"),
}


def another(value: str, dice: random.Random) -> str:
    """Return a text of the same shape that is likely to name nothing: with other digits, or other last letters."""
    at_least = 2
    places = [place for place, one in enumerate(value) if one.isdigit()][-4:]
    if len(places) < at_least:
        stem = len(value) - len(_ENDING.sub("", value))
        places = [place for place in range(len(value) - stem) if value[place].isalpha()][-3:]
    made = list(value)
    for place in places:
        letters = "0123456789" if made[place].isdigit() else string.ascii_lowercase
        other = dice.choice([one for one in letters if one != made[place].lower()])
        made[place] = other.upper() if made[place].isupper() else other
    return "".join(made)


def misspelling(word: str, dice: random.Random) -> str:
    """Return a word with two letters swapped, or one doubled; never the word."""
    places = [
        place
        for place in range(1, len(word) - 1)
        if word[place].isalpha() and word[place + 1].isalpha() and word[place] != word[place + 1]
    ]
    if places and len(word) > 3:  # noqa: PLR2004 - a shorter word would become another
        place = dice.choice(places)
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    place = next((at for at in range(len(word) - 1, -1, -1) if word[at].isalnum()), len(word) - 1)
    return word[: place + 1] + (word[place : place + 1] or "x") + word[place + 1 :]


def strings(tree: Any) -> list[str]:
    """Return every text in a tree."""
    if isinstance(tree, Mapping):
        return [text for value in tree.values() for text in strings(value)]
    if isinstance(tree, list):
        return [text for value in tree for text in strings(value)]
    return [tree] if isinstance(tree, str) else []


def _flat(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
