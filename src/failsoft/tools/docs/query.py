"""The search syntax, parsed here and written anew for SQLite, so that no query can break or widen the search.

Accepted: words, "exact phrases", prefix*, AND, OR, NOT (in capitals) and parentheses. Words side by side must all
occur. NOT takes away from what stands beside it. Anything else in a word is punctuation: `front-matter` and
`std::vector` are phrases of two words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from failsoft.framework.errors import NextStep, SearchError

__all__ = ["ACCEPTED", "QUERY_CHARACTERS_AT_MOST", "Query", "parse_query", "plain_words"]

ACCEPTED = 'words, "exact phrases", prefix*, AND, OR, NOT and parentheses'
QUERY_CHARACTERS_AT_MOST = 1000
_TERMS_AT_MOST = 64
_GROUPS_AT_MOST = 16
_PLAIN_WORDS_AT_MOST = 32

_OPERATORS = frozenset({"AND", "OR", "NOT"})
_CURLED_QUOTES = str.maketrans({"\N{LEFT DOUBLE QUOTATION MARK}": '"', "\N{RIGHT DOUBLE QUOTATION MARK}": '"'})
_PARTS = re.compile(
    r'"(?P<phrase>[^"]*)"(?P<star>\*?)|(?P<open>")|(?P<call>\(\s*\))|(?P<bracket>[()])|(?P<word>[^\s"()]+)'
)
_PLAIN = re.compile(r"[^\W_]+(?:[-_'.]+[^\W_]+)*")
_NUMBERS: tuple[tuple[tuple[str, ...], Callable[[str], tuple[str, ...]]], ...] = (
    (("ss", "us", "is", "x", "z", "ch", "sh"), lambda word: (f"{word}es",)),
    (("ies",), lambda word: (f"{word[:-3]}y",)),
    (("ses", "xes", "zes", "ches", "shes"), lambda word: (word[:-1], word[:-2])),
    (("s",), lambda word: (word[:-1],)),
    (("y",), lambda word: (f"{word[:-1]}ies", f"{word}s")),
    (("",), lambda word: (f"{word}s",)),
)
"""By the ending of an English word, its plural if it is a singular, else its singular."""
_SEPARATORS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff*]")


class Query(NamedTuple):
    """A query in SQLite's terms.

    Args:
        expression: What to match.
        relaxed: The same with any of the words in place of all; None where the query says how to combine them.
    """

    expression: str
    relaxed: str | None


class _Part(NamedTuple):
    kind: str
    text: str
    is_prefix: bool = False


@dataclass(slots=True)
class _Conjunction:
    """What must occur and what must not, between two ORs."""

    wanted: list[str] = field(default_factory=list)
    unwanted: list[str] = field(default_factory=list)

    def expression(self) -> str:
        wanted = " AND ".join(self.wanted)
        return f"(({wanted}) NOT ({' OR '.join(self.unwanted)}))" if self.unwanted else f"({wanted})"


def parse_query(text: str) -> Query:
    """Return the query that the text stands for.

    Raises:
        SEARCH_ERROR: The text breaks the syntax, or holds no word; the reason names what is accepted.
    """
    return _Parser(text).run()


def plain_words(text: str) -> str:
    """Return the text's words without quotation marks, operators and other signs; always a valid query, or empty."""
    words = [word for word in _PLAIN.findall(text[: QUERY_CHARACTERS_AT_MOST * 4]) if word not in _OPERATORS]
    kept = " ".join(words[:_PLAIN_WORDS_AT_MOST])
    return kept if len(kept) <= QUERY_CHARACTERS_AT_MOST else kept[:QUERY_CHARACTERS_AT_MOST].rpartition(" ")[0]


