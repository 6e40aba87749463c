"""The format of the state file: its tables and accounts, files of an older format, and what makes one unusable."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from failsoft.framework.state.backend import (
    LEAST_BYTES,
    Account,
    QuotaReached,
    StoreFault,
    StoreLost,
    WriteRefused,
    size_of,
)
from failsoft.framework.text import newer_format

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
_UNREADABLE: dict[int, tuple[StoreFault, str]] = {
    sqlite3.SQLITE_NOTADB: ("damaged", "it is not an SQLite database, or it is damaged"),
    sqlite3.SQLITE_CORRUPT: ("damaged", "it is damaged"),
    sqlite3.SQLITE_CANTOPEN: ("denied", "it cannot be opened: it, or its folder, is not readable or not writable"),
    sqlite3.SQLITE_PERM: ("denied", "access to it is denied"),
}
_UNWRITABLE: dict[int, tuple[StoreFault, str]] = {
    sqlite3.SQLITE_BUSY: ("busy", "another process has locked it"),
    sqlite3.SQLITE_LOCKED: ("busy", "another process has locked it"),
    sqlite3.SQLITE_READONLY: ("read_only", "it, or its folder, is not writable"),
    sqlite3.SQLITE_FULL: ("full", "its disk is full"),
    sqlite3.SQLITE_IOERR: ("lost", "its disk reports an error"),
}
_BESIDE_BYTES = 32_768
"""The length of the shared memory beside a file."""
_OF_FILES: dict[int | None, StoreFault] = {
    errno.EROFS: "read_only",
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
}


def prepare(connection: sqlite3.Connection) -> None:
    """Make the tables of a new file, and change one of an older format."""
    version = check_kind(connection)
    if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        msg = "its folder does not allow SQLite's WAL mode"
        raise StoreLost(msg, fault="denied")
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


def agreed_offset(connection: sqlite3.Connection, boot: str, ahead_s: float, *, writes: bool) -> float:
    """Return how far the file's time is ahead of the time since this start of the machine, in seconds.

    The first process of a start decides it by its system time, so that later jumps of that make no record older. A
    version that does not know this table goes by the system time.

    Args:
        connection: The file.
        boot: Which start it is; empty if that is unknown, and each process decides alone.
        ahead_s: What this process takes the offset for.
        writes: Whether the offset of the first process is noted.
    """
    if not boot:
        return ahead_s
    if writes:
        connection.execute("CREATE TABLE IF NOT EXISTS clock (boot TEXT PRIMARY KEY, ahead_s REAL NOT NULL)")
    elif not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'clock'").fetchone():
        return ahead_s
    wanted = "SELECT ahead_s FROM clock WHERE boot = ?"
    row = connection.execute(wanted, (boot,)).fetchone()
    if row is None and writes:
        connection.execute("DELETE FROM clock WHERE boot <> ?", (boot,))
        connection.execute("INSERT OR IGNORE INTO clock VALUES (?, ?)", (boot, ahead_s))
        row = connection.execute(wanted, (boot,)).fetchone()
    return ahead_s if row is None else float(row[0])


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
        raise StoreLost(newer_format(version, _VERSION, "name another file in FAILSOFT_STATE_URL"), fault="damaged")
    if application != _APPLICATION_ID and not is_empty:
        msg = "it is a database of another program"
        raise StoreLost(msg, fault="damaged")
    return 0 if is_empty else version


def require_room(
    connection: sqlite3.Connection, key: str, text: str, account: Account, now: float, *, before: bytes | None
) -> None:
    """Raise `QuotaReached` if the record exceeds the quota; expired records do not count."""
    added = size_of(key, text) - (0 if before is None else size_of(key, before.decode(errors="replace")))
    if added <= 0:
        return
    for is_swept in (False, True):
        if is_swept:
            connection.execute("DELETE FROM record WHERE owner = ? AND until <= ?", (account.owner, now))
        row = connection.execute("SELECT bytes FROM account WHERE owner = ?", (account.owner,)).fetchone()
        if (0 if row is None else row[0]) + added <= account.quota_bytes:
            return
    raise QuotaReached


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


def _is_full(path: Path) -> bool:
    try:
        space = os.statvfs(path.parent)
    except (OSError, AttributeError):  # there is no statvfs on Windows
        return False
    return space.f_bavail * space.f_frsize < _BESIDE_BYTES


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another process holds the file."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def what_is_wrong(error: OSError | sqlite3.Error, path: Path) -> StoreLost:
    """Return the `StoreLost` that describes a failure of a file."""
    if isinstance(error, OSError):
        return StoreLost(error.strerror or type(error).__name__, fault=_OF_FILES.get(error.errno, "lost"))
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_CANTOPEN and path.is_file() and os.access(path, os.R_OK):
        code = sqlite3.SQLITE_READONLY  # it is there and can be read, so that only writing it has failed
    if code == sqlite3.SQLITE_IOERR and _is_full(path):
        code = sqlite3.SQLITE_FULL  # of the files beside it, of which SQLite says less
    if code in _UNWRITABLE:
        fault, reason = _UNWRITABLE[code]
        return WriteRefused(reason, fault=fault)
    fault, reason = _UNREADABLE.get(code, ("lost", type(error).__name__))
    return StoreLost(reason, fault=fault)
