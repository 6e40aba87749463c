"""Semantic and hybrid search: documents get their vectors, the nearest are found, and both rankings fused."""

from __future__ import annotations

import asyncio
import heapq
import operator
import weakref
from array import array
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import RecoveryResult
from failsoft.framework.errors import ToolError
from failsoft.tools.docs.config import SearchMode
from failsoft.tools.docs.errors import EmbeddingServiceError
from failsoft.tools.docs.search.embedders import Embedder, opening
from failsoft.tools.docs.search.index import DocumentIndex
from failsoft.tools.docs.search.query import Query
from failsoft.tools.docs.search.ranking import hits_of, rank, reaching
from failsoft.tools.docs.search.tables import IndexConnection, Scope, ScoredRow
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
"""Documents that are embedded at once, in one request."""
_POOL = 50
_RRF_K = 30
"""The constant of reciprocal rank fusion: the smaller, the more the first ranks weigh."""
_MEANING_WEIGHT = 2.0
_KEY_WORDS_AT_MOST = 2
"""Words of a query that is a name rather than a question: the page so named comes first."""
_KEY_WORDS_WEIGHT = 4.0


_NUMBER_BYTES = 4
_CHOSEN = "vectors.model = ? AND length(vectors.vector) = ?"


class _Unembedded(NamedTuple):
    """A document without a vector, as the index holds it: its row, the hash of its bytes, and what is embedded."""

    row: int
    sha256: str
    path: str
    title: str
    lead: str
    body: str


class VectorTable:
    """The vectors of an index in memory, one a document, read again when they changed.

    Args:
        model: Whose vectors.
        size: How many numbers each has; vectors that were stored with another size are not used.
    """

    def __init__(self, model: str, size: int) -> None:
        self._chosen = (model, size * _NUMBER_BYTES)
        self._state: tuple[Any, Sequence[int], bytes] = (None, (), b"")

    def fits(self, vector: Sequence[float]) -> bool:
        """Return whether the vector has the size of these."""
        return len(vector) * _NUMBER_BYTES == self._chosen[1]

    def unembedded_documents(self, connection: IndexConnection, limit: int) -> list[_Unembedded]:
        """Return documents that have no vector yet."""
        rows = connection.execute(
            "SELECT documents.id, documents.sha256, documents.path, documents.title, lead, body FROM documents"  # noqa: S608 - our own words
            " JOIN pages ON pages.rowid = documents.id WHERE NOT EXISTS"
            f" (SELECT 1 FROM vectors WHERE vectors.document = documents.id AND {_CHOSEN}) LIMIT ?",
            (*self._chosen, limit),
        )
        return [_Unembedded(*row) for row in rows]

    def progress(self, connection: IndexConnection) -> tuple[int, int]:
        """Return how many documents have a vector, and how many there are."""
        sql = f"SELECT (SELECT count(*) FROM vectors WHERE {_CHOSEN}), (SELECT count(*) FROM documents)"  # noqa: S608 - the same
        done, every = connection.execute(sql, self._chosen).fetchone()
        return int(done), int(every)

    def store(
        self, connection: IndexConnection, documents: Sequence[_Unembedded], vectors: Sequence[Sequence[float]]
    ) -> tuple[int, int]:
        """Keep the vectors of documents that have not changed meanwhile; return the progress."""
        model, _ = self._chosen
        with connection.transaction():
            for document, vector in zip(documents, vectors, strict=True):
                facts = (document.row, document.sha256)
                if connection.execute("SELECT 1 FROM documents WHERE id = ? AND sha256 = ?", facts).fetchone():
                    connection.execute("DELETE FROM vectors WHERE document = ?", (document.row,))
                    kept = (document.row, model, array("f", vector).tobytes())
                    connection.execute("INSERT INTO vectors (document, model, vector) VALUES (?, ?, ?)", kept)
        return self.progress(connection)

    def nearest(self, connection: IndexConnection, query: Sequence[float], scope: Scope, limit: int) -> list[ScoredRow]:
        """Return the documents that are nearest to the query, by cosine."""
        rows, vectors = self._current(connection)
        if scope.is_narrowed:
            where, values = scope.where()
            allowed = {row for (row,) in connection.execute(f"SELECT id FROM documents WHERE {where}", values)}  # noqa: S608 - only ? and our own words
        else:
            allowed = set(rows)
        scored = zip(rows, _products(vectors, query), strict=True)
        best = heapq.nsmallest(limit, (item for item in scored if item[0] in allowed), key=lambda item: -item[1])
        return [ScoredRow(row, score) for row, score in best]

    def _current(self, connection: IndexConnection) -> tuple[Sequence[int], bytes]:
        sql = f"SELECT count(*), max(id), (SELECT max(finished_ns) FROM builds) FROM vectors WHERE {_CHOSEN}"  # noqa: S608 - our own words
        version = tuple(connection.execute(sql, self._chosen).fetchone())
        known, rows, vectors = self._state
        if known != version:
            sql = f"SELECT document, vector FROM vectors WHERE {_CHOSEN} ORDER BY document"  # noqa: S608 - the same
            found = connection.execute(sql, self._chosen).fetchall()
            rows, vectors = [row for row, _ in found], b"".join(vector for _, vector in found)
            self._state = (version, rows, vectors)
        return rows, vectors