class _Parser:
    """Recursive descent over the parts; depth and number of terms are bounded."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parts = list(self._split(text.translate(_CURLED_QUOTES)))
        self._at = 0
        self._groups = 0
        self._terms: list[str] = []
        self._is_plain = True

    def run(self) -> Query:
        if len(self._parts) > _TERMS_AT_MOST * 2:
            self._fail(f"it has more than {_TERMS_AT_MOST} words")
        expression = self._alternatives()
        if self._at < len(self._parts):
            self._fail("a parenthesis is closed that was not opened")
        if expression is None:
            self._fail("it holds no word to search for")
        relaxed = " OR ".join(self._terms) if self._is_plain and len(self._terms) > 1 else None
        return Query(expression, relaxed)

    def _split(self, text: str) -> Iterator[_Part]:
        for match in _PARTS.finditer(text):
            if match["open"]:
                self._fail("a quotation mark is not closed")
            if match["phrase"] is not None:
                yield _Part("term", f'"{_words_of(match["phrase"])}"', bool(match["star"]))
            elif match["bracket"]:
                yield _Part(match["bracket"], "")
            elif match["word"] in _OPERATORS:
                yield _Part(match["word"], "")
            elif match["word"]:  # and not empty parentheses, which people write behind the names of functions
                yield self._word(match["word"])

    def _word(self, word: str) -> _Part:
        bare = word.rstrip("*")
        if not bare:
            self._fail("a * stands alone; it belongs at the end of a word")
        return _Part("term", _words_of(bare), is_prefix=bare != word)

    def _alternatives(self) -> str | None:
        """Parse `a OR b`; None if nothing in it can be searched for."""
        found = [self._conjunction()]
        while self._take("OR"):
            self._is_plain = False
            found.append(self._conjunction())
        kept = [item for item in found if item is not None]
        return " OR ".join(kept) or None

    def _conjunction(self) -> str | None:
        """Parse `a b`, `a AND b`, `a NOT b`."""
        both = _Conjunction()
        start = self._at
        while True:
            joined = self._take("AND")
            if joined and self._at - 1 == start:
                self._fail("AND has nothing on its left")
            target = both.unwanted if self._take("NOT") else both.wanted
            joined = joined or target is both.unwanted
            self._is_plain = self._is_plain and not joined
            if not self._starts_operand():
                if joined or self._at == start:
                    self._fail("an operator or a parenthesis has nothing beside it" if self._parts else "it is empty")
                break
            operand = self._operand()
            if operand is not None:
                target.append(operand)
        if both.unwanted and not both.wanted:
            self._fail("NOT takes away, and there is nothing to take away from")
        return both.expression() if both.wanted else None

    def _operand(self) -> str | None:
        part = self._parts[self._at]
        self._at += 1
        if part.kind == "term":
            return self._term(part)
        self._is_plain = False
        self._groups += 1
        if self._groups > _GROUPS_AT_MOST:
            self._fail(f"it has more than {_GROUPS_AT_MOST} pairs of parentheses")
        inner = self._alternatives()
        if not self._take(")"):
            self._fail("a parenthesis is not closed")
        return None if inner is None else f"({inner})"

    def _term(self, part: _Part) -> str | None:
        """Return a term in quotation marks, in singular and plural if it is a bare word; None if it is only signs."""
        if not any(map(str.isalnum, part.text)):
            return None
        if part.text.startswith('"'):
            written = part.text + ("*" if part.is_prefix else "")
        elif part.is_prefix:
            written = f'"{part.text}"*'
        else:
            forms = [f'"{form}"' for form in (part.text, *_other_number(part.text))]
            written = forms[0] if len(forms) == 1 else f"({' OR '.join(forms)})"
        self._terms.append(written)
        if len(self._terms) > _TERMS_AT_MOST:
            self._fail(f"it has more than {_TERMS_AT_MOST} words")
        return written

    def _starts_operand(self) -> bool:
        return self._at < len(self._parts) and self._parts[self._at].kind in {"term", "("}

    def _take(self, kind: str) -> bool:
        if self._at < len(self._parts) and self._parts[self._at].kind == kind:
            self._at += 1
            return True
        return False

    def _fail(self, reason: str) -> NoReturn:
        plain = plain_words(self._text)
        step = NextStep("search_documents", {"query": plain}) if plain else None
        raise SearchError(query=self._text, reason=f"{reason}; accepted are {ACCEPTED}", next_step=step)


def _words_of(text: str) -> str:
    return " ".join(_SEPARATORS.sub(" ", text).split())


def _other_number(word: str) -> tuple[str, ...]:
    """Return the English plural of a singular, or the singular of a plural, roughly: a wrong form finds nothing."""
    if not (word.isascii() and word.isalpha() and len(word) > 3):  # noqa: PLR2004 - shorter words are mostly names
        return ()
    low = word.lower()
    return next(forms(word) for endings, forms in _NUMBERS if low.endswith(endings))
