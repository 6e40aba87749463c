"""`Meaning`: semantic and hybrid search over the index of a project."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from failsoft.framework.call.call import Call
from failsoft.tools.docs.config import SearchMode
from failsoft.tools.docs.search.index import DocumentIndex
from failsoft.tools.docs.search.query import Query
from failsoft.tools.docs.search.ranking import hits_of, rank, reaching
from failsoft.tools.docs.search.tables import IndexConnection, Scope, ScoredRow
from failsoft.tools.docs.semantic.embedders import Embedder
from failsoft.tools.docs.semantic.vectors import embedded, lacking, store
from failsoft.tools.docs.signatures import SearchResults

T = TypeVar("T")
_TRIES = 4
"""How often a search is repeated while documents change under it."""
_CHANGING = "Documents are being changed; those changed last may be missing from this answer."
_EMBEDDING = "{} of {} documents are embedded so far, and this answer {}; search again to compare all by meaning."
_ANSWERS = {"semantic": "leaves out the others", "hybrid": "compares words only"}
_TIME_SHARE = 0.5
"""The share of a call's time after which it answers with the vectors that there are."""
_BATCH = 64
"""Documents whose passages are embedded at once."""
_TEXTS_AT_MOST = 64
"""Texts in one request."""
_POOL = 50
_RRF_K = 30
"""The constant of reciprocal rank fusion: the smaller, the more the first ranks weigh."""
_MEANING_WEIGHT = 2.0
_KEY_WORDS_AT_MOST = 2
"""Words of a query that is a name rather than a question: the page so named comes first."""
_KEY_WORDS_WEIGHT = 4.0


class Meaning:
    """Searches by vectors; documents get theirs when the first search needs them.

    Args:
        embedder: What turns texts into vectors.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._turns: weakref.WeakKeyDictionary[DocumentIndex, tuple[asyncio.AbstractEventLoop, asyncio.Lock]]
        self._turns = weakref.WeakKeyDictionary()

    async def search(
        self, call: Call, index: DocumentIndex, text: str, query: Query, scope: Scope, mode: SearchMode
    ) -> SearchResults:
        """Return the best matches by meaning, or by meaning and words together.

        Raises:
            EMBEDDING_SERVICE_ERROR: The text, or the documents, cannot be turned into vectors.
        """
        (vector,) = await self._embedder.embed([text])
        is_complete = in_time = False

        def find(connection: IndexConnection) -> SearchResults:
            nonlocal is_complete
            is_complete = not lacking(connection, self._embedder.model, 1)
            by_meaning = connection.nearest(self._embedder.model, vector, scope, max(_POOL, scope.limit))
            hits = by_meaning
            if mode == "hybrid":
                by_words, _, _ = rank(connection, query, scope)
                # documents without vectors would rank behind all others
                vectors = by_meaning if in_time or is_complete else []
                hits = fused(by_words[: max(_POOL, scope.limit)], vectors, len(query.words))
            kept = reaching(hits, scope.min_score) if scope.min_score else hits
            results = hits_of(connection, kept[: scope.limit], query.words)
            return SearchResults(results=results, total=len(kept), matched="meaning", mode=mode)

        def current() -> SearchResults:
            return index.ask_current(find, lambda found: found["results"])

        tries = 0
        while True:
            in_time = await self._complete(call, index)
            results = await index.within(call, current)
            tries += 1
            if is_complete:
                return results
            if not in_time:
                counts = await _in_thread(call, index, lambda connection: embedded(connection, self._embedder.model))
                call.warn(_EMBEDDING.format(*counts, _ANSWERS[mode]))
                return results
            if tries == _TRIES:  # documents change faster than they are embedded
                call.warn(_CHANGING)
                return results

    async def _complete(self, call: Call, index: DocumentIndex) -> bool:
        """Embed the documents that have no vectors yet, each once; one call does it, others wait for it.

        Returns:
            False where time ran out before all were embedded.
        """
        remaining_s = call.remaining_s()
        spare_s = 0.0 if remaining_s is None else remaining_s * (1 - _TIME_SHARE)
        model = self._embedder.model
        loop = asyncio.get_running_loop()
        if index not in self._turns or self._turns[index][0] is not loop:  # a lock belongs to its event loop
            self._turns[index] = (loop, asyncio.Lock())
        async with self._turns[index][1]:
            tried: set[str] = set()  # a document that changes again and again must not hold the call
            while True:
                lacks = await _in_thread(call, index, lambda connection: lacking(connection, model, _BATCH))
                found = [document for document in lacks if document.path not in tried]
                if not found:
                    return True
                left_s = call.remaining_s()
                if left_s is not None and left_s <= spare_s:
                    return False
                tried.update(document.path for document in found)
                texts = [self._embedder.texts_of(document) for document in found]
                flat = [text for several in texts for text in several]
                vectors: list[list[float]] = []
                for start in range(0, len(flat), _TEXTS_AT_MOST):
                    vectors += await self._embedder.embed(flat[start : start + _TEXTS_AT_MOST])
                every = iter(vectors)
                kept = [
                    (document.row, document.sha256, [next(every) for _ in several])
                    for document, several in zip(found, texts, strict=True)
                ]
                done = await _in_thread(call, index, partial(_stored, model=model, found=kept))
                call.report_progress(*done, "embedding documents")


def _stored(
    connection: IndexConnection, model: str, found: Sequence[tuple[int, str, Sequence[Sequence[float]]]]
) -> tuple[int, int]:
    """Keep the vectors of documents; return how many documents have vectors, and how many there are."""
    store(connection, model, found)
    return embedded(connection, model)


def fused(by_words: Sequence[ScoredRow], by_meaning: Sequence[ScoredRow], words: int) -> list[ScoredRow]:
    """Return the documents of both lists by reciprocal rank fusion; the best possible score is 1.

    Args:
        by_words: What lexical search found.
        by_meaning: What semantic search found.
        words: How many words the query has.

    Source: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet", SIGIR 2009.
    """
    scores: dict[int, float] = {}
    words_weight = _KEY_WORDS_WEIGHT if words <= _KEY_WORDS_AT_MOST else 1.0
    whole = (words_weight + _MEANING_WEIGHT) / (_RRF_K + 1)
    for hits, weight in ((by_words, words_weight), (by_meaning, _MEANING_WEIGHT)):
        for place, hit in enumerate(hits):
            scores[hit.row] = scores.get(hit.row, 0.0) + weight / (_RRF_K + 1 + place) / whole
    return [ScoredRow(row, score) for row, score in sorted(scores.items(), key=lambda item: (-item[1], item[0]))]


def _in_thread(call: Call, index: DocumentIndex, question: Callable[[IndexConnection], T]) -> Awaitable[T]:
    return index.within(call, lambda: index.ask(question))
