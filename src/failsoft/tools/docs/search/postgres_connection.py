"""A connection to an index in PostgreSQL: statements, and what the driver raises as errors of the index."""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from psycopg import errors

from failsoft.framework.errors import DatabaseError
from failsoft.tools.docs.search.query import in_words, tsquery
from failsoft.tools.docs.search.tables import LostStoreError

_GONE = (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedObject, errors.InvalidSchemaName)
_ALTERED = (errors.UndefinedFunction, errors.DatatypeMismatch)
"""What a statement of ours meets where a column has another type."""
Vocabulary = dict[str, tuple[Any, list[tuple[str, int]]]]


class PostgresConnection:
    """A connection to the schema of an index; see `IndexConnection`.

    Args:
        raw: The connection, which commits each statement.
        vocabulary: The words of the index, read once a build.
    """

    def __init__(self, raw: psycopg.Connection[Any], vocabulary: Vocabulary) -> None:
        self.raw = raw
        self._vocabulary = vocabulary

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
        heads = [*in_words(title), *in_words(path), *in_words(lead)]
        words = in_words(body)
        while True:
            try:
                with typed(self.raw), self.raw.transaction():
                    self._add_page(row, (title, path, lead, body), " ".join(heads), " ".join([*heads, *words]))
            except _TooLargeError:
                words = words[: len(words) // 2]
            else:
                return

    def _add_page(self, row: int, page: Sequence[str], heads: str, words: str) -> None:
        sql = "INSERT INTO pages VALUES (?, ?, ?, ?, ?, to_tsvector('words', ?), to_tsvector('words', ?))"
        try:
            self.execute(sql, (row, *page, heads, words))
        except DatabaseError as error:
            if refused(error, errors.ProgramLimitExceeded):
                raise _TooLargeError from error
            raise

    def remove_page(self, row: int) -> None:
        """Remove the text of a document from the index."""
        self.execute("DELETE FROM pages WHERE rowid = ?", (row,))

    def rows(self, expression: str, *, in_heads: bool = False) -> list[int]:
        """Return the rows of all matches: of the whole pages, or of title, path, description and headings alone."""
        where = f"{'heads' if in_heads else 'words'} @@ to_tsquery('words', ?)"
        sql = f"SELECT string_agg(rowid::text, ' ') FROM pages WHERE {where}"  # noqa: S608 - our own words
        ((found,),) = self.execute(sql, (tsquery(expression),))
        return [int(row) for row in (found or "").split()]

    def vocabulary(self, begin: str) -> list[tuple[str, int]]:
        """Return the words of the index that begin so, and how many documents have each."""
        found = self.execute("SELECT finished_ns FROM builds").fetchone()
        known, words = self._vocabulary.get("words", (None, []))
        if known != found:
            words = self.execute("SELECT word, ndoc FROM ts_stat('SELECT words FROM pages') ORDER BY word").fetchall()
            self._vocabulary["words"] = (found, words)
        start = bisect.bisect_left(words, (begin,))
        return list(itertools.takewhile(lambda item: item[0].startswith(begin), itertools.islice(words, start, None)))


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
        if isinstance(error, (*_GONE, *_ALTERED)):
            raise LostStoreError(is_damaged=True) from error
        is_lost = raw.closed and not isinstance(error, errors.QueryCanceled)
        if is_lost or isinstance(error, (errors.AdminShutdown, errors.CrashShutdown)):
            raise LostStoreError from error
        raise DatabaseError(message="The search index does not work.") from DriverError.of(error)


@functools.lru_cache(maxsize=256)
def _translated(sql: str) -> Any:
    return sql.replace("%", "%%").replace("?", "%s")


def _clean(values: Sequence[Any]) -> list[Any]:
    """Return the values without the character that PostgreSQL's text cannot hold."""
    return [value.replace("\0", " ") if isinstance(value, str) else value for value in values]
