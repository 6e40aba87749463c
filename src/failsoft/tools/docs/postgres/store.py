"""`PostgresStore`: the index of one root in a PostgreSQL database."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from filelock import Timeout as LockTimeout
from psycopg import errors
from psycopg.pq import TransactionStatus

from failsoft.framework.errors import DatabaseError
from failsoft.framework.safe.author_reports import logger
from failsoft.tools.database_files import ConnectionPool
from failsoft.tools.docs.postgres.connection import DriverError, PostgresConnection, PostgresText, refused, typed
from failsoft.tools.docs.postgres.schema import schema
from failsoft.tools.docs.search.sqlite_store import SCHEMA_VERSION
from failsoft.tools.docs.search.tables import LostStoreError
from failsoft.tools.docs.semantic.vectors import Matrices

_CONNECT_S = 5
_STATEMENT_S = 120
_CREATE_S = 60.0
_IN_MEMORY = "_in_memory"
"""Ends the name of a schema without pgvector, whose vectors are compared in memory."""
_DOWN = "The database of the search index cannot be reached."
_EXTENSION = """
SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'
"""


class PostgresStore:
    """Connections to the schema of one index.

    Args:
        url: The address of the database.
        root: The folder of the documents; each has a schema of its own.
        language: Whose words are stemmed, `english` or `none`.
        fingerprint: Distinguishes the indexes of one root.
    """

    def __init__(self, url: str, root: Path, language: str = "english", fingerprint: str = "") -> None:
        key = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
        variant = f"_{fingerprint}" if fingerprint else ""
        self.name = f"failsoft_docs_{key}{variant}_v{SCHEMA_VERSION}"
        self._url = url
        self._language = language
        self._text = PostgresText()
        self._matrices = Matrices()
        self._extensions: str | None = None
        self._pool = ConnectionPool(self._open, _is_reset, _close)

    def create(self) -> None:
        """Make the schema ready: nothing to do if it is there.

        Raises:
            DATABASE_ERROR: The database cannot be reached, or refuses to make it.
        """
        raw = self._connect()
        try:
            with typed(raw), _locked(raw, self.name, _CREATE_S):
                self._extensions = _extension(raw)
                if self._extensions is None and not self.name.endswith(_IN_MEMORY):
                    self.name += _IN_MEMORY
                if raw.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (self.name,)).fetchone() is None:
                    with raw.transaction():
                        raw.execute(schema(self.name, self._language, self._extensions))
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
                raw.execute(f"SET search_path TO {self.name}, {self._extensions or 'public'}")
        except BaseException:
            _close_raw(raw)
            raise
        return PostgresConnection(raw, self._text, None if self._extensions else self._matrices)

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            return psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=_CONNECT_S,
                application_name="failsoft docs",
                options=f"-c statement_timeout={_STATEMENT_S}s -c client_min_messages=warning",
            )
        except psycopg.Error as error:
            raise DatabaseError(message=_DOWN) from DriverError.of(error)


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
            raw.execute("SELECT pg_advisory_unlock(%s), set_config('lock_timeout', '0', false)", (key,))


def _extension(raw: psycopg.Connection[Any]) -> str | None:
    """Return the schema of pgvector, which is made where that is allowed; None if there is none."""
    found = raw.execute(_EXTENSION).fetchone()
    if found is None:
        try:
            raw.execute("CREATE EXTENSION vector")
        except (errors.UndefinedFile, errors.FeatureNotSupported, errors.InsufficientPrivilege) as error:
            logger.opt(exception=error).warning("The database has no pgvector: vectors are compared in memory.")
            return None
        found = raw.execute(_EXTENSION).fetchone()
    return None if found is None else '"{}"'.format(str(found[0]).replace('"', '""'))


def _is_reset(connection: PostgresConnection) -> bool:
    raw = connection.raw
    return not raw.closed and raw.info.transaction_status == TransactionStatus.IDLE


def _close(connection: PostgresConnection) -> None:
    _close_raw(connection.raw)


def _close_raw(raw: psycopg.Connection[Any]) -> None:
    with suppress(psycopg.Error):
        raw.close()
