"""Errors of databases: SQLite by its result code, others by SQLSTATE or number, SQLAlchemy and Redis by class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failsoft.framework.errors import ToolError
from failsoft.framework.normalize.outcomes import (
    OUTCOMES,
    Inside,
    Rule,
    Table,
    coded,
    numbered,
    read,
    rows,
    type_name,
)

SQLITE = numbered(
    db_denied="3 23",  # PERM, AUTH
    db_locked="5 6 15",  # BUSY, LOCKED, PROTOCOL of the locks
    db_busy="7",  # NOMEM
    db_read_only="8",  # READONLY
    db_interrupted="9",  # INTERRUPT
    db_disk="10 22",  # IOERR, NOLFS
    db_damaged="11",  # CORRUPT
    disk_full="13",  # FULL
    db_closed_file="14",  # CANTOPEN
    db_too_long="18",  # TOOBIG
    db_constraint="19",  # CONSTRAINT, that of a trigger among them
    db_check="275",  # CONSTRAINT_CHECK
    db_reference="787",  # CONSTRAINT_FOREIGNKEY
    db_null="1299",  # CONSTRAINT_NOTNULL
    db_value="20 3091",  # MISMATCH, CONSTRAINT_DATATYPE
    db_duplicate="1555 2067 2579",  # CONSTRAINT of a primary key, UNIQUE or a row id
    db_misused="21 25",  # MISUSE, RANGE
    db_no_database="26",  # NOTADB
    db_statement="1",  # ERROR: syntax, or no such table
)
"""SQLite's result code, or its primary one -> outcome; the others are failures of the database (https://sqlite.org/rescode.html)."""

SQLSTATES = coded(
    db_absent="02 P0002",
    db_lost="08 57P01 57P02 57P03",
    db_unsupported="0A",
    db_value="22",
    db_too_long="22001",
    db_range="22003 22008",
    db_constraint="23 P0001",  # and what a function or trigger raises
    db_referenced="23001",
    db_null="23502",
    db_reference="23503",
    db_duplicate="23505",
    db_check="23514",
    db_overlap="23P01",
    db_read_only="25006",
    db_login="28",
    db_contended="40",
    db_denied="42501",
    db_busy="53",
    db_full="53100",
    db_in_use="55006",
    db_locked="55P03",
    db_slow="57014",
    db_disk="58",
)
"""SQLSTATE, or its class of two characters -> outcome (ISO 9075, and PostgreSQL's appendix A)."""

MYSQL_NUMBERS = numbered(
    db_full="1021 1041 1114",
    db_constraint="1644",  # SIGNAL of a procedure or trigger
    db_null="1048 1364",
    db_no_parent="1216 1452",
    db_referenced="1217 1451",
    db_check="3819 4025",
    db_duplicate="1022 1062 1557 1586",
    db_busy="1040 1203",
    db_limited="1226",
    db_denied="1044 1142 1143 1227 1370",
    db_login="1045 1698 1820",
    db_settings="1049",
    db_locked="1205",
    db_contended="1213 1020",
    db_read_only="1290 1792 1836",
    db_slow="1317 1969 3024",
    db_unsupported="1235 1289 1286",
    db_unreachable="2002 2003 2005",
    db_lost="1053 1077 1079 1080 1158 1159 1160 1161 1927 2006 2013 2055 3169",
    db_refused="1146 1064 1149",
    db_range="1264",
    db_too_long="1406",
    db_value="1265 1292 1366",
)
"""MySQL's and MariaDB's error number -> outcome (the manual's "Server Error Message Reference", and the client's)."""

MONGODB_CODES = numbered(
    db_denied="13",
    db_login="18 8000",
    db_refused="20",
    db_absent="26",
    db_cursor="43",
    db_exists="48",
    db_slow="50 64",
    db_unsupported="59 115",
    db_lost="6 7 89 91 189 9001 10107 11600 11602 13435 13436",
    db_contended="112",
    db_document="121",
    db_duplicate="11000 11001 12582",
    db_full="14031",
)
"""MongoDB's error code -> outcome (`src/mongo/base/error_codes.yml`)."""


