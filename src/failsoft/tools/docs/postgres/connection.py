"""`PostgresConnection`: the statements of the index, run by PostgreSQL."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from psycopg import errors

from failsoft.framework.errors import DatabaseError
from failsoft.tools.docs.postgres.words import in_words, tsquery, words_of_query
from failsoft.tools.docs.search.tables import LAST_CHARACTER, LostStoreError, Scope, ScoredRow
from failsoft.tools.docs.semantic.vectors import Matrices, as_bytes

_GONE = (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedObject, errors.InvalidSchemaName)
_BEGINNINGS_AT_MOST = 50
"""Maximum number of words that a prefix is expanded to, when matches are ranked."""

_POSTINGS = """
INSERT INTO postings SELECT lexeme, rowid, (SELECT sum(CASE place WHEN 'A' THEN 10 WHEN 'D' THEN 1 ELSE 4 END)
    FROM unnest(weights) AS place), tokens FROM pages, unnest(vector) WHERE rowid = ?
"""
"""The weights are those of FTS5 in `search.sqlite_store`: title 10, path and lead 4, body 1."""
_FORGET = """
DELETE FROM postings USING pages WHERE pages.rowid = ? AND postings.document = pages.rowid
    AND term = ANY (tsvector_to_array(vector))
"""
_RANKED = """
WITH wanted AS (SELECT DISTINCT unnest(tsvector_to_array(to_tsvector('words', ?))) COLLATE "C" AS term
    UNION SELECT unnest(CAST(? AS TEXT[])) COLLATE "C"),
hits AS (SELECT document, frequency, tokens, count(*) OVER (PARTITION BY term) AS documents
    FROM postings JOIN wanted USING (term))
SELECT document, sum(greatest(0.000001, ln((? - documents + 0.5) / (documents + 0.5)))
    * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * tokens / ?))) AS score
