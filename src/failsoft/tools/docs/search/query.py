"""Parser of the search syntax, which generates the FTS query, so that user input cannot break or widen the search.

Accepted: words, "exact phrases", prefix*, OR and NOT (in capitals). Words side by side must all occur; where no
document has all of them, any of them may. Stop words are left out. NOT excludes its neighbour. Anything else is
punctuation: `front-matter` and `std::vector` are phrases of two words.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import RecoveryResult
from failsoft.framework.errors import NextStep, SearchError, ToolError
from failsoft.framework.text import quoted
from failsoft.tools.docs.search.words import STOP_WORDS

ACCEPTED = 'words, "exact phrases", prefix*, OR and NOT'
QUERY_CHARACTERS_AT_MOST = 1000
_TERMS_AT_MOST = 64
_PLAIN_WORDS_AT_MOST = 32

_OPERATORS = frozenset({"AND", "OR", "NOT"})
"""AND says what words side by side say."""
_CURLED_QUOTES = str.maketrans({"\N{LEFT DOUBLE QUOTATION MARK}": '"', "\N{RIGHT DOUBLE QUOTATION MARK}": '"'})
_PARTS = re.compile(
    r'"(?P<phrase>[^"]*)"(?P<star>\*?)|(?P<open>")|(?P<operator>(?:OR|NOT)(?![^\s"()]))|(?P<word>[^\s"()]+)'
)
_GROUP = re.compile(r"\([^()]*[^\s()]\s+[^\s()]")
"""Several words in parentheses."""
_EXCLUDED = re.compile(r'(?<!\S)NOT(?!\S)\s*(?P<excluded>"[^"]*"?|\([^)]*\)?|\S*)')
_PLAIN = re.compile(r"[^\W_]+(?:[-_'.]+[^\W_]+)*")
_ALNUM = re.compile(r"[^\W_]+")
_SEPARATORS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff*]")


class Query(NamedTuple):
    """A query in SQLite's terms.

    Args:
        expression: What to match.
        relaxed: The same with any of the words in place of all; None where the query says how to combine them.
        terms: The words and phrases to search for, as `expression` has them.
        words: The same as they were given, for marks in snippets.
        prefixes: Those of them that are only beginnings of words.
    """

    expression: str
    relaxed: str | None
    terms: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    prefixes: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Conjunction:
    """What must occur and what must not, between two ORs."""

    is_empty: bool = True
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
    return _QueryParser(text).run()


def plain_words(text: str) -> str:
    """Return the words without signs and OR, then those that NOT excludes; always a valid query, or empty."""
    text = text[: QUERY_CHARACTERS_AT_MOST * 4].translate(_CURLED_QUOTES)
    kept = _plain(_EXCLUDED.sub(" ", text))[:_PLAIN_WORDS_AT_MOST]
    excluded = _plain(" ".join(match["excluded"] for match in _EXCLUDED.finditer(text)))[:_PLAIN_WORDS_AT_MOST]
    words = " ".join(kept + [f"NOT {word}" for word in excluded]) if kept else ""
    if len(words) <= QUERY_CHARACTERS_AT_MOST:
        return words
    return "" if excluded else " ".join(kept)[:QUERY_CHARACTERS_AT_MOST].rpartition(" ")[0]


def _plain(text: str) -> list[str]:
    return [word for word in _PLAIN.findall(text) if word not in _OPERATORS]


class PlainWords:
    """Strips a refused query of its signs and operators and searches once more; the receipt says with what.

    Args:
        parameter: The parameter that holds the query.

    Examples:
        >>> PlainWords("query").name
        'plain_words'
    """

    name = "plain_words"

    def __init__(self, parameter: str = "query") -> None:
        self._parameter = parameter

    async def attempt(self, error: ToolError, call: Call) -> RecoveryResult | None:
        """Return what the plain words find; None if it was not the syntax, or if no word is left."""
        query = call.arguments.get(self._parameter)
        if not isinstance(error, SearchError) or not isinstance(query, str):
            return None
        words = plain_words(query)
        if not words or words == query:
            return None
        value = await call.retry(**{self._parameter: words})
        return RecoveryResult(value, f"Searched for the plain words: {quoted(words)}", {self._parameter: words})


class _QueryParser:
    """One pass over the parts; the number of terms is bounded."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._terms: dict[str, str] = {}
        self._alternatives = [_Conjunction()]
        self._pending = ""

    def run(self) -> Query:
        matches = list(_PARTS.finditer(self._text.translate(_CURLED_QUOTES)))
        if sum(not match["operator"] for match in matches) > _TERMS_AT_MOST:
            self._fail(f"it has more than {_TERMS_AT_MOST} words")
        for match in matches:
            if match["open"]:
                self._fail("a quotation mark is not closed")
            if match["operator"]:
                self._operator(match["operator"])
            elif match["word"] != "AND":
                self._term(match["phrase"], match["word"] or "", is_prefix=bool(match["star"]))
        if self._pending:
            self._fail(f"{self._pending} has nothing on its right")
        if any(item.unwanted and not item.wanted for item in self._alternatives):
            self._fail("NOT takes away, and there is nothing to take away from")
        if not self._terms:
            self._fail("it holds no word to search for")
        return self._combined()

    def _combined(self) -> Query:
        is_plain = len(self._alternatives) == 1 and not self._alternatives[0].unwanted
        terms = self._terms
        if not is_plain:
            if _GROUP.search(self._text):
                self._fail("parentheses cannot group words")
            expression = " OR ".join(item.expression() for item in self._alternatives if item.wanted)
        else:
            terms = {term: word for term, word in terms.items() if not _says_nothing(word)} or terms
            expression = " AND ".join(terms)
        relaxed = " OR ".join(terms) if is_plain and len(terms) > 1 else None
        prefixes = frozenset(word for term, word in terms.items() if term.endswith("*"))
        return Query(expression, relaxed, tuple(terms), tuple(terms.values()), prefixes)

    def _operator(self, name: str) -> None:
        """Note an operator, which needs a word on its right; OR also one on its left."""
        if self._pending:
            self._fail(f"{self._pending} has nothing on its right")
        if name == "OR":
            if self._alternatives[-1].is_empty:
                self._fail("OR has nothing on its left")
            self._alternatives.append(_Conjunction())
        self._pending = name

    def _term(self, phrase: str | None, word: str, *, is_prefix: bool) -> None:
        """Add a word or phrase to what is wanted, or behind NOT to what is not; only signs count as nothing."""
        bare = word.rstrip("*") if phrase is None else phrase
        if not bare and word:
            self._fail("a * needs a word in front of it")
        negated, self._pending = self._pending == "NOT", ""
        conjunction = self._alternatives[-1]
        conjunction.is_empty = False
        text = _words_of(bare)
        if not any(map(str.isalnum, text)):
            return
        written = f'"{text}"' + "*" * (is_prefix or (phrase is None and bare != word))
        self._terms[written] = text
        (conjunction.unwanted if negated else conjunction.wanted).append(written)

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