_SQLITE_BY_CLASS = coded(
    db_constraint="IntegrityError", db_misused="ProgrammingError InterfaceError", db_unsupported="NotSupportedError"
)
"""For errors of Python's module itself, which have no code."""


def _sqlite(exc: Any) -> ToolError:
    code = read(exc, "sqlite_errorcode")
    if not isinstance(code, int):
        return _SQLITE_BY_CLASS.get(type_name(exc), OUTCOMES["db_failed"])(exc)
    error = (SQLITE.get(code) or SQLITE.get(code & 0xFF, OUTCOMES["db_failed"]))(exc)
    error.details["sqlite"] = str(read(exc, "sqlite_errorname", code))
    return error


def _by_sqlstate(exc: Any) -> ToolError | None:
    """Return the error by the SQLSTATE that a driver's exception carries (psycopg, asyncpg: `sqlstate`; others)."""
    state = read(exc, "sqlstate") or read(exc, "pgcode")
    outcome = (SQLSTATES.get(state) or SQLSTATES.get(state[:2])) if isinstance(state, str) else None
    if outcome is None:
        return None
    error = outcome(exc)
    error.details["sqlstate"] = state[:5]
    return error


def _by_state(otherwise: str) -> Rule:
    """Return the rule of a driver that carries a SQLSTATE: by it, else this outcome."""
    return lambda exc: _by_sqlstate(exc) or OUTCOMES[otherwise](exc)


def _postgres(exc: Any) -> ToolError:
    """Return the error for asyncpg, which has no `ProgrammingError`: class 42 refuses a statement for what it says."""
    is_statement = str(read(exc, "sqlstate", "")).startswith("42")
    return _by_sqlstate(exc) or OUTCOMES["db_statement" if is_statement else "db_failed"](exc)


def _operational(exc: Any) -> ToolError:
    """Return the error for PEP 249's `OperationalError`; without a SQLSTATE the server was not reached, or is gone."""
    return _by_sqlstate(exc) or OUTCOMES["db_failed" if read(exc, "sqlstate") else "db_lost"](exc)


def _by_number(otherwise: str) -> Rule:
    """Return the rule of a MySQL driver: by its number, else this outcome."""

    def rule(exc: Any) -> ToolError:
        number = read(exc, "errno")
        if not isinstance(number, int):
            number = next(iter(read(exc, "args") or ()), None)
        is_numbered = isinstance(number, int)
        error = (MYSQL_NUMBERS.get(number, OUTCOMES[otherwise]) if is_numbered else OUTCOMES[otherwise])(exc)
        if is_numbered:
            error.details["mysql"] = number
        return error

    return rule


def _mongodb(exc: Any) -> ToolError:
    """Return the error by MongoDB's code; of a bulk write that of the first failed one."""
    details = read(exc, "details")
    errors = details.get("writeErrors") if isinstance(details, Mapping) else None
    first = errors[0] if isinstance(errors, list) and errors else None
    code = (first.get("code") if isinstance(first, Mapping) else None) or read(exc, "code")
    otherwise = "db_duplicate" if type_name(exc) == "DuplicateKeyError" else "db_failed"
    error = (MONGODB_CODES.get(code, OUTCOMES[otherwise]) if isinstance(code, int) else OUTCOMES[otherwise])(exc)
    if isinstance(code, int):
        error.details["mongodb"] = code
    return error


def _sqlalchemy(otherwise: str) -> Rule:
    """Return a rule for SQLAlchemy's wrappers: what the driver raised, else this outcome.

    SQLAlchemy's own text is kept out of the log: it holds the statement and its parameters.
    """

    def rule(exc: Any) -> ToolError | Inside:
        if read(exc, "connection_invalidated") is True:
            error = OUTCOMES["db_lost"](exc)
            error.operator_hint = type_name(exc, full=True)
            return error
        driver = read(exc, "orig")
        if isinstance(driver, BaseException):
            return Inside(driver, lambda _: _by_sqlstate(driver) or OUTCOMES[otherwise](driver))
        return OUTCOMES[otherwise](exc)

    return rule


