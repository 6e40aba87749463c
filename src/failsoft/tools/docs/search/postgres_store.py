"""The tables of an index in PostgreSQL, in a schema of its own, which finds what matches; the ranking is not its own.

Words are split, folded and stemmed as the SQLite store does, so that both find the same documents.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from filelock import Timeout as LockTimeout
from psycopg import errors
from psycopg.pq import TransactionStatus

from failsoft.framework.errors import DatabaseError
from failsoft.tools.database_files import ConnectionPool
from failsoft.tools.docs.documents.document import TITLE_CHARACTERS_AT_MOST
from failsoft.tools.docs.search.postgres_connection import DriverError, PostgresConnection, Vocabulary, refused, typed
from failsoft.tools.docs.search.tables import SCHEMA_VERSION, LostStoreError, key_of

_CONNECT_S = 5
_STATEMENT_S = 120
_CREATE_S = 60.0
_DOWN = "The database of the search index cannot be reached."
LOCKED_S = 10.0
"""How long a statement waits for a table that another session has locked."""
HUNG_S = _STATEMENT_S + 5.0
"""After this many seconds a server that has not ended a statement itself is given up."""
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


class PostgresStore:
    """Connections to the schema of one index.

    Args:
        url: The address of the database.
        root: The folder of the documents; each has a schema of its own.
        language: Whose words are stemmed, `english` or `none`.
        fingerprint: Distinguishes the indexes of one root.
    """

    def __init__(self, url: str, root: Path, language: str, fingerprint: str) -> None:
        variant = f"_{fingerprint}" if fingerprint else ""
        self.name = f"failsoft_docs_{key_of(root)}{variant}_v{SCHEMA_VERSION}"
        self._url = url
        self._language = language
        self._vocabulary: Vocabulary = {}
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
