"""`Meaning`: semantic and hybrid search over the index of a project."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from failsoft.framework.call.call import Call
from failsoft.tools.docs.projects.config import SearchMode
from failsoft.tools.docs.results import SearchResults
from failsoft.tools.docs.search.connection import IndexConnection, Scope, ScoredRow
from failsoft.tools.docs.search.index import DocumentIndex
from failsoft.tools.docs.search.query import Query
from failsoft.tools.docs.search.search import hits_of, rank
from failsoft.tools.docs.semantic.embedders import Embedder
from failsoft.tools.docs.semantic.passages import passages
from failsoft.tools.docs.semantic.vectors import lacking, store

__all__ = ["Meaning", "fused"]

T = TypeVar("T")
_TRIES = 4
"""How often a search is repeated while documents change under it."""
_CHANGING = "Documents are being changed; those changed last may be missing from this answer."
_BATCH = 64
"""Documents whose passages are embedded at once."""
_TEXTS_AT_MOST = 64
"""Texts in one request."""
_POOL = 50
_RRF_K = 30
"""The constant of reciprocal rank fusion: the smaller, the more the first ranks weigh."""
_LEXICAL_WEIGHT = 1.0
_SEMANTIC_WEIGHT = 0.6


class Meaning:
    """Searches by vectors; documents get theirs when the first search needs them.

    Args:
        embedder: What turns texts into vectors.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._turns: weakref.WeakKeyDictionary[DocumentIndex, asyncio.Lock] = weakref.WeakKeyDictionary()

    async def search(
        self, call: Call, index: DocumentIndex, text: str, query: Query, scope: Scope, mode: SearchMode
    ) -> SearchResults:
        """Return the best matches by meaning, or by meaning and words together.

        Raises:
            EMBEDDING_SERVICE_ERROR: The text, or the documents, cannot be turned into vectors.
        """
        (vector,) = await self._embedder.embed([text])
        is_complete = False

        def find(connection: IndexConnection) -> SearchResults:
            nonlocal is_complete
            is_complete = not lacking(connection, self._embedder.model, 1)
            by_meaning = connection.nearest(self._embedder.model, vector, scope, max(_POOL, scope.limit))
            hits = by_meaning
            if mode == "hybrid":
                by_words, _, _ = rank(connection, query, scope)
                hits = fused(by_words[: max(_POOL, scope.limit)], by_meaning)
            kept = [hit for hit in hits if hit.score >= scope.min_score] if scope.min_score else hits
            results = hits_of(connection, kept[: scope.limit], query.words)
            return SearchResults(results=results, total=len(kept), matched="meaning", mode=mode)

        def current() -> SearchResults:
            return index.ask_current(find, lambda found: found["results"])

        tries = 0
        while True:
            await self._complete(call, index)
            results = await index.within(call, current)
            tries += 1
            if is_complete:
                return results
            if tries == _TRIES:  # documents change faster than they are embedded
                call.warn(_CHANGING)
                return results

    async def _complete(self, call: Call, index: DocumentIndex) -> None:
        """Embed the documents that have no vectors yet, each once; one call does it, others wait for it."""
        model = self._embedder.model
        turn = self._turns.setdefault(index, asyncio.Lock())
        async with turn:
            embedded: set[str] = set()  # a document that changes again and again must not hold the call
            while True:
                lacks = await _in_thread(call, index, lambda connection: lacking(connection, model, _BATCH))
                found = [item for item in lacks if item[3] not in embedded]
                if not found:
                    return
                embedded.update(path for _, _, _, path, _ in found)
                texts = [passages(title, path, body) for _, _, title, path, body in found]
                flat = [text for several in texts for text in several]
                vectors: list[list[float]] = []
                for start in range(0, len(flat), _TEXTS_AT_MOST):
                    vectors += await self._embedder.embed(flat[start : start + _TEXTS_AT_MOST])
                every = iter(vectors)
                kept = [
                    (row, sha256, [next(every) for _ in several])
                    for (row, sha256, *_), several in zip(found, texts, strict=True)
                ]
                await _in_thread(call, index, lambda connection, kept=kept: store(connection, model, kept))  # type: ignore[misc]  # bound now, not when it runs
                call.report_progress(len(embedded), None, "embedding documents")


def fused(by_words: Sequence[ScoredRow], by_meaning: Sequence[ScoredRow]) -> list[ScoredRow]:
    """Return the documents of both lists by reciprocal rank fusion; the best possible score is 1.

    Source: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet", SIGIR 2009.
    """
    scores: dict[int, float] = {}
    whole = (_LEXICAL_WEIGHT + _SEMANTIC_WEIGHT) / (_RRF_K + 1)
    for hits, weight in ((by_words, _LEXICAL_WEIGHT), (by_meaning, _SEMANTIC_WEIGHT)):
        for place, hit in enumerate(hits):
            scores[hit.row] = scores.get(hit.row, 0.0) + weight / (_RRF_K + 1 + place) / whole
    return [ScoredRow(row, score) for row, score in sorted(scores.items(), key=lambda item: (-item[1], item[0]))]


def _in_thread(call: Call, index: DocumentIndex, question: Callable[[IndexConnection], T]) -> Awaitable[T]:
    return index.within(call, lambda: index.ask(question))
