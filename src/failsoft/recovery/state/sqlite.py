"""`SqliteState`: states and records in one SQLite file, shared by the processes of one machine."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from failsoft.framework.records import Account, QuotaReached, Record, State, Transition, UnreadableValue
from failsoft.recovery.state.sqlite_file import SqliteFile

_GET = "SELECT CAST(value AS BLOB) FROM record WHERE key = ? AND until > ?"
_FIND = "SELECT key, CAST(value AS BLOB), until FROM record WHERE substr(key, 1, ?) = ? AND until > ? ORDER BY key"
_PUT = """
INSERT INTO record (key, owner, value, until) VALUES (?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, until = excluded.until
"""


class SqliteState:
    """States and records in an SQLite file; implements `SharedState` and `RecordBackend`.

    Args:
        path: The file.
        patience_s: How long an operation waits while other processes hold the file, in seconds.
    """

    is_local = False

    def __init__(self, path: Path, *, patience_s: float = 5.0) -> None:
        self.file = SqliteFile(path, patience_s=patience_s)
        self.default_root = os.path.realpath(".")

    def clock(self) -> float:
        """Return the system time, which all processes of the machine share, in seconds."""
        return time.time()

    async def ping(self) -> None:
        """Open the file, if it is not open."""
        await self.file.run(lambda connection: connection.execute("SELECT 1 FROM record LIMIT 1").fetchone())

    async def seed(self, key: str, state: State, ttl_s: float) -> bool:
        """Store a state unless the key exists; return whether it was stored."""
        return await self.put(key, state, ttl_s, only_if_absent=True)

    async def change(self, transition: Transition, key: str, *arguments: Any, account: Account | None = None) -> Any:
        """See `RecordBackend`."""

        def work(connection: sqlite3.Connection) -> Any:
            now = time.time()
            state = _read(connection, key, now)
            try:
                changed = transition.step(state, now, *arguments)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                raise UnreadableValue(key) if state is not None else error from error
            if changed.state is None:
                connection.execute("DELETE FROM record WHERE key = ?", (key,))
            else:
                is_free = state is not None
                _write(connection, key, changed.state, now, now + changed.ttl_s, None if is_free else account)
            return changed.answer

        return await self.file.run(work)

    async def get(self, key: str) -> Any:
        """See `RecordBackend`."""
        return await self.file.run(lambda connection: _read(connection, key, time.time()), writes=False)

    async def put(
        self, key: str, value: Any, ttl_s: float, *, only_if_absent: bool = False, account: Account | None = None
    ) -> bool:
        """See `RecordBackend`."""

        def work(connection: sqlite3.Connection) -> bool:
            now = time.time()
            if only_if_absent and connection.execute(_GET, (key, now)).fetchone() is not None:
                return False
            _write(connection, key, value, now, now + ttl_s, account)
            return True

        return await self.file.run(work)

    async def delete(self, key: str) -> bool:
        """See `RecordBackend`."""
        return await self.file.run(
            lambda connection: connection.execute("DELETE FROM record WHERE key = ?", (key,)).rowcount > 0
        )

    async def find(self, prefix: str) -> list[Record]:
        """See `RecordBackend`."""
        rows = await self.file.run(
            lambda connection: connection.execute(
                _FIND,
                (len(prefix), prefix, time.time()),
            ).fetchall(),
            writes=False,
        )
        now, found = time.time(), []
        for key, value, until in rows:
            with suppress(ValueError, RecursionError):  # one damaged record does not hide the others
                found.append(Record(key, json.loads(value), max(0.0, until - now)))
        return found

    async def close(self) -> None:
        """See `RecordBackend`."""
        await self.file.close()


def _read(connection: sqlite3.Connection, key: str, now: float) -> Any:
    row = connection.execute(_GET, (key, now)).fetchone()
    try:
        return None if row is None else json.loads(row[0])
    except (ValueError, RecursionError) as error:
        raise UnreadableValue(key) from error


def _write(
    connection: sqlite3.Connection, key: str, value: Any, now: float, until: float, account: Account | None
) -> None:
    text = json.dumps(value)
    owner = "" if account is None else account.owner
    connection.execute("DELETE FROM record WHERE key = ? AND until <= ?", (key, now))  # expired
    if account is not None:
        _require_room(connection, key, text, account, now)
    connection.execute(_PUT, (key, owner, text, until))


def _require_room(connection: sqlite3.Connection, key: str, text: str, account: Account, now: float) -> None:
    """Raise `QuotaReached` if the record exceeds the quota; expired records do not count."""
    if not _fault(connection, key, text, account):
        return
    connection.execute("DELETE FROM record WHERE owner = ? AND until <= ?", (account.owner, now))
    fault = _fault(connection, key, text, account)
    if fault:
        raise QuotaReached(fault)


def _fault(connection: sqlite3.Connection, key: str, text: str, account: Account) -> str:
    row = connection.execute("SELECT records, bytes FROM account WHERE owner = ?", (account.owner,)).fetchone()
    records, total = row or (0, 0)
    before = connection.execute("SELECT length(value) FROM record WHERE key = ?", (key,)).fetchone()
    if before is None and records + 1 > account.quota.records:
        return "records"
    added = len(text) - before[0] if before else len(key) + len(text)
    return "bytes" if added > 0 and total + added > account.quota.bytes else ""