_MYSQL: Table = {
    "IntegrityError": _by_number("db_constraint"),
    "DataError": _by_number("db_value"),
    "NotSupportedError": _by_number("db_unsupported"),
    "ProgrammingError": _by_number("db_misused"),
    "InterfaceError": _by_number("db_lost"),
    **dict.fromkeys(("OperationalError", "Error", "MySQLError"), _by_number("db_failed")),
}
_POSTGRES: Table = {
    "IntegrityError": _by_state("db_constraint"),
    "DataError": _by_state("db_value"),
    "ProgrammingError": _by_state("db_misused"),
    "NotSupportedError": _by_state("db_unsupported"),
    "OperationalError": _operational,
    "Error": _by_state("db_failed"),
    **rows(db_failed="Warning"),
}
"""PEP 249's names, for drivers that carry a SQLSTATE."""

TABLES: dict[str, Table] = {
    "sqlite3": {"Error": _sqlite, **rows(db_failed="Warning")},
    "psycopg": {**_POSTGRES, **rows(db_slow_connect="ConnectionTimeout", db_slow="CancellationTimeout")},
    "psycopg2": _POSTGRES,
    "psycopg_pool": rows(db_none_free="PoolTimeout", db_busy="TooManyRequests", db_lost="PoolClosed"),
    "asyncpg": {
        "PostgresError": _postgres,
        **rows(
            db_settings="ClientConfigurationError",
            db_unsupported="UnsupportedClientFeatureError UnsupportedServerFeatureError",
            db_contended="OutdatedSchemaCacheError",
            db_no_server="TargetServerAttributeNotMatched",
            defect="InternalClientError",
            db_failed="ProtocolError InterfaceError",
        ),
    },
    **dict.fromkeys(("pymysql", "MySQLdb", "mysql"), _MYSQL),
    "pymongo": {
        **dict.fromkeys(("DuplicateKeyError", "BulkWriteError", "OperationFailure"), _mongodb),
        **rows(
            db_slow="NetworkTimeout ExecutionTimeout WTimeoutError",
            db_unreachable="ServerSelectionTimeoutError",
            db_none_free="WaitQueueTimeoutError",
            db_lost="ConnectionFailure",
            db_cursor="CursorNotFound",
            db_exists="CollectionInvalid",
            db_settings="ConfigurationError",
            db_name="InvalidName",
            defect="InvalidOperation",
            db_failed="PyMongoError",
        ),
    },
    "bson": rows(db_bson="BSONError"),
    "sqlalchemy": {
        "IntegrityError": _sqlalchemy("db_constraint"),
        "DataError": _sqlalchemy("db_value"),
        "ProgrammingError": _sqlalchemy("db_misused"),
        "NotSupportedError": _sqlalchemy("db_unsupported"),
        "StatementError": _sqlalchemy("db_failed"),
        **rows(
            db_none_free="TimeoutError",
            db_lost="DisconnectionError",
            db_absent="NoResultFound ObjectDeletedError",
            db_contended="StaleDataError",
            defect="ArgumentError CompileError InvalidRequestError",
            db_failed="SQLAlchemyError",
        ),
    },
    "redis": rows(
        db_login="AuthenticationError AuthenticationWrongNumberOfArgsError AuthorizationError"
        " ExternalAuthProviderError",
        db_denied="NoPermissionError",
        db_pool="MaxConnectionsError",
        db_starting="BusyLoadingError",
        db_lost="ConnectionError ClusterDownError TryAgainError SlotNotCoveredError",
        db_slow="TimeoutError",
        db_no_writes="ReadOnlyError",
        db_no_room="OutOfMemoryError",
        db_contended="WatchError",
        db_lock="LockError",
        db_misused="DataError",
        db_refused="ResponseError",
        db_failed="RedisError RedisClusterException",
    ),
}
