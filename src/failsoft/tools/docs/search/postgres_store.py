"""The tables of an index in PostgreSQL, in a schema of its own, which finds what matches; the ranking is not its own.

Words are split, folded and stemmed as the SQLite store does, so that both find the same documents.
"""

from __future__ import annotations

import bisect
import functools
import hashlib
import itertools
import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import psycopg
from filelock import Timeout as LockTimeout
from psycopg import errors
from psycopg.pq import TransactionStatus

from failsoft.framework.errors import DatabaseError
from failsoft.tools.database_files import ConnectionPool
from failsoft.tools.docs.documents.document import TITLE_CHARACTERS_AT_MOST
from failsoft.tools.docs.search.query import in_words, tsquery
from failsoft.tools.docs.search.tables import SCHEMA_VERSION, LostStoreError, key_of

_CONNECT_S = 5
_STATEMENT_S = 120
_CREATE_S = 60.0
_DOWN = "The database of the search index cannot be reached."
LOCKED_S = 10.0
"""How long a statement waits for a table that another session has locked."""
HUNG_S = _STATEMENT_S + 5.0
"""After this many seconds a server that has not ended a statement itself is given up."""
_GONE = (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedObject, errors.InvalidSchemaName)
_ALTERED = (errors.UndefinedFunction, errors.DatatypeMismatch)
"""What a statement of ours meets where a column has another type."""
_TABLES = """
CREATE SCHEMA {name};
SET LOCAL search_path TO {name};
CREATE TEXT SEARCH CONFIGURATION words (COPY = pg_catalog.simple);
CREATE TABLE documents (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, path TEXT COLLATE "C" NOT NULL, folded TEXT NOT NULL,
    address TEXT NOT NULL, name TEXT NOT NULL, title TEXT NOT NULL, doc_type TEXT COLLATE "C" NOT NULL,
    own_type TEXT NOT NULL, level TEXT NOT NULL, changed_ns BIGINT NOT NULL, size BIGINT NOT NULL, sha256 TEXT NOT NULL
);
CREATE INDEX documents_path ON documents USING hash (path);
CREATE INDEX documents_folded ON documents USING hash (folded);
CREATE INDEX documents_address ON documents USING hash (address);
CREATE INDEX documents_name ON documents USING hash (name);
CREATE INDEX documents_size ON documents (size);
CREATE TABLE aliases (address TEXT NOT NULL, document BIGINT NOT NULL);
CREATE INDEX aliases_address ON aliases USING hash (address);
CREATE INDEX aliases_document ON aliases (document);
CREATE TABLE vectors (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, document BIGINT NOT NULL,
    model TEXT NOT NULL, vector BYTEA NOT NULL);
CREATE INDEX vectors_document ON vectors (document, model);
CREATE TABLE builds (finished_ns BIGINT NOT NULL);
CREATE TABLE pages (rowid BIGINT PRIMARY KEY, title TEXT NOT NULL, path TEXT NOT NULL, lead TEXT NOT NULL,
    body TEXT NOT NULL, heads TSVECTOR NOT NULL, words TSVECTOR NOT NULL);
CREATE INDEX pages_heads ON pages USING gin (heads);
CREATE INDEX pages_words ON pages USING gin (words);
"""
"""Paths may be longer than an entry of a B-tree, so they have hash indexes."""
_OIDS = {"BIGINT": 20, "TEXT": 25, "BYTEA": 17}
_OIDS_OF_COLUMNS = {name: _OIDS[kind] for name, kind in re.findall(r"(\w+) (BIGINT|TEXT|BYTEA)\b", _TABLES)}
_STEMS = """
CREATE TEXT SEARCH DICTIONARY stems (TEMPLATE = pg_catalog.snowball, LANGUAGE = porter);
ALTER TEXT SEARCH CONFIGURATION words ALTER MAPPING REPLACE pg_catalog.simple WITH stems;
"""
"""The stemmer that FTS5 has, without stop words: the query parser removes them."""
_Vocabulary = dict[str, tuple[Any, list[tuple[str, int]]]]


