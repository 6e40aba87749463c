"""The search index: shared by threads and processes, brought up to date before it answers.

How far an answer may lag behind the disk: the tree is walked again when the last walk is older than twenty times what
that walk took, and never later than after `STALE_S_AT_MOST`. So the check costs a twentieth of the time at most,
a small tree is as good as always fresh, and 15,000 documents are at most a few seconds behind.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from filelock import Timeout as LockTimeout

from failsoft.framework.errors import DatabaseError, Overloaded
from failsoft.tools.docs.cache import IN_MEMORY, REBUILT, discard, in_memory, is_damage, open_store
from failsoft.tools.docs.guard import DocumentRoot
from failsoft.tools.docs.library import Entry, walk
from failsoft.tools.docs.refresh import apply_changes, find_changes, is_built
from failsoft.tools.docs.store import Store

__all__ = ["BEHIND", "STALE_S_AT_MOST", "DocumentIndex"]

T = TypeVar("T")
STALE_S_AT_MOST = 5.0
_WALK_SHARE = 20.0
"""The tree is walked for at most one part in so many of the time."""
_BUILD_WAIT_S = 60.0
"""How long to wait for a process that builds the index for the first time; there is nothing to serve before that."""
_REFRESH_WAIT_S = 0.5
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_MENDS = 2

BEHIND = "The search index is being brought up to date by another process; this answer may lag behind."


class DocumentIndex:
    """What is known of the documents without reading them. Every method may be called from any thread.

    Args:
        root: The documents.
        cache_dir: Where indexes are kept, one file for each root; by default the user's cache folder.
        clock: Seconds that only grow.
    """

    def __init__(
        self, root: DocumentRoot, *, cache_dir: Path | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._root = root
        self._cache_dir = cache_dir
        self._clock = clock
        self._turn = threading.RLock()
        self._store: Store | None = None
        self._fresh_until = float("-inf")
        self._warnings: list[str] = []

    def ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Return what the question finds in the index, which is brought up to date first.

        A damaged index is built anew, and one that cannot be kept on disk moves into memory; both leave a warning.

        Raises:
            OVERLOADED: Another process keeps the index locked.
            DATABASE_ERROR: Not even an index in memory works.
            CONFIG_ERROR: The root cannot be opened.
        """
        mends = 0
        while True:
            try:
                store = self._up_to_date()
                with store.connection() as connection:
                    return question(connection)
            except sqlite3.Error as error:
                if _code(error) in _BUSY:
                    raise Overloaded(message="The search index is in use.", retry_after_seconds=1.0) from error
                if mends == _MENDS:
                    raise DatabaseError(message="The search index does not work.") from error
                self._mend(error, for_good=mends > 0)
                mends += 1

    def take_warnings(self) -> list[str]:
        """Return what callers should know about the index, each once."""
        taken, self._warnings = self._warnings, []
        return taken

    def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        with self._turn:
            store, self._store = self._store, None
            self._fresh_until = float("-inf")
        if store is not None:
            store.close()

    def _up_to_date(self) -> Store:
        """Return the store after a refresh, if one is due. Threads take turns, so only one of them walks the tree."""
        store = self._store
        if store is not None and self._clock() < self._fresh_until:
            return store
        with self._turn:
            if self._store is None:
                self._store, warning = open_store(self._root.root, self._cache_dir)
                self._warn(warning)
            if self._clock() >= self._fresh_until:
                began = self._clock()
                entries = walk(self._root)
                took_s = self._clock() - began
                self._refresh(self._store, entries)
                self._fresh_until = self._clock() + min(took_s * _WALK_SHARE, STALE_S_AT_MOST)
            return self._store

    def _refresh(self, store: Store, entries: Sequence[Entry]) -> None:
        with store.connection() as connection:
            built = is_built(connection)
            if built and not find_changes(connection, entries):
                return
            lock = store.process_lock()
            if lock is None:
                apply_changes(connection, find_changes(connection, entries), self._root)
                return
            try:
                # What differs is asked again under the lock: another process may have written it meanwhile.
                with lock.acquire(timeout=_REFRESH_WAIT_S if built else _BUILD_WAIT_S):
                    apply_changes(connection, find_changes(connection, entries), self._root)
            except LockTimeout:
                self._warn(BEHIND)
            except (OSError, RuntimeError) as error:
                msg = "the lock beside the index cannot be used"
                raise sqlite3.OperationalError(msg) from error

    def _mend(self, error: sqlite3.Error, *, for_good: bool) -> None:
        """Make the next attempt possible: with a new file, with the file opened anew, or in memory."""
        with self._turn:
            store, self._store = self._store, None
            self._fresh_until = float("-inf")
            if for_good or store is None or _code(error) == sqlite3.SQLITE_FULL:
                self._store = in_memory(error)
                self._warn(IN_MEMORY)
            elif is_damage(error):
                self._warn(REBUILT)
                discard(store)
        if store is not None:
            store.close()

    def _warn(self, message: str) -> None:
        if message and message not in self._warnings:
            self._warnings.append(message)


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
