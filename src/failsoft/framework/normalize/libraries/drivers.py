"""Errors of MySQL drivers by error number, and of MongoDB's by error code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from failsoft.framework.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    RateLimited,
    ToolError,
)
from failsoft.framework.normalize.libraries import database_outcomes as outcomes
from failsoft.framework.normalize.rules import FixedError, Rule, Table, read, unknown

__all__ = ["MONGODB_CODES", "MYSQL_NUMBERS", "TABLES"]


MYSQL_NUMBERS: dict[int, FixedError] = {
    **dict.fromkeys((1021, 1041, 1114), outcomes.FULL),
    **dict.fromkeys((1022, 1048, 1062, 1216, 1217, 1451, 1452, 1557, 1586, 3819, 4025), outcomes.CONSTRAINT),
    **dict.fromkeys((1040, 1203), outcomes.BUSY),
    1226: FixedError(RateLimited, "The database had too many requests in a short time."),
    **dict.fromkeys((1044, 1142, 1143, 1227, 1370), outcomes.DENIED),
    **dict.fromkeys((1045, 1698, 1820), outcomes.LOGIN),
    1049: outcomes.SETTINGS,
    1205: outcomes.LOCKED,
    **dict.fromkeys((1213, 1020), outcomes.CONTENDED),
    **dict.fromkeys((1290, 1792, 1836), outcomes.READ_ONLY),
    **dict.fromkeys((1317, 1969, 3024), outcomes.SLOW),
    **dict.fromkeys((1235, 1289, 1286), outcomes.UNSUPPORTED),
    **dict.fromkeys((2002, 2003, 2005), outcomes.NOT_CONNECTED),
    **dict.fromkeys((1053, 1077, 1079, 1080, 1158, 1159, 1160, 1161, 1927, 2006, 2013, 2055, 3169), outcomes.LOST),
    **dict.fromkeys((1146, 1064, 1149), outcomes.REFUSED),
    **dict.fromkeys((1264, 1265, 1292, 1366, 1406), outcomes.VALUE),
}
"""MySQL's and MariaDB's error number -> verdict (the manual's "Server Error Message Reference", and the client's)."""

MONGODB_CODES: dict[int, FixedError] = {
    13: outcomes.DENIED,
    18: outcomes.LOGIN,
    20: outcomes.REFUSED,
    26: outcomes.ABSENT,
    43: FixedError(NotFound, "The cursor has ended; the query has to be made again."),
    48: FixedError(AlreadyExists, "The collection is there already."),
    50: outcomes.SLOW,
    **dict.fromkeys((59, 115), outcomes.UNSUPPORTED),
    64: outcomes.SLOW,
    **dict.fromkeys((6, 7, 89, 91, 189, 9001, 10107, 11600, 11602, 13435, 13436), outcomes.LOST),
    112: outcomes.CONTENDED,
    121: outcomes.VALUE,
    **dict.fromkeys((11000, 11001, 12582), outcomes.CONSTRAINT),
    8000: outcomes.LOGIN,
    14031: outcomes.FULL,
}
"""MongoDB's error code -> verdict (`src/mongo/base/error_codes.yml`)."""


def _by_number(otherwise: FixedError) -> Rule:
    """Return the rule of a MySQL driver: by its number, else this verdict."""

    def rule(exc: Any) -> ToolError:
        arguments = read(exc, "args") or ()
        number = read(exc, "errno")
        if not isinstance(number, int):
            number = arguments[0] if arguments and isinstance(arguments[0], int) else None
        error = (MYSQL_NUMBERS.get(number) or otherwise if number is not None else otherwise)(exc)
        if number is not None:
            error.details["mysql"] = number
        return error

    return rule


_MYSQL: Table = {
    "IntegrityError": _by_number(outcomes.CONSTRAINT),
    "DataError": _by_number(outcomes.VALUE),
    "NotSupportedError": _by_number(outcomes.UNSUPPORTED),
    "ProgrammingError": _by_number(outcomes.REFUSED),
    "InterfaceError": _by_number(outcomes.LOST),
    "OperationalError": _by_number(outcomes.FAILED),
    "Error": _by_number(outcomes.FAILED),
    "MySQLError": _by_number(outcomes.FAILED),
}


def _mongodb(otherwise: Callable[[Any], ToolError]) -> Rule:
    def rule(exc: Any) -> ToolError:
        code = _first_write_error(read(exc, "details")) or read(exc, "code")
        known = MONGODB_CODES.get(code) if isinstance(code, int) else None
        error = (known or otherwise)(exc)
        if isinstance(code, int):
            error.details["mongodb"] = code
        return error

    return rule


def _first_write_error(details: Any) -> Any:
    """Return the code of the first failed write of a bulk write; what was written before it stays written."""
    errors = details.get("writeErrors") if isinstance(details, Mapping) else None
    first = errors[0] if isinstance(errors, list) and errors else None
    return first.get("code") if isinstance(first, Mapping) else None


_PYMONGO: Table = {
    "NetworkTimeout": outcomes.SLOW,
    "ServerSelectionTimeoutError": outcomes.NOT_CONNECTED,
    "WaitQueueTimeoutError": outcomes.NOT_FREE,
    "ConnectionFailure": outcomes.LOST,
    "DuplicateKeyError": _mongodb(outcomes.CONSTRAINT),
    "ExecutionTimeout": outcomes.SLOW,
    "WTimeoutError": outcomes.SLOW,
    "CursorNotFound": MONGODB_CODES[43],
    "BulkWriteError": _mongodb(outcomes.FAILED),
    "OperationFailure": _mongodb(outcomes.FAILED),
    "CollectionInvalid": MONGODB_CODES[48],
    "ConfigurationError": outcomes.SETTINGS,
    "InvalidName": FixedError(InvalidArgument, "A name is not one that the database allows.", "none"),
    "InvalidOperation": unknown,
    "PyMongoError": outcomes.FAILED,
}

TABLES: dict[str, Table] = {
    "pymysql": _MYSQL,
    "MySQLdb": _MYSQL,
    "mysql": _MYSQL,
    "pymongo": _PYMONGO,
    "bson": {"BSONError": FixedError(InvalidArgument, "A value cannot be stored as BSON.", "none")},
}
