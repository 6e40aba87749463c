"""How far a correction may go: the one judge of names and values, and the names that are near to another one.

Pure functions over the words of `meanings.py`: nothing here knows a schema or a call. Next steps, messages,
`unknown_tool`, `RepairArguments` and `Alias` ask `how_far` and nothing else (contract: what a next step may say).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from failsoft.framework.errors.meanings import (
    edits_between,
    is_another_option,
    is_another_unit,
    is_measured,
    means_something_else,
    words,
)
from failsoft.framework.text import has_another_letter, json_type

HowFar: TypeAlias = Literal["use", "ask", "list", "drop"]
"""Put it into a step, ask "did you mean it?", only list what is accepted, or say nothing of it."""
What: TypeAlias = Literal["parameter", "enum", "value", "tool", "reference"]
Kind: TypeAlias = Literal["spelled", "identifier", "handle", "secret"]
_LENGTH_AT_MOST = 200
"""Characters of a name that are compared: the cost grows with the product of both lengths."""
_JSON_AT_MOST = 100_000
_OPTIONS_AT_MOST = 2_000
_NEAR_AT_MOST = 3
_SIMILARITY = 60
"""Minimum similarity of candidates, from 0 to 100."""
_LETTERS_PER_EDIT = 5
_SEPARATORS = re.compile(r"(?<=[^\W\d_])[\s_.-]+(?=[^\W_])|(?<=\d)[\s_.-]+(?=[^\W\d_])")
"""What separates words; what is between two digits, as in `1.5`, means something."""
_IN_CODES = re.compile(r"(?<=[^\W\d_])[\s_.-]+(?=\d)|(?<=\d)[\s_.-]+(?=[^\W\d_])")
"""What is between the letters and the digits of a code: `C-1`."""
_SECONDS = re.compile(r"(?:[\s_.-][sS]|(?<=[a-z])S)$")
"""The last letter of `period_s`, which is not `periods`."""
_UNCLEAR = re.compile(r"^(?:$|[\[{\"])|[,;|&\s]|\.\.|[^\W_]\+[^\W_]|^[^.]*/[^.]*$")
"""A text that may be nothing, JSON that is cut off or quoted, or several values; a path mostly has a dot."""
_UNCLEAR_TO_WRITE = re.compile(
    r"\*|^(?:all|any|everything|none|null|nothing|-)$|^(?:except|no|non|not|only|without)\b"
    r"|[^\W_]\s*\+\s*[^\W_]|[;\uff1b\u3001\uff0c]",
    re.IGNORECASE,
)
"""A text that may stand for all, for nothing or for several, which only a read takes as one value."""
_GROUPED = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")
"""A number whose dots may be those of thousands: `41.300`."""
_WITH_ES = ("ches", "shes", "sses", "xes", "zes")
_BOOLEANS = {"true": True, "false": False}


class Correction(NamedTuple):
    """What was probably meant, and how far that may go: `use` or `ask`."""

    meant: Any
    how_far: HowFar


def how_far(
    given: Any,
    meant: Any,
    *,
    what: What,
    changes: bool,
    kind: Kind = "spelled",
    about: str = "",
) -> HowFar:
    """Return how far a correction may go that keeps what the caller meant; `correction` counts its rivals.

    Args:
        given: The name or value as received.
        meant: The accepted one that it may be.
        what: What is corrected; a `value` may be written in another JSON form, the others are names.
        changes: Whether the corrected call may change something; of a `tool`, whether that tool may.
        kind: The kind of name that a reference takes.
        about: Name, schema and description of a value, which may name its unit.

    >>> how_far("fromAccount", "from_account", what="parameter", changes=True)
    'use'
    >>> how_far("from_acount", "from_account", what="parameter", changes=True)
    'ask'
    >>> how_far("min_price", "max_price", what="parameter", changes=False)
    'list'
    """
    if kind in {"handle", "secret"}:
        return "drop"
    if kind == "identifier":
        return "list" if near_names(str(given), [str(meant)]) else "drop"
    if what != "value" and isinstance(given, str) and isinstance(meant, str):
        return _how_far_of_a_name(given, meant, what, changes=changes)
    return _how_far_of_a_value(given, meant, what, about, changes=changes)


def _how_far_of_a_name(given: str, meant: str, what: What, *, changes: bool) -> HowFar:
    if given == meant:
        return "use"
    if what == "enum" and changes and _is_another_code(given, meant):
        return "list"
    if is_same_spelling(given, meant):
        return "use" if not changes or what in {"parameter", "enum"} else "ask"
    if what == "tool" and not changes and _is_plural(given, meant):
        return "use"
    if not _is_slip(given, meant, what, changes=changes):
        return "list"
    return "ask" if changes else "use"


def _is_another_code(given: str, meant: str) -> bool:
    """Return whether a code differs by what a write does not put right: a single letter's case, `C-1` for `C1`."""
    if len(given) == len(meant) == 1:
        return given.casefold() == meant.casefold()
    one, other = _IN_CODES.sub("\0", given), _IN_CODES.sub("\0", meant)
    return one.count("\0") != other.count("\0") and _plain(given) == _plain(meant)