class PostgresStore:
    """Connections to the schema of one index.

    Args:
        url: The address of the database.
        root: The folder of the documents; each has a schema of its own.
        language: Whose words are stemmed, `english` or `none`.
        fingerprint: Distinguishes the indexes of one root.
    """

    def __init__(self, url: str, root: Path, language: str = "english", fingerprint: str = "") -> None:
        variant = f"_{fingerprint}" if fingerprint else ""
        self.name = f"failsoft_docs_{key_of(root)}{variant}_v{SCHEMA_VERSION}"
        self._url = url
        self._language = language
        self._vocabulary: _Vocabulary = {}
        self._pool = ConnectionPool(self._open, _is_reset, _close)

    def create(self) -> None:
        """Make the schema ready: nothing to do if it is there.

        Raises:
            DATABASE_ERROR: The database cannot be reached, or refuses to make it.
        """
        raw = self._connect()
        try:
            with typed(raw), _locked(raw, self.name, _CREATE_S):
                if raw.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (self.name,)).fetchone() is None:
                    with raw.transaction():
                        raw.execute(_schema(self.name, self._language))
        except LockTimeout as error:
            raise DatabaseError(message="The search index is being made by another process.") from error
        except LostStoreError as error:
            raise DatabaseError(message=_DOWN) from error
        finally:
            _close_raw(raw)

    def discard(self) -> None:
        """Delete the schema, and what it holds.

        Raises:
            DATABASE_ERROR: The database cannot be reached, or refuses.
        """
        raw = self._connect()
        try:
            with typed(raw):
                raw.execute(f"DROP SCHEMA IF EXISTS {self.name} CASCADE")
        except LostStoreError as error:
            raise DatabaseError(message=_DOWN) from error
        finally:
            _close_raw(raw)

    def process_lock(self) -> _AdvisoryLock:
        """Return the lock that the processes share who use this schema."""
        return _AdvisoryLock(self)

    @contextmanager
    def connection(self) -> Iterator[PostgresConnection]:
        """Lend a connection to the calling thread.

        Raises:
            DATABASE_ERROR: The database cannot be reached.
        """
        with self._pool.lend() as connection:
            yield connection

    def close(self) -> None:
        """Close the connections: idle ones now, lent ones when they come back."""
        self._pool.close()

    def _open(self) -> PostgresConnection:
        raw = self._connect()
        try:
            with typed(raw):
                raw.execute(f"SET search_path TO {self.name}")
            raw.row_factory = _rows_of_ours
        except BaseException:
            _close_raw(raw)
            raise
        return PostgresConnection(raw, self._vocabulary)

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            return _Connection.connect(
                self._url,
                autocommit=True,
                connect_timeout=_CONNECT_S,
                application_name="failsoft docs",
                options=f"-c statement_timeout={_STATEMENT_S}s -c lock_timeout={int(LOCKED_S * 1000)}ms"
                " -c client_min_messages=warning",
            )
        except psycopg.Error as error:
            raise DatabaseError(message=_DOWN) from DriverError.of(error)


class _Connection(psycopg.Connection[Any]):
    """A connection to a server that may stop answering, or never end its answer."""

    def wait(self, gen: Generator[Any, Any, Any], *options: Any, **named: Any) -> Any:
        """Wait for the end of a statement, and close the connection if that takes too long.

        Raises:
            errors.QueryCanceled: It does.
        """
        try:
            return super().wait(_ended_by(time.monotonic() + HUNG_S, gen), *options, **named)
        except errors.QueryCanceled:
            if self.info.transaction_status == TransactionStatus.ACTIVE:
                self.close()
            raise


def _ended_by(due: float, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    ready = None
    while True:
        try:
            awaited = gen.send(ready)
        except StopIteration as end:
            return end.value
        ready = yield awaited
        if time.monotonic() > due:
            msg = "the server did not end the statement"
            raise errors.QueryCanceled(msg)


class _AdvisoryLock:
    """A lock in the database; it ends with the connection that holds it."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    @contextmanager
    def acquire(self, timeout: float) -> Iterator[None]:
        """Hold the lock for the block."""
        with self._store.connection() as connection, _locked(connection.raw, self._store.name, timeout):
            yield


@contextmanager
def _locked(raw: psycopg.Connection[Any], name: str, timeout_s: float) -> Iterator[None]:
    """Hold an advisory lock for the block; raise `filelock.Timeout` if another session keeps it."""
    key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
    try:
        with typed(raw):
            raw.execute("SELECT set_config('lock_timeout', %s, false)", (f"{max(1, int(timeout_s * 1000))}ms",))
            raw.execute("SELECT pg_advisory_lock(%s)", (key,))
    except DatabaseError as error:
        if refused(error, errors.LockNotAvailable):
            raise LockTimeout(name) from error
        raise
    try:
        yield
    finally:
        with suppress(psycopg.Error):  # a lost connection has lost its lock as well
            raw.execute("SELECT pg_advisory_unlock(%s)", (key,))
            raw.execute("RESET lock_timeout")


def _schema(name: str, language: str) -> str:
    return (_TABLES if language == "none" else _TABLES + _STEMS).format(name=name)


def _is_reset(connection: PostgresConnection) -> bool:
    raw = connection.raw
    return not raw.closed and raw.info.transaction_status == TransactionStatus.IDLE


def _close(connection: PostgresConnection) -> None:
    _close_raw(connection.raw)


def _close_raw(raw: psycopg.Connection[Any]) -> None:
    with suppress(psycopg.Error):
        raw.close()


class PostgresConnection:
    """A connection to the schema of an index; see `IndexConnection`.

    Args:
        raw: The connection, which commits each statement.
        vocabulary: The words of the index, read once a build.
    """

    def __init__(self, raw: psycopg.Connection[Any], vocabulary: _Vocabulary) -> None:
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


def _rows_of_ours(cursor: psycopg.Cursor[Any]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Return what makes the rows of a result; columns that another role has altered count as damage.

    Raises:
        LostStoreError: A column of our tables has another type, a value is missing, or a title is too long.
    """
    columns = cursor.description or ()
    if any(_OIDS_OF_COLUMNS.get(column.name, column.type_code) != column.type_code for column in columns):
        raise LostStoreError(is_damaged=True)
    names = [column.name for column in columns]
    if not all(name in _OIDS_OF_COLUMNS for name in names):
        return tuple
    title = names.index("title") if "title" in names else None

    def whole(values: Sequence[Any]) -> tuple[Any, ...]:
        if None in values or (title is not None and len(values[title]) > TITLE_CHARACTERS_AT_MOST):
            raise LostStoreError(is_damaged=True)
        return tuple(values)

    return whole


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