FROM hits WHERE document IN (SELECT pages.rowid {source}) GROUP BY document ORDER BY score DESC, document LIMIT ?
"""
"""BM25 as FTS5 computes it: k1 = 1.2, b = 0.75, and no word weighs less than nothing."""
_NEAREST = """
SELECT vectors.document, max(1 - (vectors.vector <=> CAST(? AS vector))) AS score
FROM vectors JOIN documents ON documents.id = vectors.document
WHERE vectors.model = ? AND {where} GROUP BY vectors.document ORDER BY score DESC, vectors.document LIMIT ?
"""


class PostgresText:
    """How many documents a schema holds and how long they are, kept until the index changes."""

    def __init__(self) -> None:
        self._finished_ns = 0
        self._facts = (0, 1.0)

    def facts(self, connection: PostgresConnection) -> tuple[int, float]:
        """Return the number of documents, and the mean of their lengths in words."""
        row = connection.execute("SELECT finished_ns FROM builds").fetchone()
        finished_ns = row[0] if row is not None else -1
        if finished_ns != self._finished_ns or finished_ns == -1:
            ((count, mean),) = connection.execute("SELECT count(*), avg(tokens) FROM pages")
            self._facts, self._finished_ns = (count, max(1.0, float(mean or 1))), finished_ns
        return self._facts


class PostgresConnection:
    """A connection to the schema of an index; see `IndexConnection`.

    Args:
        raw: The connection, which commits each statement.
        text: What is known of the documents.
        matrices: Holds the vectors in memory where the database has no pgvector; else None.
    """

    def __init__(self, raw: psycopg.Connection[Any], text: PostgresText, matrices: Matrices | None) -> None:
        self.raw = raw
        self._text = text
        self._matrices = matrices

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        """Run a statement with `?` for values; return its cursor.

        Raises:
            LostStoreError: The connection was lost, or the tables are gone.
            DATABASE_ERROR: The database refuses it.
        """
        with typed(self.raw):
            return self.raw.execute(_translated(sql), _clean(values))

    def executemany(self, sql: str, rows: Sequence[Any], /) -> None:
        """Run a statement for each of the rows; raises as `execute` does."""
        with typed(self.raw), self.raw.cursor() as cursor:
            cursor.executemany(_translated(sql), [_clean(values) for values in rows])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Begin a transaction that is committed at the end of the block, or rolled back."""
        with typed(self.raw), self.raw.transaction():
            yield

    def add_page(self, row: int, title: str, path: str, lead: str, body: str) -> None:
        """Index the text of a document; of one too large for a tsvector (1 MB) its beginning."""
        head = [" ".join(in_words(text)) for text in (title, path, lead)]
        words = in_words(body)
        tokens = len(words) + sum(text.count(" ") + 1 for text in head)
        while True:
            try:
                with typed(self.raw), self.raw.transaction():
                    self._add_page(row, (title, path, lead, body), (*head, " ".join(words)), tokens)
            except _TooLargeError:
                words = words[: len(words) // 2]
            else:
                return

    def _add_page(self, row: int, page: Sequence[str], words: Sequence[str], tokens: int) -> None:
        vector = " || ".join(f"setweight(to_tsvector('words', ?), '{weight}')" for weight in "ABCD")
        try:
            self.execute(f"INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, {vector})", (row, *page, tokens, *words))  # noqa: S608 - our own words
        except DatabaseError as error:
            if refused(error, errors.ProgramLimitExceeded):
                raise _TooLargeError from error
            raise
        self.execute(_POSTINGS, (row,))

    def remove_page(self, row: int) -> None:
        """Remove the text of a document from the index."""
        self.execute(_FORGET, (row,))
        self.execute("DELETE FROM pages WHERE rowid = ?", (row,))

    def count(self, expression: str, scope: Scope) -> int:
        """Return how many documents match."""
        source, values = _source(expression, scope)
        ((found,),) = self.execute(f"SELECT count(*) {source}", values)
        return int(found)

    def ranked(self, expression: str, scope: Scope, limit: int) -> dict[int, float]:
        """Return the best matches by BM25, best first: score by row."""
        source, values = _source(expression, scope)
        whole, begun = words_of_query(expression)
        count, mean = self._text.facts(self)
        given = (" ".join(whole), self._beginning(begun), count, mean, *values, limit)
        return {row: float(score) for row, score in self.execute(_RANKED.format(source=source), given)}

    def _beginning(self, begun: Sequence[str]) -> list[str]:
        """Return the words of the index that begin so."""
        sql = "SELECT term FROM words WHERE term >= ? AND term < ? ORDER BY doc DESC LIMIT ?"
        rows = [self.execute(sql, (word, word + LAST_CHARACTER, _BEGINNINGS_AT_MOST)) for word in begun]
        return [term for found in rows for (term,) in found]

    def occurs(self, word: str) -> bool:
        """Return whether a document has the word."""
        query = tsquery(f'"{word.replace(chr(34), "")}"')
        found = self.execute("SELECT 1 FROM pages WHERE vector @@ to_tsquery('words', ?) LIMIT 1", (query,))
        return found.fetchone() is not None

    def add_vectors(self, row: int, model: str, vectors: Sequence[Sequence[float]]) -> None:
        """Store the vectors of a document."""
        write = _literal if self._matrices is None else as_bytes
        rows = [(row, model, write(vector)) for vector in vectors]
        self.executemany("INSERT INTO vectors (document, model, vector) VALUES (?, ?, ?)", rows)

    def nearest(self, model: str, vector: Sequence[float], scope: Scope, limit: int) -> list[ScoredRow]:
        """Return the documents with the passage that is nearest to the vector, by cosine."""
        if self._matrices is not None:
            return self._matrices.nearest(self, model, vector, scope, limit)
        where, values = scope.where()
        rows = self.execute(_NEAREST.format(where=where), (_literal(vector), model, *values, limit))
        return [ScoredRow(row, float(score)) for row, score in rows]


class _TooLargeError(Exception):
    """A text is larger than a tsvector may be."""


class DriverError(Exception):
    """A fault that the driver reports, by its class and SQLSTATE: its own text may quote SQL or addresses."""

    @classmethod
    def of(cls, error: psycopg.Error) -> Self:
        """Return the fault of an exception of the driver, with that as its cause."""
        state = f" ({error.sqlstate})" if error.sqlstate else ""
        fault = cls(f"{type(error).__name__}{state}")
        fault.__cause__ = error
        return fault


def refused(error: DatabaseError, kind: type[psycopg.Error]) -> bool:
    """Return whether the driver reported a fault of this kind."""
    return isinstance(error.__cause__, DriverError) and isinstance(error.__cause__.__cause__, kind)


@contextmanager
def typed(raw: psycopg.Connection[Any]) -> Iterator[None]:
    """Turn what the driver raises into errors of the index.

    Raises:
        LostStoreError: The connection was lost, or the tables are gone.
        DATABASE_ERROR: The database refuses the statement; its text stays in the log.
    """
    try:
        yield
    except psycopg.Error as error:
        if isinstance(error, _GONE):
            raise LostStoreError(is_damaged=True) from error
        if raw.closed or isinstance(error, (errors.AdminShutdown, errors.CrashShutdown)):
            raise LostStoreError from error
        raise DatabaseError(message="The search index does not work.") from DriverError.of(error)


def _source(expression: str, scope: Scope) -> tuple[str, tuple[Any, ...]]:
    """Return tables and conditions for what matches, and their values."""
    matches = "pages.vector @@ to_tsquery('words', ?)"
    if not scope.is_narrowed:
        return f"FROM pages WHERE {matches}", (tsquery(expression),)
    where, values = scope.where()
    joined = f"FROM pages JOIN documents ON documents.id = pages.rowid WHERE {matches} AND {where}"
    return joined, (tsquery(expression), *values)


def _literal(vector: Sequence[float]) -> str:
    return f"[{','.join(map(repr, vector))}]"


@functools.lru_cache(maxsize=256)
def _translated(sql: str) -> Any:
    return sql.replace("%", "%%").replace("?", "%s")


def _clean(values: Sequence[Any]) -> list[Any]:
    """Return the values without the character that PostgreSQL's text cannot hold."""
    return [value.replace("\0", " ") if isinstance(value, str) else value for value in values]
