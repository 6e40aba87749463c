"""The format of the state file: its tables, files of an older format, and what makes one unusable."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from failsoft.framework.state.backend import LEAST_BYTES, StoreLost, WriteRefused

_APPLICATION_ID = 0x46534F46
_VERSION = 2
_SIZE = "max({least}, length({row}.key) + length({row}.value))"
_NEW, _OLD = (_SIZE.format(least=LEAST_BYTES, row=row) for row in ("NEW", "OLD"))
_TABLES = """
CREATE TABLE IF NOT EXISTS record (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, value TEXT NOT NULL, until REAL NOT NULL, version TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS record_until ON record (until);
"""
_ACCOUNTS = f"""
CREATE TABLE IF NOT EXISTS account (owner TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS record_added AFTER INSERT ON record WHEN NEW.owner <> '' BEGIN
    INSERT INTO account VALUES (NEW.owner, {_NEW}) ON CONFLICT (owner) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER IF NOT EXISTS record_changed AFTER UPDATE OF value ON record WHEN NEW.owner <> '' BEGIN
    UPDATE account SET bytes = bytes + {_NEW} - {_OLD} WHERE owner = NEW.owner;
END;
CREATE TRIGGER IF NOT EXISTS record_removed AFTER DELETE ON record WHEN OLD.owner <> '' BEGIN
    UPDATE account SET bytes = bytes - {_OLD} WHERE owner = OLD.owner;
    DELETE FROM account WHERE owner = OLD.owner AND bytes <= 0;
END;
PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {_VERSION};
"""  # noqa: S608 - constants
_FROM_1 = f"""
ALTER TABLE record ADD COLUMN version TEXT NOT NULL DEFAULT 'format 1';
DROP TRIGGER record_added; DROP TRIGGER record_changed; DROP TRIGGER record_removed; DROP TABLE account;
{_ACCOUNTS}
INSERT INTO account
SELECT owner, sum({_SIZE.format(least=LEAST_BYTES, row="record")}) FROM record WHERE owner <> '' GROUP BY owner;
"""  # noqa: S608 - constants
_LASTING = {
    sqlite3.SQLITE_NOTADB: "it is not an SQLite database, or it is damaged",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: it, or its folder, is not readable or not writable",
    sqlite3.SQLITE_PERM: "access to it is denied",
}
_PASSING = {
    sqlite3.SQLITE_READONLY: "it, or its folder, is not writable",
    sqlite3.SQLITE_FULL: "its disk is full",
    sqlite3.SQLITE_IOERR: "its disk reports an error",
}
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def prepare(connection: sqlite3.Connection) -> None:
    """Make the tables of a new file, and change one of an older format."""
    version = check_kind(connection)
    if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        msg = "its folder does not allow SQLite's WAL mode"
        raise StoreLost(msg, is_lasting=True)
    connection.execute("PRAGMA synchronous = NORMAL")
    if version == _VERSION:
        return
    changes = _FROM_1 if version == 1 else _TABLES + _ACCOUNTS
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {changes} COMMIT;")
    except sqlite3.OperationalError:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        if check_kind(connection) != _VERSION:  # otherwise another process was faster
            raise


def prepare_to_read(connection: sqlite3.Connection) -> None:
    """Check a file that takes no writes; one of an older format is read as if it were of this one."""
    if check_kind(connection) == 1:
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("CREATE TEMP VIEW record AS SELECT *, 'format 1' AS version FROM main.record")
    connection.execute("SELECT version FROM record LIMIT 1").fetchone()


def check_kind(connection: sqlite3.Connection) -> int:
    """Return the version of the file's format; 0 for an empty one.

    Raises:
        StoreLost: It is a file of another program, or of a newer version.
    """
    # First, since another process may be making the file in one transaction.
    is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > _VERSION and application == _APPLICATION_ID:
        msg = f"a newer version of failsoft has made it (format {version}; this one reads {_VERSION})"
        raise StoreLost(msg, is_lasting=True)
    if application != _APPLICATION_ID and not is_empty:
        msg = "it is a database of another program"
        raise StoreLost(msg, is_lasting=True)
    return 0 if is_empty else version


def when_free(act: Callable[[], Any], until: float) -> None:
    """Do something that waits for other processes, until a moment on the monotonic clock."""
    while True:
        try:
            act()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= until:
                raise
        else:
            return


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another process holds the file."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY


def what_is_wrong(error: OSError | sqlite3.Error, *, is_readable: bool) -> StoreLost:
    """Return the `StoreLost` that describes a failure of the file.

    Args:
        error: The failure.
        is_readable: Whether the file is there and can be read, so that only writing it has failed.
    """
    if isinstance(error, OSError):
        return StoreLost(error.strerror or type(error).__name__, is_lasting=True)
    if is_busy(error):
        return WriteRefused("another process has locked it")
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_CANTOPEN and is_readable:
        code = sqlite3.SQLITE_READONLY
    if code in _PASSING:
        return WriteRefused(_PASSING[code])
    return StoreLost(_LASTING.get(code) or type(error).__name__, is_lasting=code in _LASTING)
