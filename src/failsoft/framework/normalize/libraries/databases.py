"""Errors of databases: SQLite by its result code, others by SQLSTATE, SQLAlchemy and Redis by class."""

from __future__ import annotations

from typing import Any

from failsoft.framework.errors import Conflict, Overloaded, StorageError, Timeout, ToolError, Unavailable
from failsoft.framework.normalize.libraries import database_outcomes as outcomes
from failsoft.framework.normalize.rules import FixedError, Inside, Rule, Table, read, type_name, unknown

__all__ = ["SQLITE", "SQLSTATES", "TABLES"]


SQLITE: dict[int, FixedError] = {
    3: outcomes.DENIED,  # PERM
    5: outcomes.LOCKED,  # BUSY
    6: outcomes.LOCKED,  # LOCKED
    7: outcomes.BUSY,  # NOMEM
    8: outcomes.READ_ONLY,  # READONLY
    9: FixedError(Unavailable, "The work of the database was interrupted."),  # INTERRUPT
    10: outcomes.DISK,  # IOERR
    11: FixedError(StorageError, "The database is damaged."),  # CORRUPT
    13: FixedError(StorageError, "The disk has no room for the data."),  # FULL
    14: FixedError(StorageError, "The database file cannot be opened."),  # CANTOPEN
    15: outcomes.LOCKED,  # PROTOCOL: of the locks
    18: outcomes.VALUE,  # TOOBIG
    19: outcomes.CONSTRAINT,  # CONSTRAINT
    22: outcomes.DISK,  # NOLFS
    23: outcomes.DENIED,  # AUTH
    26: FixedError(StorageError, "The file is not a database."),  # NOTADB
}
"""SQLite's primary result code -> verdict; the others are failures of the database (https://sqlite.org/rescode.html)."""

SQLSTATES: dict[str, FixedError] = {
    "02": outcomes.ABSENT,
    "08": outcomes.LOST,
    "0A": outcomes.UNSUPPORTED,
    "22": outcomes.VALUE,
    "23": outcomes.CONSTRAINT,
    "25006": outcomes.READ_ONLY,
    "28": outcomes.LOGIN,
    "40": outcomes.CONTENDED,
    "42501": outcomes.DENIED,
    "53": outcomes.BUSY,
    "53100": outcomes.FULL,
    "55006": FixedError(Conflict, "What the statement changes is in use."),
    "55P03": outcomes.LOCKED,
    "57014": outcomes.SLOW,
    "57P01": outcomes.LOST,
    "57P02": outcomes.LOST,
    "57P03": outcomes.LOST,
    "58": outcomes.DISK,
    "P0002": outcomes.ABSENT,
}
"""SQLSTATE, or its class of two characters -> verdict (ISO 9075, and PostgreSQL's appendix A)."""


def _sqlite(exc: Any) -> ToolError:
    code = read(exc, "sqlite_errorcode")
    if not isinstance(code, int):
        return (outcomes.CONSTRAINT if type_name(exc) == "IntegrityError" else outcomes.FAILED)(exc)
    error = SQLITE.get(code & 0xFF, outcomes.FAILED)(exc)
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


def _statement(otherwise: FixedError) -> Rule:
    """Return a rule for SQLAlchemy's wrappers: what the driver raised, else this verdict.

    SQLAlchemy's own text is kept out of the log: it holds the statement and its parameters.
    """

    def rule(exc: Any) -> ToolError | Inside:
        if read(exc, "connection_invalidated") is True:
            error = outcomes.LOST(exc)
            error.operator_hint = type_name(exc, full=True)
            return error
        driver = read(exc, "orig")
        if isinstance(driver, BaseException):
            return Inside(driver, lambda _: _by_sqlstate(driver) or otherwise(driver))
        return otherwise(exc)

    return rule