def correction(
    given: Any, options: Iterable[Any], *, what: What, changes: bool, aliases: Mapping[str, str] | None = None
) -> Correction | None:
    """Return the option that a name or value is in another spelling or form; None if it is none, or several.

    Args:
        given: As received.
        options: What is accepted.
        what: What is corrected.
        changes: Whether the corrected call may change something.
        aliases: Other accepted names, and what they stand for.

    >>> correction("mxa_price", ["min_price", "max_price"], what="parameter", changes=False)
    Correction(meant='max_price', how_far='use')
    """
    listed = list(options)[:_OPTIONS_AT_MOST]
    names = [(option, option) for option in listed]
    if aliases:
        names += [(alias, name) for alias, name in aliases.items() if name in listed]
    if isinstance(given, str):
        same = [pair for pair in names if isinstance(pair[0], str) and is_same_spelling(given, pair[0])]
        if same and any(isinstance(pair[0], str) and is_another_unit(given, pair[0]) for pair in names):
            return None  # `mb`, where both `MB` and `Mb` are accepted
        names = same or names
    near: dict[Any, HowFar] = {}
    for written, name in names:
        answer = how_far(given, written, what=what, changes=changes)
        if answer in {"use", "ask"} and near.get(name) != "use":
            near[name] = answer
    if len(near) != 1:
        return None
    ((name, answer),) = near.items()
    if isinstance(given, str) and isinstance(name, str):
        if what == "enum" and is_another_option(given, name, listed):
            return None
        if what == "reference" and name in {f"{given}s", given.removesuffix("s")} and name != given:
            return None  # one is the other's plural: both may exist, as records of their own
    return Correction(name, answer)


def slip_of(given: str, options: Iterable[str]) -> str | None:
    """Return the name that another one is in other case or spelling; None if there are several, or none.

    >>> slip_of("Min_Price", ["min_price", "max_price"]), slip_of("mix_price", ["min_price", "max_price"])
    ('min_price', None)
    """
    found = correction(given, options, what="enum", changes=False)
    return None if found is None else found.meant


def near_names(
    name: str, options: Iterable[str], *, at_least: int = _SIMILARITY, at_most: int | None = _NEAR_AT_MOST
) -> list[str]:
    """Return the options that are similar to a name, by default three, the closest first: candidates, not for steps.

    >>> near_names("result", ["max_results", "min_results", "colour"])
    ['max_results', 'min_results']
    """
    if len(name) > _LENGTH_AT_MOST:
        return []
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - 8 ms that only a misspelt name pays for

    listed = [option for option in dict.fromkeys(options) if len(option) <= _LENGTH_AT_MOST][:_OPTIONS_AT_MOST]
    plain = [_plain(option) for option in listed]
    found = process.extract(_plain(name), plain, scorer=fuzz.ratio, score_cutoff=at_least, limit=at_most)
    return [listed[place] for _, _, place in found]


def closest_name(name: str, options: Iterable[str]) -> str | None:
    """Return the option that is most similar to a name, for messages to people; None if none is similar."""
    return next(iter(near_names(name, options)), None)


def is_same_spelling(given: str, meant: str) -> bool:
    """Return whether two names differ only in case and in separators between words.

    >>> is_same_spelling("fromAccount", "from_account"), is_same_spelling("v1.5", "v15"), is_same_spelling("A-", "A")
    (True, False, False)
    """
    if max(len(given), len(meant)) > _LENGTH_AT_MOST or _plain(given) != _plain(meant):
        return False
    if given == meant:
        return True
    return bool(_SECONDS.search(given)) == bool(_SECONDS.search(meant)) and not is_another_unit(given, meant)


@lru_cache(maxsize=1_024)
def _plain(name: str) -> str:
    """Return a name without case, and without separators but between digits and at its ends.

    >>> _plain("max_Results"), _plain("1.5"), _plain("A-")
    ('maxresults', '1.5', 'a-')
    """
    return _SEPARATORS.sub("", name.strip()).casefold()


def _is_slip(given: str, meant: str, what: What, *, changes: bool) -> bool:
    """Return whether a name is another one with at most one wrong letter in five, and does not mean something else."""
    if max(len(given), len(meant)) > _LENGTH_AT_MOST:
        return False
    is_tool = what == "tool"
    return _is_near(
        given, meant, 1 if changes and is_tool else _LENGTH_AT_MOST, is_tool, what == "enum" or (changes and is_tool)
    )


