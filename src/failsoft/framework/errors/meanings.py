"""Words that look alike and mean something else: opposites, units and quantities, negating prefixes, roles.

Pure functions and the lists that they read; `errors/corrections.py` decides by them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

from failsoft.framework.text import has_another_letter

_OPPOSITES = """
min minimum max maximum mean median average avg sum total
from to; first last; head tail; start end begin finish stop; before after since until; left right; above below
source target src dst destination origin; sender recipient receiver; top bottom; up down; upper lower
north south east west; high low; highest lowest; in out; input output; inbound outbound; incoming outgoing
include exclude; included excluded; including excluding; inclusive exclusive; enable disable; enabled disabled; on off
allow deny block; allowed denied blocked forbidden; add remove delete append insert create; accept reject
accepted rejected; increase decrease; increment decrement; open close; opened closed; opening closing; lock unlock
grant revoke; import export; upload download unload; internal external; public private; buy sell; buyer seller
debit credit; old new; oldest newest; earliest latest; next previous; parent child; ancestor descendant; asc desc
ascending descending; gross net; host guest; home away; arrival departure; arriving departing; inlet outlet
inflow outflow; male female; day night; morning evening; weekday weekend; am pm; sync async; encode decode
encrypt decrypt; compress decompress; show hide; push pull; read write; bid ask; lend borrow; lender borrower
landlord tenant; numerator denominator; prefix suffix; header footer; ingress egress; ascent descent; pass fail
true false; yes no; odd even; plus minus; inner outer; inside outside; near far; hit miss; uplink downlink
upstream downstream; forward backward reverse; systolic diastolic; afferent efferent; maternal paternal
more less; greater less; with without; all none; any all; required optional; heat cool; heating cooling
monday tuesday wednesday thursday friday saturday sunday; tomorrow today yesterday; spring summer autumn winter
january february march april may june july august september october november december
replay reply; clone close; county country; casual causal; trail trial; personal personnel; message massage
reserve reverse; reserved reversed; prescribe proscribe; quit quiet quite; weather whether; contact contract
patient patent; ticket thicket; nitrite nitrate nitride; sulfite sulfate sulfide; chlorite chlorate chloride
phosphite phosphate phosphide; angle angel; desert dessert; principal principle; stationary stationery; moral morale
"""
"""Words of which one never stands for another: opposites, and different words that are nearly spelled alike."""

_MEASURES = """
cent cents euro euros eur usd gbp chf jpy aud cad dollar dollars pound pounds pence price cost fee
ns us ms s sec secs second seconds min mins minute minutes h hr hrs hour hours day days week weeks month months
millisecond milliseconds microsecond microseconds nanosecond nanoseconds quarter quarters year years date time
timestamp duration age b kb mb gb tb kib mib gib byte bytes bit bits size kilobyte kilobytes megabyte megabytes
mcg ug mg g kg t lb lbs oz gram grams kilogram kilograms milligram milligrams microgram micrograms ton tons weight
um nm mm cm m km inch inches ft foot feet yd yard yards mi mile miles px pt length width height depth distance
millimeter millimeters centimeter centimeters meter meters kilometer kilometers area volume mass speed voltage current
ml cl dl l litre litres liter liters gal gallon gallons mol mmol umol molar ppm ppb hz khz mhz ghz
c f k celsius fahrenheit kelvin degree degrees radian radians w kw mw watt watts kilowatt kilowatts wh kwh mwh v mv kv
volt volts millivolt millivolts a ma j kj cal kcal joule joules calorie calories power energy latitude longitude
pct percent percentage percentile ratio fraction rate count counts number amount quantity qty total delta offset index
id ids uuid name names key code hash url uri path email phone ip port db dbm dbi pa kpa hpa mpa bar mbar psi
pst pdt est edt cst cdt mst mdt gmt utc bst cet cest
"""
"""Units, quantities and kinds of values, none of which stands for another."""

_SYNONYMS = """
ms millisecond; s sec second; us µs microsecond; ns nanosecond; min minute; h hr hour; d day; week; month; y year
% pct percent; kg kilogram; g gram; mg milligram; mcg ug µg microgram; km kilometer kilometre; m meter metre
cm centimeter centimetre; mm millimeter millimetre; ft foot feet; in inch inches; mi mile; l liter litre; ml milliliter
b byte; kb kilobyte; mb megabyte; gb gigabyte; px pixel; hz hertz; c celsius; f fahrenheit; k kelvin; lb pound
"""
"""Names of one unit."""
_WORDY = frozenset({"in", "min", "am", "as", "at", "us"})
"""Units that are words of prose too, as single letters may be."""
_PREFIXES = """
un non in im ir il dis de re pre post under over anti counter bi semi sub super mis co ex a ab
hyper hypo exo endo micro macro intra inter en
"""
"""Prefixes that negate a word or turn it into another one."""
_LETTERS_OF_TWO_EDITS = 9
_LETTERS_OF_A_SLIP = 5
"""`branch` and `batch` in a long name are two words, not one with two wrong letters; nor are equally long ones."""
_PLURAL = 4
_LONG_UNIT = 3
"""Letters of a unit that has a plural of its own: `days`, not `ms`."""
_GLUED = 3
"""Letters of the shortest opposites that are found inside other words: `mintemperature`."""
_UNITS = "b B bps Bps W Wh V A Hz Pa g m s S M J F N Nm L l mol eV cal bar"
"""Units in the case that they are written in: `S` is not `s`."""
_SI = {
    "": "",
    "f": "f",
    "p": "p",
    "n": "n",
    "u": "u",
    "µ": "u",
    "m": "m",
    "k": "k",
    "K": "k",
    "M": "M",
    "G": "G",
    "T": "T",
}
_LOWER_BY_CUSTOM = re.compile(r"[kmgt]?(?:b|bps|hz|pa)")
"""Units that nobody takes by the letter: `mb` is no millibit."""
_CASE_MATTERS = frozenset({"mw", "mv", "ma", "mj", "mwh", "m", "b"})
"""Units of which even the lower and the upper spelling are two: `MW` is no usual spelling of `mw`."""
_UNIT_AT_MOST = 4
_OPTION_AT_MOST = 3
_FORMULA = re.compile(
    "(?:(?:A[cglrstu]|B[aehikr]?|C[adeflorsu]?|D[bsy]|E[rsu]|F[elmr]?|G[ade]|H[efgos]?|I[nr]?|Kr?|L[airuv]|M[dgnot]"
    r"|N[abdeiop]?|O[s]?|P[abdmortu]?|R[abefghnu]|S[bceimnr]?|T[abcehilm]|U|V|W|Xe|Yb?|Z[nr])\d*)+"
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_DIGITS = re.compile(r"\d+")
_TOKENS = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CAPITAL = re.compile(r"(?<=[a-z])[A-Z][a-z]+")
_MEASURED = re.compile(r"([+-]?\d{1,15}(?:\.\d{1,15})?)\s*([^\W\d_]{1,20}|%|µ\w{1,3})")
_ROMAN = re.compile(r"[ivxlc]{1,5}")
_SIGN = re.compile(r"^[-+!~<>=^]+")
_ROLE = re.compile(r"(.{3,}?)(?:[eo]r|(ee))(.*)")
"""Who does something, and to whom it is done: `payer`, `payee`."""


def means_something_else(given: str, meant: str, *, begins_alike: bool = False) -> bool:
    """Return whether words of two similar names differ in more than their spelling.

    Args:
        given: A name.
        meant: The other one.
        begins_alike: Whether every word has to begin as the other does; else a later one may lack its first letter.

    >>> means_something_else("from_acount", "from_account"), means_something_else("max_price", "min_price")
    (False, True)
    >>> means_something_else("unpaid_order", "paid_order"), means_something_else("line1", "line2")
    (True, True)
    """
    if _DIGITS.findall(given) != _DIGITS.findall(meant) or _SIGN.findall(given) != _SIGN.findall(meant):
        return True  # `-name` sorts the other way round
    one, other = words(given), words(meant)
    while one and other and one[-1] == other[-1]:
        del one[-1], other[-1]
    is_first = True
    while one and other and one[0] == other[0]:
        del one[0], other[0]
        is_first = False
    if not one or not other:  # a word more or less
        return one != other
    if len(one) != len(other):  # words written apart or as one: only the whole can be compared
        one, other = ["".join(one)], ["".join(other)]
    return any(
        before != after and _is_another_word(before, after, is_first=begins_alike or (is_first and place == 0))
        for place, (before, after) in enumerate(zip(one, other, strict=True))
    )


def is_opposed(given: str, meant: str) -> bool:
    """Return whether a word of a name is the opposite of the other's, or has another prefix: `unpaid`, `paid`."""
    pairs = [pair for pair in zip(words(given), words(meant), strict=False) if pair[0] != pair[1]]
    return any(_has_an_opposite(*pair) or _is_of_another_prefix(*pair, edits_between(*pair, 5)) for pair in pairs)


