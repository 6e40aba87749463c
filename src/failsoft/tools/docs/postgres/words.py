"""Words and queries in the form that PostgreSQL's full-text search takes."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+")
_PARTS = re.compile(r'"(?P<term>[^"]*)"(?P<star>\*?)|(?P<sign>[()]|AND|OR|NOT)')
_SIGNS = {"AND": "&", "OR": "|", "NOT": "& !", "(": "(", ")": ")"}
_NO_WORD = "'failsoft0nothing'"
"""What a term without words is searched for; no document has it."""


def in_words(text: str) -> list[str]:
    """Return the words of a text without case and accents, so that PostgreSQL's parser has nothing left to interpret.

    That parser would take `next.config` for a host name and `a/b` for a file.
    """
    low = text.casefold()
    if not low.isascii():
        low = "".join(sign for sign in unicodedata.normalize("NFKD", low) if not unicodedata.combining(sign))
    return _WORD.findall(low)


def tsquery(expression: str) -> str:
    """Return an expression of `parse_query` as the text of a tsquery.

    >>> tsquery('("a b" AND "c"*) NOT ("d")')
    "(('a'<->'b') & 'c':* ) & ! ('d' )"
    """
    parts: list[str] = []
    for match in _PARTS.finditer(expression):
        if match["sign"]:
            parts.append(_SIGNS[match["sign"]] + ("" if match["sign"] == "(" else " "))
            continue
        words = [f"'{word}'" for word in in_words(match["term"])] or [_NO_WORD]
        phrase = "<->".join(words) + (":*" if match["star"] else "")
        parts.append(f"({phrase}) " if len(words) > 1 else f"{phrase} ")
    return "".join(parts).strip()


def words_of_query(expression: str) -> tuple[list[str], list[str]]:
    """Return the whole words and the beginnings of words of an expression."""
    whole: list[str] = []
    begun: list[str] = []
    for match in _PARTS.finditer(expression):
        if match["term"]:
            words = in_words(match["term"])
            if match["star"] and words:
                begun.append(words.pop())
            whole += words
    return whole, begun
