"""Vectors of documents in the index: missing ones, storage, and nearest neighbors in memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from failsoft.framework.errors import DatabaseError
from failsoft.tools.docs.search.tables import IndexConnection, Scope, ScoredRow


class Unembedded(NamedTuple):
    """A document without vectors, as the index holds it.

    Args:
        row: Its row in the index.
        sha256: Of its bytes.
        lead: Its description, and its headings on the lines after it.
    """

    row: int
    sha256: str
    title: str
    path: str
    lead: str
    body: str


def lacking(connection: IndexConnection, model: str, limit: int) -> list[Unembedded]:
    """Return documents without vectors of this model."""
    rows = connection.execute(
        "SELECT documents.id, documents.sha256, documents.title, documents.path, lead, body FROM documents"
        " JOIN pages ON pages.rowid = documents.id"
        " WHERE NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.document = documents.id AND vectors.model = ?) LIMIT ?",
        (model, limit),
    )
    return [Unembedded(*row) for row in rows]


def embedded(connection: IndexConnection, model: str) -> tuple[int, int]:
    """Return how many documents have vectors of this model, and how many there are."""
    sql = "SELECT (SELECT count(DISTINCT document) FROM vectors WHERE model = ?), (SELECT count(*) FROM documents)"
    done, every = connection.execute(sql, (model,)).fetchone()
    return int(done), int(every)


def store(connection: IndexConnection, model: str, found: Iterable[tuple[int, str, Sequence[Sequence[float]]]]) -> None:
    """Keep the vectors of documents: row, hash, vectors. A document that changed meanwhile is left out."""
    with connection.transaction():
        for row, sha256, vectors in found:
            is_same = connection.execute("SELECT 1 FROM documents WHERE id = ? AND sha256 = ?", (row, sha256))
            if is_same.fetchone() is not None:
                connection.execute("DELETE FROM vectors WHERE document = ?", (row,))
                connection.add_vectors(row, model, vectors)


def as_bytes(vector: Sequence[float]) -> bytes:
    """Return a vector as `Matrices` reads it."""
    return array("f", vector).tobytes()


class _Matrix(NamedTuple):
    """All vectors of a model: which state of the index they were read from, their documents, one vector a line."""

    version: tuple[int, int]
    rows: Any
    vectors: Any


class Matrices:
    """The vectors of an index in memory, read again when they changed."""

    def __init__(self) -> None:
        self._known: dict[str, _Matrix] = {}

    def nearest(
        self, connection: IndexConnection, model: str, query: Sequence[float], scope: Scope, limit: int
    ) -> list[ScoredRow]:
        """Return the documents with the passage that is nearest to the query, by cosine.

        Raises:
            DATABASE_ERROR: The stored vectors cannot be read.
        """
        matrix = self._current(connection, model)
        if matrix is None:
            return []
        import numpy as np  # noqa: PLC0415 - comes with the extra

        similarity = matrix.vectors @ np.asarray(query, dtype=np.float32)
        allowed: set[int] | None = None
        if scope.is_narrowed:
            where, values = scope.where()
            allowed = {row for (row,) in connection.execute(f"SELECT id FROM documents WHERE {where}", values)}  # noqa: S608 - only ? and our own words
        best: dict[int, float] = {}
        for position in np.argsort(-similarity, kind="stable"):
            row = int(matrix.rows[position])
            if row not in best and (allowed is None or row in allowed):
                best[row] = float(similarity[position])
                if len(best) == limit:
                    break
        return [ScoredRow(row, score) for row, score in best.items()]

    def _current(self, connection: IndexConnection, model: str) -> _Matrix | None:
        sql = "SELECT count(*), coalesce(max(id), 0) FROM vectors WHERE model = ?"
        count, last = connection.execute(sql, (model,)).fetchone()
        known = self._known.get(model)
        if known is not None and known.version == (count, last):
            return known
        if not count:
            return None
        found = connection.execute("SELECT document, vector FROM vectors WHERE model = ?", (model,)).fetchall()
        try:
            import numpy as np  # noqa: PLC0415 - comes with the extra

            rows = np.array([row for row, _ in found], dtype=np.int64)
            vectors = np.frombuffer(b"".join(blob for _, blob in found), dtype=np.float32).reshape(len(found), -1)
        except (ValueError, ImportError) as error:
            raise DatabaseError(message="The stored vectors cannot be read.") from error
        self._known[model] = _Matrix((count, last), rows, vectors)
        return self._known[model]