def is_another_unit(given: str, meant: str) -> bool:
    """Return whether two names of the same letters have a unit that is another one in the other's case.

    >>> is_another_unit("power_mW", "power_MW"), is_another_unit("sizeMb", "size_mb")
    (True, False)
    """
    if given == meant or "".join(_TOKENS.findall(given)).casefold() != "".join(_TOKENS.findall(meant)).casefold():
        return False
    return _has_another_unit(given, meant) or _has_another_unit(meant, given)


def _has_another_unit(name: str, other: str) -> bool:
    tokens, letters = _TOKENS.findall(name), "".join(_TOKENS.findall(other))
    is_titled = len(tokens) > 1 and all(token[0].isupper() for token in tokens)
    place = 0
    for word in tokens:
        twin = letters[place : place + len(word)]
        place += len(word)
        if word == twin or len(word) > _UNIT_AT_MOST or (is_titled and word.istitle() and twin.islower()):
            continue
        is_pair = word.islower() and twin.isupper() and len(word) > 1 and word in _CASE_MATTERS
        if (is_pair and other.upper() != other) or (_is_mixed(word) and _are_two_units(word, twin)):
            return True
    return False


def _is_mixed(word: str) -> bool:
    return not (word.islower() or word.isupper())


def _are_two_units(one: str, other: str) -> bool:
    before, after = _units_of(one), _units_of(other)
    return bool(before and after) and before.isdisjoint(after)


