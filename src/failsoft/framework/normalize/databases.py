"""Errors of databases: SQLite by its result code, others by SQLSTATE, SQLAlchemy and Redis by class."""

from __future__ import annotations

from typing import Any

from failsoft.framework.errors import (
    Conflict,
    DatabaseError,
    InvalidArgument,
    NotFound,
    Overloaded,
    PermissionDenied,
    StorageError,
    Timeout,
    ToolError,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from failsoft.framework.normalize.rules import Inside, Rule, Table, Verdict, read, type_name, unknown

__all__ = ["SQLITE", "SQLSTATES", "TABLES"]

_FAILED = Verdict(DatabaseError)
_REFUSED = Verdict(DatabaseError, "The database refused a statement of this tool.")
_CONSTRAINT = Verdict(Conflict, "The data breaks a rule of the database, such as a value that must be unique.")
_CONTENDED = Verdict(Conflict, "Somebody else changed the same data at the same time.")
_LOCKED = Verdict(Unavailable, "The database is in use by another writer.")
_LOST = Verdict(Unavailable, "The connection to the database was lost.")
_SLOW = Verdict(Timeout, "The database took too long.")
_BUSY = Verdict(Overloaded, "The database has more work than it takes on at once.")
_NOT_FREE = Verdict(Timeout, "All connections to the database were in use.", "none")
_VALUE = Verdict(InvalidArgument, "A value does not fit its place in the database.")
_LOGIN = Verdict(Unauthenticated, "The database did not accept the credentials.")
_DENIED = Verdict(PermissionDenied, "The database refused the access.")
_DISK = Verdict(StorageError, "The database cannot read or write its files.")
_READ_ONLY = Verdict(StorageError, "The database is read-only.")

SQLITE: dict[int, Verdict] = {
    3: _DENIED,  # PERM
    5: _LOCKED,  # BUSY
    6: _LOCKED,  # LOCKED
    7: _BUSY,  # NOMEM
    8: _READ_ONLY,  # READONLY
    9: Verdict(Unavailable, "The work of the database was interrupted."),  # INTERRUPT
    10: _DISK,  # IOERR
    11: Verdict(StorageError, "The database is damaged."),  # CORRUPT
    13: Verdict(StorageError, "The disk has no room for the data."),  # FULL
    14: Verdict(StorageError, "The database file cannot be opened."),  # CANTOPEN
    15: _LOCKED,  # PROTOCOL: of the locks
    18: _VALUE,  # TOOBIG
    19: _CONSTRAINT,  # CONSTRAINT
    22: _DISK,  # NOLFS
    23: _DENIED,  # AUTH
    26: Verdict(StorageError, "The file is not a database."),  # NOTADB
}
"""SQLite's primary result code -> verdict; the others are failures of the database (https://sqlite.org/rescode.html)."""

SQLSTATES: dict[str, Verdict] = {
    "08": _LOST,
    "22": _VALUE,
    "23": _CONSTRAINT,
    "25006": _READ_ONLY,
    "28": _LOGIN,
    "40": _CONTENDED,
    "42501": _DENIED,
    "53": _BUSY,
    "53100": Verdict(StorageError, "The disk of the database is full."),
    "55P03": _LOCKED,
    "57014": _SLOW,
    "57P01": _LOST,
    "57P02": _LOST,
    "57P03": _LOST,
    "58": _DISK,
}
"""SQLSTATE, or its class of two characters -> verdict (ISO 9075, and PostgreSQL's appendix A)."""


def _sqlite(exc: Any) -> ToolError:
    code = read(exc, "sqlite_errorcode")
    if not isinstance(code, int):
        return (_CONSTRAINT if type_name(exc) == "IntegrityError" else _FAILED)(exc)
    error = SQLITE.get(code & 0xFF, _FAILED)(exc)
    error.details["sqlite"] = str(read(exc, "sqlite_errorname", code))
    return error


def _by_sqlstate(exc: Any) -> ToolError | None:
    """Return the error by the SQLSTATE that a driver's exception carries (psycopg, asyncpg: `sqlstate`; others)."""
    state = read(exc, "sqlstate") or read(exc, "pgcode")
    if not isinstance(state, str):
        return None
    verdict = SQLSTATES.get(state) or SQLSTATES.get(state[:2])
    if verdict is None:
        return None
    error = verdict(exc)
    error.details["sqlstate"] = state[:5]
    return error


def _statement(otherwise: Verdict) -> Rule:
    """Return a rule for SQLAlchemy's wrappers: what the driver raised, else this verdict.

    SQLAlchemy's own text is kept out of the log: it holds the statement and its parameters.
    """

    def rule(exc: Any) -> ToolError | Inside:
        if read(exc, "connection_invalidated") is True:
            error = _LOST(exc)
            error.operator_hint = type_name(exc, full=True)
            return error
        driver = read(exc, "orig")
        if isinstance(driver, BaseException):
            return Inside(driver, lambda _: _by_sqlstate(driver) or otherwise(driver))
        return otherwise(exc)

    return rule


_DBAPI: Table = {
    "IntegrityError": lambda exc: _by_sqlstate(exc) or _CONSTRAINT(exc),
    "DataError": lambda exc: _by_sqlstate(exc) or _VALUE(exc),
    "ProgrammingError": lambda exc: _by_sqlstate(exc) or _REFUSED(exc),
    "Error": lambda exc: _by_sqlstate(exc) or _FAILED(exc),
}
"""PEP 249's names, for drivers that carry a SQLSTATE."""

_SQLALCHEMY: Table = {
    "IntegrityError": _statement(_CONSTRAINT),
    "DataError": _statement(_VALUE),
    "ProgrammingError": _statement(_REFUSED),
    "NotSupportedError": _statement(Verdict(Unsupported, "The database does not support this.")),
    "StatementError": _statement(_FAILED),
    "TimeoutError": _NOT_FREE,
    "DisconnectionError": _LOST,
    "NoResultFound": Verdict(NotFound, "The database does not have what was asked for."),
    "ObjectDeletedError": Verdict(NotFound, "The database does not have what was asked for."),
    "StaleDataError": _CONTENDED,
    "ArgumentError": unknown,
    "CompileError": unknown,
    "InvalidRequestError": unknown,
    "SQLAlchemyError": _FAILED,
}

_REDIS: Table = {
    "AuthenticationError": _LOGIN,
    "AuthenticationWrongNumberOfArgsError": _LOGIN,
    "AuthorizationError": _LOGIN,
    "ExternalAuthProviderError": _LOGIN,
    "NoPermissionError": _DENIED,
    "MaxConnectionsError": Verdict(Overloaded, "All connections to the database were in use.", "none"),
    "BusyLoadingError": Verdict(Unavailable, "The database is still starting."),
    "ConnectionError": _LOST,
    "TimeoutError": _SLOW,
    "ClusterDownError": _LOST,
    "TryAgainError": _LOST,
    "SlotNotCoveredError": _LOST,
    "ReadOnlyError": Verdict(Unavailable, "The database takes no writes at the moment."),
    "OutOfMemoryError": Verdict(StorageError, "The database has no room for the data."),
    "WatchError": _CONTENDED,
    "LockError": Verdict(Conflict, "A lock is held by somebody else."),
    "ResponseError": _REFUSED,
    "DataError": _REFUSED,
    "RedisError": _FAILED,
    "RedisClusterException": _FAILED,
}

TABLES: dict[str, Table] = {
    "sqlite3": {"Error": _sqlite, "Warning": _FAILED},
    "sqlalchemy": _SQLALCHEMY,
    "redis": _REDIS,
    **dict.fromkeys(("psycopg", "psycopg2"), _DBAPI),
    "asyncpg": {"PostgresError": lambda exc: _by_sqlstate(exc) or _FAILED(exc), "InterfaceError": _FAILED},
}