def _products(vectors: bytes, query: Sequence[float]) -> Sequence[float]:
    """Return the product of each vector with the query. numpy is some 50 times as fast, and comes with the extra."""
    try:
        import numpy as np  # noqa: PLC0415 - an extra
    except ImportError:
        numbers = memoryview(vectors).cast("f")
        return [
            sum(map(operator.mul, numbers[start : start + len(query)], query))
            for start in range(0, len(numbers), len(query))
        ]
    products: list[float] = (
        np.frombuffer(vectors, dtype=np.float32).reshape(-1, len(query)) @ np.asarray(query, dtype=np.float32)
    ).tolist()
    return products


class SemanticSearch:
    """Searches by vectors; documents get theirs when the first search needs them.

    Args:
        embedder: What turns texts into vectors.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._turns: weakref.WeakKeyDictionary[DocumentIndex, tuple[asyncio.AbstractEventLoop, asyncio.Lock]]
        self._turns = weakref.WeakKeyDictionary()
        self._tables: weakref.WeakKeyDictionary[DocumentIndex, VectorTable] = weakref.WeakKeyDictionary()

    async def search(
        self, call: Call, index: DocumentIndex, text: str, query: Query, scope: Scope, mode: SearchMode
    ) -> SearchResults:
        """Return the best matches by meaning, or by meaning and words together.

        Raises:
            EMBEDDING_SERVICE_ERROR: The text, or the documents, cannot be turned into vectors.
        """
        (vector,) = await self._embedder.embed([text])
        table = self._tables.get(index)
        if table is None or not table.fits(vector):
            table = self._tables[index] = VectorTable(self._embedder.model, len(vector))
        is_complete = in_time = False

        def find(connection: IndexConnection) -> SearchResults:
            nonlocal is_complete
            is_complete = not table.unembedded_documents(connection, 1)
            by_meaning = table.nearest(connection, vector, scope, max(_POOL, scope.limit))
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
            in_time = await self._complete(call, index, table)
            results = await index.within(call, current)
            tries += 1
            if is_complete:
                return results
            if not in_time:
                counts = await _in_thread(call, index, table.progress)
                call.warn(_EMBEDDING.format(*counts, _ANSWERS[mode]))
                return results
            if tries == _TRIES:  # documents change faster than they are embedded
                call.warn(_CHANGING)
                return results

    async def _complete(self, call: Call, index: DocumentIndex, table: VectorTable) -> bool:
        """Embed the documents that have no vector yet, each once; one call does it, others wait for it.

        Returns:
            False where time ran out before all were embedded.
        """
        remaining_s = call.remaining_s()
        spare_s = 0.0 if remaining_s is None else remaining_s * (1 - _TIME_SHARE)
        loop = asyncio.get_running_loop()
        if index not in self._turns or self._turns[index][0] is not loop:  # a lock belongs to its event loop
            self._turns[index] = (loop, asyncio.Lock())
        async with self._turns[index][1]:
            tried: set[str] = set()  # a document that changes again and again must not hold the call
            while True:
                lacks = await _in_thread(call, index, partial(table.unembedded_documents, limit=_BATCH))
                found = [document for document in lacks if document.path not in tried]
                if not found:
                    return True
                left_s = call.remaining_s()
                if left_s is not None and left_s <= spare_s:
                    return False
                tried.update(document.path for document in found)
                texts = [opening(document.title, document.lead, document.body) for document in found]
                vectors = await self._embedder.embed(texts)
                if not table.fits(vectors[0]):  # they would never be found, and be made anew by each search
                    raise EmbeddingServiceError(reason="its vectors differ in length")
                done = await _in_thread(call, index, partial(table.store, documents=found, vectors=vectors))
                call.report_progress(*done, "embedding documents")


class LexicalInstead:
    """Runs the same search by words while the embedding service is down; the answer is marked as degraded."""

    name = "lexical_search"

    async def attempt(self, error: ToolError, call: Call) -> RecoveryResult | None:
        """Return what the words find; None for other errors."""
        if not isinstance(error, EmbeddingServiceError):
            return None
        value = await call.retry(mode="lexical")
        call.warn(f"Searched by words only: {error.message[:1].lower()}{error.message[1:]}")
        message = "Searched by words, since the embedding service failed"
        return RecoveryResult(value, message, {"mode": "lexical"}, degraded=True)


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