@lru_cache(maxsize=1_024)
def _units_of(word: str) -> frozenset[tuple[str, str]]:
    """Return the SI prefix and the unit that a word may be, by its letters or else by the custom of its case."""
    if len(word) > _UNIT_AT_MOST:
        return frozenset()
    word = word.upper() if _LOWER_BY_CUSTOM.fullmatch(word) else word
    found: list[tuple[bool, tuple[str, str]]] = []
    for unit in _UNITS.split():
        prefix = _SI.get(word[: -len(unit)])
        is_unit = word.casefold().endswith(unit.casefold()) and not (unit[0] in "bB" and prefix in {*"fpnum"})
        if prefix is not None and is_unit:
            found.append((word.endswith(unit), (prefix, "L" if unit == "l" else unit)))
    is_exact = any(exact for exact, _ in found)
    return frozenset(pair for exact, pair in found if exact or not is_exact)


def is_another_option(given: str, meant: str, options: Sequence[object]) -> bool:
    """Return whether a short option in another case says something else beside the others: `Co`, `CO` of `CO, SO2`."""
    texts = [option for option in options if isinstance(option, str)]
    if given == meant or len(given) > _OPTION_AT_MOST or not texts:
        return False
    plain = given.casefold()
    if plain in _CASE_MATTERS or len(plain) == 1:
        return any(_is_mixed(text) and _units_of(text) for text in texts)
    is_formula = {given.istitle(), meant.istitle()} == {True, False} and given.upper() in {given, meant}
    return is_formula and all(map(_FORMULA.fullmatch, [given, *texts]))


