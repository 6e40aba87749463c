"""Parser of the search syntax, which generates the FTS query, so that user input cannot break or widen the search.

Accepted: words, "exact phrases", prefix*, AND, OR, NOT (in capitals) and parentheses. Words side by side must all
occur; where no document has all of them, any of them may. Stop words are left out. NOT excludes its neighbour. Anything
else in a word is punctuation: `front-matter` and `std::vector` are phrases of two words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from failsoft.framework.errors import NextStep, SearchError
from failsoft.tools.docs.search.words import STOP_WORDS

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
_ALNUM = re.compile(r"[^\W_]+")
_SEPARATORS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff*]")


class Query(NamedTuple):
    """A query in SQLite's terms.

    Args:
        expression: What to match.
        relaxed: The same with any of the words in place of all; None where the query says how to combine them.
        words: The words to search for, for marks in snippets.
    """

    expression: str
    relaxed: str | None
    words: tuple[str, ...] = ()


class _QueryPart(NamedTuple):
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
    """Parse the text of a query.

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
        self._terms: list[tuple[str, str]] = []
        self._is_plain = True

    def run(self) -> Query:
        if len(self._parts) > _TERMS_AT_MOST * 2:
            self._fail(f"it has more than {_TERMS_AT_MOST} words")
        expression = self._alternatives()
        if self._at < len(self._parts):
            self._fail("a parenthesis is closed that was not opened")
        if expression is None:
            self._fail("it holds no word to search for")
        terms = dict(self._terms)
        if self._is_plain:
            terms = {term: word for term, word in terms.items() if not _says_nothing(word)} or terms
            expression = " AND ".join(terms)
        relaxed = " OR ".join(terms) if self._is_plain and len(terms) > 1 else None
        return Query(expression, relaxed, tuple(terms.values()))

    def _split(self, text: str) -> Iterator[_QueryPart]:
        for match in _PARTS.finditer(text):
            if match["open"]:
                self._fail("a quotation mark is not closed")
            if match["phrase"] is not None:
                yield _QueryPart("term", f'"{_words_of(match["phrase"])}"', bool(match["star"]))
            elif match["bracket"]:
                yield _QueryPart(match["bracket"], "")
            elif match["word"] in _OPERATORS:
                yield _QueryPart(match["word"], "")
            elif match["word"]:  # and not empty parentheses, which people write behind the names of functions
                yield self._word(match["word"])

    def _word(self, word: str) -> _QueryPart:
        bare = word.rstrip("*")
        if not bare:
            self._fail("a * needs a word in front of it")
        return _QueryPart("term", _words_of(bare), is_prefix=bare != word)

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

    def _term(self, part: _QueryPart) -> str | None:
        """Return a term in quotation marks; None if it is only signs."""
        if not any(map(str.isalnum, part.text)):
            return None
        if part.text.startswith('"'):
            written = part.text + ("*" if part.is_prefix else "")
        elif part.is_prefix:
            written = f'"{part.text}"*'
        else:
            written = f'"{part.text}"'
        self._terms.append((written, part.text.strip('"')))
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


def _says_nothing(word: str) -> bool:
    """Return whether it is a stop word, or one with an ending of its own (`what's`)."""
    first, *endings = _ALNUM.findall(word.casefold()) or [""]
    return first in STOP_WORDS and all(part in STOP_WORDS or len(part) == 1 for part in endings)


def _words_of(text: str) -> str:
    return " ".join(_SEPARATORS.sub(" ", text).split())
