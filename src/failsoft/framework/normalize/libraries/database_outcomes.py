"""What databases report, as typed errors: the same outcomes for SQL, MySQL's numbers, MongoDB and Redis."""

from __future__ import annotations

from failsoft.framework.errors import (
    ConfigurationError,
    Conflict,
    DatabaseError,
    InvalidArgument,
    NotFound,
    Overloaded,
    PermissionDenied,
    StorageError,
    Timeout,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from failsoft.framework.normalize.rules import FixedError

__all__ = [
    "ABSENT",
    "BUSY",
    "CONSTRAINT",
    "CONTENDED",
    "DENIED",
    "DISK",
    "FAILED",
    "FULL",
    "LOCKED",
    "LOGIN",
    "LOST",
    "NOT_CONNECTED",
    "NOT_FREE",
    "READ_ONLY",
    "REFUSED",
    "SETTINGS",
    "SLOW",
    "UNSUPPORTED",
    "VALUE",
]

ABSENT = FixedError(NotFound, "The database does not have what was asked for.")
BUSY = FixedError(Overloaded, "The database has more work than it takes on at once.")
CONSTRAINT = FixedError(Conflict, "The data breaks a rule of the database, such as a value that must be unique.")
CONTENDED = FixedError(Conflict, "The same data was changed elsewhere at the same time.")
DENIED = FixedError(PermissionDenied, "The database refused the access.")
DISK = FixedError(StorageError, "The database cannot read or write its files.")
FAILED = FixedError(DatabaseError)
FULL = FixedError(StorageError, "The disk of the database is full.")
LOCKED = FixedError(Unavailable, "The database is in use by another writer.")
LOGIN = FixedError(Unauthenticated, "The database did not accept the credentials.")
LOST = FixedError(Unavailable, "The connection to the database was lost.")
NOT_CONNECTED = FixedError(Unavailable, "The database cannot be reached.", "none")
NOT_FREE = FixedError(Timeout, "All connections to the database were in use.", "none")
READ_ONLY = FixedError(StorageError, "The database is read-only.")
REFUSED = FixedError(DatabaseError, "The database refused a statement of this tool.")
SETTINGS = FixedError(ConfigurationError, "The access to the database is not set up.", "none")
SLOW = FixedError(Timeout, "The database took too long.")
UNSUPPORTED = FixedError(Unsupported, "The database does not support this.")
VALUE = FixedError(InvalidArgument, "A value does not fit its place in the database.")