def _is_another_word(given: str, meant: str, *, is_first: bool) -> bool:
    singular, other = (word[:-1] if len(word) >= _PLURAL and word[-1] == "s" else word for word in (given, meant))
    if singular == other:
        return False
    is_as_long = len(given) == len(meant)
    begins_alike = given[0] == meant[0] or (is_as_long and given[:2] == meant[1::-1])
    begins_alike = begins_alike or (not is_first and given == meant[1:])
    most = 1 if is_as_long else max(1, max(len(given), len(meant)) * 2 // _LETTERS_OF_TWO_EDITS)
    edits = edits_between(given, meant, most)
    is_short = max(len(given), len(meant)) < _LETTERS_OF_A_SLIP and has_another_letter(given, meant)
    if is_short or not begins_alike or edits > most or (_ROMAN.fullmatch(given) and _ROMAN.fullmatch(meant)):
        return True
    one, two = _ROLE.fullmatch(given), _ROLE.fullmatch(meant)
    if one and two and one[1] == two[1] and one[3] == two[3] and one[2] != two[2]:
        return True
    is_measure = {given, meant} <= _measures()
    return is_measure or _is_of_another_prefix(given, meant, edits) or _has_an_opposite(given, meant)


def _is_of_another_prefix(given: str, meant: str, edits: int) -> bool:
    """Return whether two words are more alike without a prefix of one of them, or of both."""
    before, after = _prefixes_of(given), _prefixes_of(meant)
    return any(
        edits_between(given[len(prefix) :], meant[len(other) :], edits) < edits
        for prefix in before
        for other in after
        if not (prefix.startswith(other) or other.startswith(prefix)) or (not (prefix and other) and prefix != other)
    )


def _prefixes_of(word: str) -> list[str]:
    """Return the prefixes that a word may have, and none, if more than a letter is left."""
    own = ["", *[each for each in _prefixes().get(word[0], ()) if word.startswith(each) and len(word) > len(each) + 1]]
    return [each for each in own if each != "a" or word[1] not in "aeiou"]  # `an-` before a vowel: `aafter` is a slip


@cache
def _prefixes() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for prefix in _PREFIXES.split():
        found.setdefault(prefix[0], []).append(prefix)
    return found


def _has_an_opposite(given: str, meant: str) -> bool:
    """Return whether a word becomes the other one by the opposite of a word in it: `mintemperature`."""
    if meant in _opposites().get(given, ()):
        return True
    if len(given) < _GLUED * 2:
        return False
    return any(
        meant == f"{given[: found.start()]}{opposite}{given[found.end(1) :]}"
        for found in _glued().finditer(given)
        for opposite in _opposites()[found[1]]
    )


@cache
def _glued() -> re.Pattern[str]:
    """Return what finds the words that have opposites at each place of a text."""
    words = sorted((word for word in _opposites() if len(word) >= _GLUED), key=len, reverse=True)
    return re.compile(f"(?=({'|'.join(words)}))")


def words(name: str) -> list[str]:
    """Return the words of a name in lower case."""
    return [word.casefold() for word in _WORDS.findall(name)]


@cache
def _opposites() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for group in re.split(r"[;\n]", _OPPOSITES):
        words = set(group.split())
        for word in words:
            found.setdefault(word, set()).update(words - {word})
    return found


@cache
def _measures() -> frozenset[str]:
    return frozenset(_MEASURES.split()) | _opposites().keys()


def edits_between(one: str, other: str, most: int) -> int:
    """Return how many letters to insert, delete, replace or swap with the next make one text the other; at most + 1."""
    return _distance()(one, other, score_cutoff=most)


@cache
def _distance() -> Callable[..., int]:
    from rapidfuzz.distance import OSA  # noqa: PLC0415 - 8 ms that only a misspelt name pays for

    return OSA.distance


def is_measured(text: str, meant: Any, about: str) -> bool:
    """Return whether a text is a number with the unit that is named for it."""
    found = _MEASURED.fullmatch(text) if about else None
    if found is None or isinstance(meant, bool) or not isinstance(meant, (int, float)) or float(found[1]) != meant:
        return False
    unit = found[2].casefold()
    names = _synonyms().get(unit, _synonyms().get(unit.removesuffix("s"), frozenset({unit})))
    said = f"{about} {_HUMP.sub('_', about)}".casefold()
    return any(_is_named(name, said) for name in names) and not _is_said_otherwise(found[2], about)


def _is_said_otherwise(unit: str, about: str) -> bool:
    """Return whether a unit is written in a case in which it is another one than the unit that is named."""
    said = _TOKENS.findall(_CAPITAL.sub(lambda found: f"_{found[0].lower()}", about))
    named = {word for word in said if word.casefold() == unit.casefold()} or {unit.casefold()}
    if unit in named:
        return False
    if unit.casefold() in _CASE_MATTERS:
        return True
    return any(_are_two_units(unit, word) for word in named if _is_mixed(unit) or _is_mixed(word))


def _is_named(unit: str, said: str) -> bool:
    if unit == "%":
        return "%" in said
    is_wordy = len(unit) == 1 or unit in _WORDY  # a word, too: `height in cm`, `min_wait`, `the item's`
    before = r"(?:(?<=\bin )|(?<=[^\W_]_)|(?<=[(\[/]))" if is_wordy else r"(?<![^\W_])"
    plural = "s?" if len(unit) >= _LONG_UNIT else ""
    return re.search(rf"{before}{re.escape(unit)}{plural}(?!_?[^\W_])", said) is not None


@cache
def _synonyms() -> dict[str, frozenset[str]]:
    groups = [frozenset(group.split()) for group in re.split(r"[;\n]", _SYNONYMS)]
    return {word: group for group in groups for word in group}