@lru_cache(maxsize=1_024)
def _is_near(given: str, meant: str, most: int, begins_alike: bool, is_exact: bool) -> bool:  # noqa: FBT001 - a key of the cache
    """Return the same for short names. Cached, since the same mistakes recur, and names come from schemas.

    Of values of closed lists and of tools with effects no letter is replaced: `glass` is not `gloss` (ADR 0003).
    """
    plain, other = _plain(given), _plain(meant)
    most = min(max(len(plain), len(other)) // _LETTERS_PER_EDIT, most)
    if plain == other or edits_between(plain, other, most) > most:  # of the same letters: `periods`, `period_s`
        return False
    if is_exact and has_another_letter(plain, other):
        return False
    return not means_something_else(given, meant, begins_alike=begins_alike)


def _is_plural(given: str, meant: str) -> bool:
    """Return whether two names are the same words, as one or as several: `get_category`, `get_categories`."""
    if max(len(given), len(meant)) > _LENGTH_AT_MOST:
        return False
    one, other = ([*map(_singular, words(name))] for name in (given, meant))
    return one == other and len(one) > 1


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > len("ties"):
        return f"{word[:-3]}y"
    return word.removesuffix("es" if word.endswith(_WITH_ES) else "s")


def _how_far_of_a_value(given: Any, meant: Any, what: What, about: str, *, changes: bool) -> HowFar:
    try:
        if changes and isinstance(given, str) and meant == [given] and _UNCLEAR_TO_WRITE.search(given.strip()):
            return "list"
        if is_same_form(given, meant) or (what == "enum" and is_same_form(meant, given)):
            return "use"
    except RecursionError:  # nested deeper than Python compares
        return "list"
    is_text = isinstance(given, str) and len(given) <= _LENGTH_AT_MOST
    if not is_text or not is_measured(given.strip(), meant, about):
        return "list"
    return "ask" if changes else "use"


def is_same_form(given: Any, meant: Any) -> bool:
    """Return whether a value is another one in a different JSON form: its text, or one value for a list of one.

    >>> is_same_form("5", 5), is_same_form("a", ["a"]), is_same_form('["a"]', ["a"]), is_same_form(20.0, 20)
    (True, True, True, True)
    >>> is_same_form("5", [5]), is_same_form("true", [True]), is_same_form("5 6", [5])
    (True, True, False)
    >>> is_same_form("5 kg", 5), is_same_form(1, True), is_same_form("41.300", 41.3), is_same_form("a, b", ["a, b"])
    (False, False, False, False)
    >>> is_same_form("", [""]), is_same_form('["a"', ['["a"'])  # nothing, and a text that is cut off
    (False, False)
    """
    if isinstance(given, str) and not isinstance(meant, str):
        if isinstance(meant, list) and len(meant) == 1 and is_same_form(given, meant[0]) and meant != [given]:
            return True
        is_only_item = meant == [given] and _UNCLEAR.search(given.strip()) is None
        return is_only_item or _is_json_of(given.strip(), meant)
    if isinstance(meant, list) and len(meant) == 1 and not isinstance(given, list):
        return given is not None and _is_equal(given, meant[0])
    return _is_equal(given, meant)


def _is_json_of(text: str, meant: Any) -> bool:
    """Return whether a text is a value's JSON, or that of the only item of a list."""
    if isinstance(meant, bool):
        return _BOOLEANS.get(text.casefold()) is meant
    if text[:1].isalpha():  # a word, which the reader would refuse by an exception
        return False
    try:
        if type(meant) is int and text == str(meant):  # the common case, without a parser
            return True
        is_clear = len(text) <= _JSON_AT_MOST and not _GROUPED.fullmatch(text)
        parsed = (_load(text) if "{" in text else json.loads(text)) if is_clear else None
    except (ValueError, RecursionError):
        return False
    if isinstance(parsed, dict) and isinstance(meant, list):
        parsed = [parsed]
    return parsed is not None and not isinstance(parsed, str) and _is_equal(parsed, meant)


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; ValueError if it has a name twice, so that it is not certain which value was meant."""
    made = dict(pairs)
    if len(made) < len(pairs):
        msg = "a name twice"
        raise ValueError(msg)
    return made


_load = json.JSONDecoder(object_pairs_hook=_unique_names).decode


def _is_equal(one: Any, other: Any) -> bool:
    """Return whether two values are the same JSON: 20 is 20.0, and 1 is not true, at any depth."""
    kinds = {json_type(one), json_type(other)}
    if len(kinds) > 1 and kinds != {"integer", "number"}:
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_equal(value, other[name]) for name, value in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_is_equal, one, other))
    return bool(one == other)


def check_options(decorator: str, options: Mapping[str, Any], known: Sequence[str]) -> None:
    """Reject an option that a decorator does not have.

    Raises:
        TypeError: With the closest name.
    """
    for unknown in options:
        if unknown not in known:
            closest = closest_name(unknown, known)
            msg = f"{decorator} has no option '{unknown}'" + (f"; did you mean '{closest}'?" if closest else "")
            raise TypeError(msg)
