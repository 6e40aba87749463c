"""What a failure's text says, as a set of facts that another text can be searched for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["facts_of", "missing", "readable"]

STOP_WORDS = frozenset(
    """
    about after also another been before being between both call called calling could does doing done down each
    else error errors even ever every fail failed fails failure from gave given gives have having here into itself
    just made make many might more most much must only other over please same should since some such than that
    their them then there these they this those through trying unable under until upon very want well were what
    when where which while will with within without would your traceback executing occurred tool exception
    """.split()  # noqa: SIM905 - a list of 90 strings would be 90 lines
)
HOST_PATH = re.compile(
    r"""(?<![\w.:/])(?:file://)?/(?:tmp|work|root|home|usr|var|opt|etc|proc|dev|nix)\b[^\s'"`,;:()\[\]<>\\]*"""
)
HOST_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)*(?!\w)")
QUOTED = re.compile(r"""(?<!\w)(['"`])((?:(?!\1)[^\n]){1,80})\1(?!\w)""")
IDENTIFIER = re.compile(r"[^\W\d]\w*(?:[-_.:/]\w+)+")
WORD = re.compile(r"[^\W\d_]{4,}")


def facts_of(text: str) -> frozenset[str]:
    """Return the numbers, quoted strings, identifiers, fields of JSON and distinct words of a text.

    Absolute paths of the machine are none, nor are addresses in memory: a server that is adopted hides them.
    """
    plain, tree = _split_json(_without_host(text))
    found = set(_in_text(plain))
    return frozenset(found.union(_leaves(tree)))


def missing(facts: Iterable[str], answer: str) -> list[str]:
    """Return which facts the text of an answer does not say, whatever it quotes them with."""
    haystack = readable(answer)
    return sorted(fact for fact in facts if not _says(haystack, fact))


def readable(text: str) -> str:
    """Return a text as its reader understands it: JSON strings unescaped, white space as one blank, lower case."""
    unescaped = re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
    unescaped = re.sub(r"\\+([nrt])", " ", unescaped)
    unescaped = re.sub(r'\\+(["\'/\\])', r"\1", unescaped)
    return _folded(f"{text} {unescaped}")


def _says(haystack: str, fact: str) -> bool:
    if NUMBER.fullmatch(fact):
        return re.search(rf"(?<![\d.]){re.escape(fact.lstrip('-'))}(?!\d)", haystack) is not None
    return fact in haystack


def _folded(text: str) -> str:
    return " ".join(re.sub(r"""['"`]""", "'", text).casefold().split())


def _without_host(text: str) -> str:
    return HOST_ADDRESS.sub(" ", HOST_PATH.sub(" ", text))


def _in_text(text: str) -> Iterator[str]:
    for match in NUMBER.finditer(text):
        yield match[0].lstrip("-")
    for match in QUOTED.finditer(text):
        if match[2].strip():
            yield _folded(match[2])
    for pattern in (IDENTIFIER, WORD):
        for match in pattern.finditer(text):
            if match[0].casefold() not in STOP_WORDS:
                yield match[0].casefold()


def _split_json(text: str) -> tuple[str, Any]:
    """Return the text without the JSON object or list in it, and that."""
    start = min((at for at in map(text.find, "{[") if at >= 0), default=len(text))
    try:
        tree, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return text, None
    return f"{text[:start]} {text[end:]}", tree


def _leaves(tree: Any) -> Iterator[str]:
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield _folded(str(name))
            yield from _leaves(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _leaves(value)
    elif isinstance(tree, str):
        yield from _in_text(tree)
    elif tree is not None and not isinstance(tree, bool):
        yield str(tree)
