"""Spelling correction of a query against the words of the index, and advice for a search without results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from failsoft.framework.text import quoted
from failsoft.tools.docs.search.query import Query
from failsoft.tools.docs.search.tables import IndexConnection, Scope
from failsoft.tools.docs.search.words import SYNONYMS, root_of

_WORD = re.compile(r"[^\W\d_]{4,40}")
_WORDS_AT_MOST = 8
"""Words of one query that are corrected: each looks through part of the vocabulary."""
_LONG = 7
"""Characters from which two slips are forgiven, and not only one: two turn too many short words into others."""
_TERM_AT_LEAST = 4
"""Characters of a word that another may be corrected to."""
_ADVICE_AT_MOST = 5


class Corrections(NamedTuple):
    """What became of words that no document has.

    Args:
        replaced: The words searched for in their place.
        missing: Those that nothing in the index is similar to.
    """

    replaced: dict[str, str]
    missing: list[str]


def corrected_query(connection: IndexConnection, query: Query) -> tuple[Query, Corrections]:
    """Return the query with its misspelt words replaced; only plain queries are corrected."""
    found = Corrections({}, [])
    if query.relaxed is None and (len(query.words) != 1 or query.expression != f'"{query.words[0]}"'):
        return query, found
    for word in query.words[:_WORDS_AT_MOST]:
        if _occurs(connection, word):
            continue
        is_typo = _WORD.fullmatch(word) and root_of(word) not in SYNONYMS
        meant = _closest(connection, word.casefold()) if is_typo else None
        if meant is None:
            found.missing.append(word)
        else:
            found.replaced[word] = meant
    for word, meant in found.replaced.items():
        old, new = f'"{word}"', f'"{meant}"'
        query = query._replace(
            expression=query.expression.replace(old, new),
            relaxed=query.relaxed and query.relaxed.replace(old, new),
            terms=tuple(new if term == old else term for term in query.terms),
            words=tuple(meant if other == word else other for other in query.words),
        )
    return query, found


def what_would_hit(connection: IndexConnection, query: Query, scope: Scope) -> list[str]:
    """Return advice for a search without results: what hits without the filters, and which of its words hit at all."""
    expression = query.relaxed or query.expression
    everywhere = len(connection.rows(expression))
    if everywhere and (scope.is_narrowed or scope.min_score):
        filters = [
            name
            for name, is_set in (
                ("doc_types", scope.doc_types is not None),
                ("prefix", bool(scope.prefix)),
                ("level", scope.level is not None),
                ("min_score", scope.min_score > 0),
            )
            if is_set
        ]
        plural = "s" if everywhere != 1 else ""
        return [f"Nothing matches with {', '.join(filters)}; without, {everywhere} document{plural} would."]
    words = list(dict.fromkeys(query.words))[:_ADVICE_AT_MOST]
    hitting = [word for word in words if _occurs(connection, word)]
    if hitting:
        return [f"Documents have these words, though not as the query combines them: {', '.join(hitting)}."]
    similar = [other for word in words for other in _similar(connection, word.casefold())]
    advice = f"; similar words: {', '.join(similar[:_ADVICE_AT_MOST])}" if similar else ""
    return [f"No document has {lacked(words)}{advice}."]


def _occurs(connection: IndexConnection, word: str) -> bool:
    return bool(connection.rows(f'"{word}"'))


def lacked(words: Sequence[str]) -> str:
    """Return how words that no document has are named."""
    return " or ".join(quoted(word) for word in words[:_ADVICE_AT_MOST])


def _closest(connection: IndexConnection, word: str) -> str | None:
    """Return the word of the index that differs by the fewest slips, the most frequent among equals."""
    best = min(
        (
            (distance, -documents, term)
            for term, documents in _near(connection, word, _slips(word))
            if (distance := _distance(word, term)) is not None
        ),
        default=None,
    )
    return None if best is None else best[2]


def _slips(form: str) -> int:
    return 2 if len(form) >= _LONG else 1


def _distance(word: str, term: str) -> int | None:
    """Return the slips between a word and a term of the index, whose ending the index may have cut off."""
    forms = {word, root_of(word)}
    slips = [_osa()(form, term, score_cutoff=_slips(form)) for form in forms]
    return min((count for form, count in zip(forms, slips, strict=True) if count <= _slips(form)), default=None)


@cache
def _osa() -> Callable[..., int]:
    """Return the distance between two words, imported on first use: most words are spelled correctly."""
    from rapidfuzz.distance import OSA  # noqa: PLC0415 - as above

    return OSA.distance


def _near(connection: IndexConnection, word: str, slips: int) -> Iterable[tuple[str, int]]:
    """Return the words that begin alike and are about as long."""
    shortest = max(len(root_of(word)) - slips, _TERM_AT_LEAST)
    return [item for item in connection.vocabulary(word[0]) if shortest <= len(item[0]) <= len(word) + slips]


def _similar(connection: IndexConnection, word: str) -> list[str]:
    """Return the most frequent words that begin as this one does."""
    begin = word[:3]
    words = connection.vocabulary(begin) if begin.isalnum() else []
    return [term for term, _ in sorted(words, key=lambda item: -item[1])[:3]]
