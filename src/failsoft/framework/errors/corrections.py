"""How far a correction may go: the same letters, a slip in writing, or something that means something else.

Pure functions over two names or values: nothing here knows a schema. Operations that are not read-only are held to
them (contract: what a next step may say).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from failsoft.framework.text import json_type

__all__ = [
    "is_same_form",
    "is_same_spelling",
    "is_same_value",
    "is_slip",
    "means_something_else",
    "slip_of",
    "unique_names",
]

_LENGTH_AT_MOST = 80
"""Characters of a name that are compared: the cost grows with the product of both lengths."""
_JSON_AT_MOST = 100_000
_OPTIONS_AT_MOST = 500
_LETTERS_PER_SLIP = 5
_SEPARATORS = re.compile(r"(?<=[^\W_])[\s_.-]+(?=[^\W_])")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\s_.-]+(?=\d)")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_DIGITS = re.compile(r"\d+")
_ROLE = re.compile(r"(.+?)(?:[eo]r|(ee))s?")
"""Who does something, and to whom it is done: `payer`, `payee`."""
_UNCLEAR = re.compile(r"^(?:$|[\[{\"])|[,;|&\s]|\.\.|^[^.]*/[^.]*$")
"""A text that may be nothing, JSON that is cut off or quoted, or several values; a path mostly has a dot."""
_BOOLEANS = {"true": True, "false": False}

_OPPOSITES = (
    "min minimum max maximum mean median average avg sum total",
    "from to",
    "first last",
    "head tail",
    "start end begin finish stop",
    "source target src dst destination origin",
    "sender recipient receiver",
    "before after since until",
    "left right",
    "top bottom up down upper lower",
    "north south east west",
    "high low",
    "in out input output inbound outbound incoming outgoing",
    "include exclude included excluded including excluding",
    "enable disable enabled disabled on off",
    "allow deny block allowed denied blocked",
    "add remove delete append",
    "increase decrease increment decrement",
    "open close opened closed",
    "lock unlock",
    "grant revoke",
    "import export",
    "upload download unload",
    "internal external",
    "public private",
    "buy sell buyer seller",
    "debit credit",
    "old new",
    "parent child",
    "asc desc ascending descending",
    "gross net",
    "host guest",
    "home away",
    "arrival departure",
    "male female",
    "day night",
    "am pm",
    "replay reply",
    "clone close",
    "county country",
    "casual causal",
    "trail trial",
    "personal personnel",
    "message massage",
    "reserve reverse reserved reversed",
    "prescribe proscribe",
    "quit quiet quite",
    "weather whether",
)
"""Words of which one never stands for another: opposites, and different words that are nearly spelled alike."""
_MEASURES = (
    "cent cents euro euros eur usd gbp chf jpy dollar dollars pound pounds price cost fee",
    "ns us ms s sec secs second seconds min mins minute minutes h hr hrs hour hours day days week weeks month months",
    "quarter quarters year years date time timestamp duration age",
    "b kb mb gb tb kib mib gib byte bytes bit bits size",
    "mcg ug mg g kg t lb lbs oz gram grams kilogram kilograms ton tons tonne tonnes weight",
    "um nm mm cm m km inch inches ft foot feet yd yard yards mi mile miles length width height depth",
    "ml cl dl l litre litres liter liters gal gallon gallons mol mmol umol molar volume",
    "c f k celsius fahrenheit kelvin w kw mw wh kwh mwh v mv kv a ma",
    "pct percent percentage ratio fraction rate count counts number amount quantity qty total delta offset index",
    "id ids uuid name names key code hash url uri path email phone",
)
"""Units, quantities and kinds of values, none of which stands for another."""
_PREFIXES = ("un non in im ir il dis de re pre post under over anti bi semi sub super mis co ex",)
"""Prefixes that negate a word or turn it into another one."""
_SHORT = 3
"""Letters of words that one wrong letter makes another word: `mg`, `kg`."""
_GROUPED = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")
"""A number whose dots may be those of thousands: `41.300`."""


@lru_cache(maxsize=1_024)
def _plain(name: str) -> str:
    """Return a name without case, and without separators but between digits and at its ends.

    >>> _plain("max_Results"), _plain("1.5"), _plain("A-")
    ('maxresults', '1.5', 'a-')
    """
    marked = _BETWEEN_DIGITS.sub(lambda found: f"\0{found[0]}\0", name.strip())
    parts = re.split("(\0[^\0]*\0)", marked)
    return (
        "".join([part if part.startswith("\0") else _SEPARATORS.sub("", part) for part in parts])
        .replace("\0", "")
        .casefold()
    )


def is_same_spelling(given: str, meant: str) -> bool:
    """Return whether two names differ only in case and in separators between words.

    >>> is_same_spelling("fromAccount", "from_account"), is_same_spelling("v1.5", "v15"), is_same_spelling("A-", "A")
    (True, False, False)
    """
    return len(given) <= _LENGTH_AT_MOST and _plain(given) == _plain(meant)


def is_slip(given: str, meant: str) -> bool:
    """Return whether a name is another one with at most one wrong letter in five, and does not mean something else.

    It means something else with another number, unit or quantity, between opposites, with or without a negating or
    opposing prefix, and where a word begins with another letter.

    >>> is_slip("from_acount", "from_account"), is_slip("max_temperature", "min_temperature")
    (True, False)
    >>> is_slip("unpaid_order", "paid_order"), is_slip("weight_kg", "weight_g"), is_slip("line1", "line2")
    (False, False, False)
    """
    if is_same_spelling(given, meant):
        return True
    if max(len(given), len(meant)) > _LENGTH_AT_MOST or _DIGITS.findall(given) != _DIGITS.findall(meant):
        return False
    plain, other = _plain(given), _plain(meant)
    most = max(len(plain), len(other)) // _LETTERS_PER_SLIP
    return _edits(plain, other, most) <= most and not means_something_else(given, meant)


def slip_of(given: str, options: Iterable[str]) -> str | None:
    """Return the option that a name is in another case or spelling; None if there are several, or none.

    >>> slip_of("Min_Price", ["min_price", "max_price"]), slip_of("mix_price", ["min_price", "max_price"])
    ('min_price', None)
    """
    listed = list(dict.fromkeys(options))[:_OPTIONS_AT_MOST]
    same = [option for option in listed if is_same_spelling(given, option)]
    near = same or [option for option in listed if is_slip(given, option)]
    return near[0] if len(near) == 1 else None


def _edits(one: str, other: str, most: int) -> int:
    from rapidfuzz.distance import OSA  # noqa: PLC0415 - 8 ms that only a misspelt name pays for

    return OSA.distance(one, other, score_cutoff=most)


def means_something_else(given: str, meant: str) -> bool:
    """Return whether words of two similar names differ in more than their spelling."""
    one, other = _words(given), _words(meant)
    gone = [word for word in one if word not in other]
    new = [word for word in other if word not in one]
    if not gone or not new:  # a word more or less, or another order
        return gone != new
    if len(gone) != len(new):  # words written apart or as one: only the whole can be compared
        gone, new = ["".join(gone)], ["".join(new)]
    return any(_is_another_word(before, after) for before, after in zip(gone, new, strict=True))


def _is_another_word(given: str, meant: str) -> bool:
    is_swapped = len(given) == len(meant) and given[:2] == meant[1::-1]
    begins_alike = given[0] == meant[0] or is_swapped
    if not begins_alike or max(len(given), len(meant)) <= _SHORT or 1 in {len(given), len(meant)}:
        return True
    if {given, meant} <= _words_of(_MEASURES):
        return True
    short, long = sorted((given, meant), key=len)
    if long.endswith(short) and long[: -len(short)] in _words_of(_PREFIXES):
        return True
    one, other = _ROLE.fullmatch(given), _ROLE.fullmatch(meant)
    if one and other and one[1] == other[1] and one[2] != other[2]:
        return True
    return any(given in group and meant in group for group in _opposites())


@cache
def _opposites() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(group.split()) for group in _OPPOSITES)


@cache
def _words_of(lines: tuple[str, ...]) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


def _words(name: str) -> list[str]:
    return [word.casefold() for word in _WORDS.findall(name)]


def is_same_form(given: Any, meant: Any) -> bool:
    """Return whether a value is another one in a different JSON form: its text, or one value for a list of one.

    >>> is_same_form("5", 5), is_same_form("a", ["a"]), is_same_form('["a"]', ["a"]), is_same_form(20.0, 20)
    (True, True, True, True)
    >>> is_same_form("5 kg", 5), is_same_form(1, True), is_same_form("41.300", 41.3), is_same_form("a, b", ["a, b"])
    (False, False, False, False)
    >>> is_same_form("", [""]), is_same_form('["a"', ['["a"'])  # nothing, and a text that is cut off
    (False, False)
    """
    if isinstance(given, str) and not isinstance(meant, str):
        is_only_item = meant == [given] and _UNCLEAR.search(given.strip()) is None
        return is_only_item or _is_json_of(given.strip(), meant)
    if isinstance(meant, list) and len(meant) == 1 and not isinstance(given, list):
        meant = meant[0]
    kinds = {json_type(given), json_type(meant)}
    return given is not None and bool(given == meant) and (len(kinds) == 1 or kinds == {"integer", "number"})


def _is_json_of(text: str, meant: Any) -> bool:
    """Return whether a text is a value's JSON, or that of the only item of a list."""
    if isinstance(meant, bool):
        return _BOOLEANS.get(text.casefold()) is meant
    try:
        is_clear = len(text) <= _JSON_AT_MOST and not _GROUPED.fullmatch(text)
        parsed = json.loads(text, object_pairs_hook=unique_names) if is_clear else None
    except (ValueError, RecursionError):
        return False
    if isinstance(parsed, dict) and isinstance(meant, list):
        parsed = [parsed]
    return is_same_form(parsed, meant)


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object: an `object_pairs_hook`.

    Raises:
        ValueError: It has a name twice, so that it is not certain which value was meant.
    """
    made = dict(pairs)
    if len(made) < len(pairs):
        msg = "a name twice"
        raise ValueError(msg)
    return made


def is_same_value(given: Any, meant: Any) -> bool:
    """Return whether a value is another one in a different JSON form, or the same word in another case."""
    if isinstance(given, str) and isinstance(meant, str):
        return is_same_spelling(given, meant)
    return is_same_form(given, meant)