_WORD_OF_INDEX = re.compile(r"[^\W_]+")
_OF_EXPRESSION = re.compile(r'"(?P<term>[^"]*)"(?P<star>\*?)|(?P<sign>[()]|AND|OR|NOT)')
_OPERATORS_OF_TSQUERY = {"AND": "&", "OR": "|", "NOT": "& !", "(": "(", ")": ")"}
_NO_WORD = "'failsoft0nothing'"
"""What a term without words is searched for; no document has it."""


def in_words(text: str) -> list[str]:
    """Return the words of a text without case and accents, so that PostgreSQL's parser has nothing left to interpret.

    That parser would take `next.config` for a host name and `a/b` for a file.
    """
    low = text.lower()
    if not low.isascii():
        low = "".join(sign for sign in unicodedata.normalize("NFKD", low) if not unicodedata.combining(sign))
    return _WORD_OF_INDEX.findall(low)


def tsquery(expression: str) -> str:
    """Return an expression of `parse_query` as the text of a tsquery.

    >>> tsquery('("a b" AND "c"*) NOT ("d")')
    "(('a'<->'b') & 'c':* ) & ! ('d' )"
    """
    parts: list[str] = []
    for match in _OF_EXPRESSION.finditer(expression):
        if match["sign"]:
            parts.append(_OPERATORS_OF_TSQUERY[match["sign"]] + ("" if match["sign"] == "(" else " "))
            continue
        words = [f"'{word}'" for word in in_words(match["term"])] or [_NO_WORD]
        phrase = "<->".join(words) + (":*" if match["star"] else "")
        parts.append(f"({phrase}) " if len(words) > 1 else f"{phrase} ")
    return "".join(parts).strip()