_DBAPI: Table = {
    "IntegrityError": lambda exc: _by_sqlstate(exc) or outcomes.CONSTRAINT(exc),
    "DataError": lambda exc: _by_sqlstate(exc) or outcomes.VALUE(exc),
    "ProgrammingError": lambda exc: _by_sqlstate(exc) or outcomes.REFUSED(exc),
    "NotSupportedError": lambda exc: _by_sqlstate(exc) or outcomes.UNSUPPORTED(exc),
    "OperationalError": lambda exc: (
        _by_sqlstate(exc) or (outcomes.FAILED if read(exc, "sqlstate") else outcomes.LOST)(exc)
    ),
    "Error": lambda exc: _by_sqlstate(exc) or outcomes.FAILED(exc),
    "Warning": outcomes.FAILED,
}
"""PEP 249's names, for drivers that carry a SQLSTATE."""

_SQLALCHEMY: Table = {
    "IntegrityError": _statement(outcomes.CONSTRAINT),
    "DataError": _statement(outcomes.VALUE),
    "ProgrammingError": _statement(outcomes.REFUSED),
    "NotSupportedError": _statement(outcomes.UNSUPPORTED),
    "StatementError": _statement(outcomes.FAILED),
    "TimeoutError": outcomes.NOT_FREE,
    "DisconnectionError": outcomes.LOST,
    "NoResultFound": outcomes.ABSENT,
    "ObjectDeletedError": outcomes.ABSENT,
    "StaleDataError": outcomes.CONTENDED,
    "ArgumentError": unknown,
    "CompileError": unknown,
    "InvalidRequestError": unknown,
    "SQLAlchemyError": outcomes.FAILED,
}

_REDIS: Table = {
    "AuthenticationError": outcomes.LOGIN,
    "AuthenticationWrongNumberOfArgsError": outcomes.LOGIN,
    "AuthorizationError": outcomes.LOGIN,
    "ExternalAuthProviderError": outcomes.LOGIN,
    "NoPermissionError": outcomes.DENIED,
    "MaxConnectionsError": FixedError(Overloaded, "All connections to the database were in use.", "none"),
    "BusyLoadingError": FixedError(Unavailable, "The database is still starting."),
    "ConnectionError": outcomes.LOST,
    "TimeoutError": outcomes.SLOW,
    "ClusterDownError": outcomes.LOST,
    "TryAgainError": outcomes.LOST,
    "SlotNotCoveredError": outcomes.LOST,
    "ReadOnlyError": FixedError(Unavailable, "The database takes no writes at the moment."),
    "OutOfMemoryError": FixedError(StorageError, "The database has no room for the data."),
    "WatchError": outcomes.CONTENDED,
    "LockError": FixedError(Conflict, "A lock is held elsewhere."),
    "ResponseError": outcomes.REFUSED,
    "DataError": outcomes.REFUSED,
    "RedisError": outcomes.FAILED,
    "RedisClusterException": outcomes.FAILED,
}

TABLES: dict[str, Table] = {
    "sqlite3": {"Error": _sqlite, "Warning": outcomes.FAILED},
    "sqlalchemy": _SQLALCHEMY,
    "redis": _REDIS,
    "psycopg": {
        **_DBAPI,
        "ConnectionTimeout": FixedError(Timeout, "The database did not accept a connection in time.", "none"),
        "CancellationTimeout": outcomes.SLOW,
    },
    "psycopg2": _DBAPI,
    "psycopg_pool": {"PoolTimeout": outcomes.NOT_FREE, "TooManyRequests": outcomes.BUSY, "PoolClosed": outcomes.LOST},
    "asyncpg": {
        "PostgresError": lambda exc: _by_sqlstate(exc) or outcomes.FAILED(exc),
        "ClientConfigurationError": outcomes.SETTINGS,
        "UnsupportedClientFeatureError": outcomes.UNSUPPORTED,
        "UnsupportedServerFeatureError": outcomes.UNSUPPORTED,
        "OutdatedSchemaCacheError": outcomes.CONTENDED,
        "TargetServerAttributeNotMatched": FixedError(Unavailable, "No server of the database can be used.", "none"),
        "InternalClientError": unknown,
        "ProtocolError": outcomes.FAILED,
        "InterfaceError": outcomes.FAILED,
    },
}
