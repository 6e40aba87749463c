"""The search index, shared by threads and processes, and refreshed before each query.

What a search returns is compared with the disk at that moment: changed and deleted documents are indexed anew first.
New documents appear with the next walk of the tree, which is due once the last one is older than twenty times what it
took, and no later than after `STALE_S_AT_MOST`.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from failsoft.framework.call.call import Call
from failsoft.framework.errors import DatabaseError, Overloaded
from failsoft.tools.database_files import is_damage
from failsoft.tools.docs.documents.document import ParsedDocument
from failsoft.tools.docs.documents.library import LibraryEntry, walk
from failsoft.tools.docs.documents.root import DocumentRoot
from failsoft.tools.docs.search.database import PostgresDatabase
from failsoft.tools.docs.search.refresh import IndexChanges, apply_changes, find_changes, find_stale, is_built
from failsoft.tools.docs.search.sqlite_store import REBUILT, TEMPORARY, Store, discard, open_store, temporary_store
from failsoft.tools.docs.search.tables import IndexConnection, IndexStore, LostStoreError, state_of
from failsoft.tools.docs.signatures import SearchHit

T = TypeVar("T")
STALE_S_AT_MOST = 5.0
_WALK_SHARE = 20.0
"""The tree is walked for at most one part in so many of the time."""
_BUILD_WAIT_S = 60.0
"""How long to wait for a process that builds the index for the first time; there is nothing to serve before that."""
_REFRESH_WAIT_S = 0.5
_REFRESH_S = 3.0
"""How long one question works on the index before it is answered from what there is; the next one goes on."""
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_REBUILDS_AT_MOST = 2
_CURRENT_TRIES = 3
"""How often an answer is asked for again because its documents were changed meanwhile."""

BEHIND = "The search index is being brought up to date by another process; this answer may lag behind."


UNFINISHED = "Some documents are not indexed yet, since there are many; each call goes on with the rest."


def _own_type(document: ParsedDocument) -> tuple[str, str]:
    return document.own_type or "document", ""


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """How documents are indexed.

    Args:
        classify: Returns the type and the promotion level of a document.
        language: Whose words are stemmed: `english` or `none`.
        fingerprint: Distinguishes indexes of one root with different options; empty for the default.
    """

    classify: Callable[[ParsedDocument], tuple[str, str]] = _own_type
    language: str = "english"
    fingerprint: str = ""


class DocumentIndex:
    """What is known of the documents without reading them. Every method may be called from any thread.

    Args:
        root: The documents.
        cache_dir: Where indexes are kept, one file for each root; by default the user's cache folder.
        database: Keeps the index in place of a file.
        options: How documents are indexed.
        clock: Monotonic time in seconds.
    """

    def __init__(
        self,
        root: DocumentRoot,
        *,
        cache_dir: Path | None = None,
        options: IndexOptions | None = None,
        database: PostgresDatabase | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._root = root
        self._options = options or IndexOptions()
        self._cache_dir = cache_dir
        self._database = database
        self._clock = clock
        self._turn = threading.RLock()
        self._store: IndexStore | None = None
        self._fresh_until = float("-inf")
        self._walks = 0
        self._warnings: list[str] = []
        self.is_behind = False
        """Whether changes on disk are known that could not be indexed yet."""
        self.is_unfinished = False
        """Whether that is because there are many."""

    def ask(self, question: Callable[[IndexConnection], T]) -> T:
        """Return what the question finds in the index, which is brought up to date first.

        A damaged index is built anew, and one that cannot be kept in the cache folder moves into a temporary one; both
        leave a warning.

        Raises:
            OVERLOADED: Another process keeps the index locked.
            DATABASE_ERROR: Not even an index in a temporary folder works, or the database does not.
            CONFIG_ERROR: The root cannot be opened.
        """
        rebuilds = 0
        store: IndexStore | None = None
        while True:
            try:
                store = self._up_to_date()
                with store.connection() as connection:
                    return question(connection)
            except LostStoreError as error:
                if rebuilds == _REBUILDS_AT_MOST:
                    raise DatabaseError(message="The connection to the search index was lost.") from error
                self._lose(store, is_damaged=error.is_damaged)
                rebuilds += 1
            except sqlite3.Error as error:
                if _code(error) in _BUSY:
                    raise Overloaded(message="The search index is in use.", retry_after_seconds=1.0) from error
                if rebuilds == _REBUILDS_AT_MOST:
                    raise DatabaseError(message="The search index does not work.") from error
                self._rebuild(error, for_good=rebuilds > 0)
                rebuilds += 1

    async def within(self, call: Call, work: Callable[[], T]) -> T:
        """Return the result of work that asks this index, done in a thread; a database has its breaker around it.

        Raises:
            OVERLOADED, DATABASE_ERROR, CONFIG_ERROR: As `ask` does.
        """
        if self._database is not None:
            return await self._database.run(call, work)
        return await call.bound.threads.run(work)

    def ask_current(
        self,
        question: Callable[[IndexConnection], T],
        hits_of: Callable[[T], list[SearchHit]],
        is_doubtful: Callable[[T], bool] = lambda _: False,
    ) -> T:
        """Return what the question finds, none of whose documents was changed or deleted since it was indexed.

        While another process keeps the index locked, documents that were deleted are left out of the answer.

        Args:
            question: As for `ask`.
            hits_of: Returns the list of the documents in an answer.
            is_doubtful: Whether an answer denies something that a new document may have: it is only given after a walk
                that began with the question. An answer without documents always does.

        Raises:
            OVERLOADED, DATABASE_ERROR, CONFIG_ERROR: As `ask` does.
        """

        def checked(connection: IndexConnection) -> tuple[T, list[SearchHit], IndexChanges, int | None]:
            state = state_of(connection)
            found = question(connection)
            hits = hits_of(found)
            return found, hits, find_stale(connection, [hit["path"] for hit in hits], self._root), state

        walks = self._walks
        for _ in range(_CURRENT_TRIES):
            found, hits, stale, state = self.ask(checked)
            if self._walks == walks and (not hits or is_doubtful(found)):
                self._fresh_until = float("-inf")
                if self.ask(state_of) != state:
                    found, hits, stale, _ = self.ask(checked)
            if not stale:
                return found
            self.refresh_paths([hit["path"] for hit in hits])
        found, hits, _, _ = self.ask(checked)
        hits[:] = [hit for hit in hits if self._root.holds(hit["path"])]
        return found

    def refresh_paths(self, paths: Sequence[str]) -> None:
        """Index the stale ones among these documents anew."""

        def stale(connection: IndexConnection) -> IndexChanges:
            return find_stale(connection, paths, self._root)

        if not self.ask(stale):
            return
        with self._turn:
            if self._store is not None:
                with self._store.connection() as connection:
                    self._apply(self._store, connection, lambda: stale(connection), is_built=True)

    def take_warnings(self) -> list[str]:
        """Return what callers should know about the index, each once."""
        taken, self._warnings = self._warnings, []
        return [*taken, UNFINISHED] if self.is_unfinished else taken

    def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        with self._turn:
            store, self._store = self._store, None
            self._fresh_until = float("-inf")
        if store is not None:
            store.close()

    def _up_to_date(self) -> IndexStore:
        """Return the store after a refresh, if one is due. Threads take turns, so only one of them walks the tree."""
        store = self._store
        if store is not None and self._clock() < self._fresh_until:
            return store
        until = self._clock() + _REFRESH_S
        with self._turn:
            if self._store is None:
                self._store = self._open()
            if self._clock() >= self._fresh_until:
                began = self._clock()
                entries = walk(self._root)
                self._walks += 1
                took_s = self._clock() - began
                self._refresh(self._store, entries, until)
                fresh_s = 0.0 if self.is_unfinished else min(took_s * _WALK_SHARE, STALE_S_AT_MOST)
                self._fresh_until = self._clock() + fresh_s
            return self._store

    def _open(self) -> IndexStore:
        root, options = self._root.root, self._options
        if self._database is not None:
            return self._database.open(root, options.language, options.fingerprint)
        store, warning = open_store(root, self._cache_dir, options.language, options.fingerprint)
        self._warn(warning)
        return store

    def _lose(self, lost: IndexStore | None, *, is_damaged: bool) -> None:
        """Make the next question open the store anew, unless another thread has done so meanwhile."""
        with self._turn:
            if self._store is not None and (lost is None or self._store is lost):
                if is_damaged:
                    self._store.discard()
                    self._warn(REBUILT)
                self._store.close()
                self._store = None
                self._fresh_until = float("-inf")

    def _refresh(self, store: IndexStore, entries: Sequence[LibraryEntry], until: float) -> None:
        with store.connection() as connection:
            built = is_built(connection)
            if built and not find_changes(connection, entries):
                self.is_behind = self.is_unfinished = False
                return
            self._apply(store, connection, lambda: find_changes(connection, entries), until, is_built=built)

    def _apply(
        self,
        store: IndexStore,
        connection: IndexConnection,
        changes: Callable[[], IndexChanges],
        until: float | None = None,
        *,
        is_built: bool,
    ) -> None:
        """Write what differs; it is asked for under the lock, since another process may have written it meanwhile."""

        def write() -> None:
            is_late = (lambda: False) if until is None else (lambda: self._clock() >= until)
            is_all = apply_changes(connection, changes(), self._root, self._options.classify, is_late)
            if until is not None:
                self.is_unfinished = not is_all
            self.is_behind = self.is_unfinished

        lock = store.process_lock()
        if lock is None:
            write()
            return
        try:
            with lock.acquire(timeout=_REFRESH_WAIT_S if is_built else _BUILD_WAIT_S):
                write()
        except TimeoutError:  # of the lock
            self.is_behind = True
            self._warn(BEHIND)
        except (OSError, RuntimeError) as error:
            msg = "the lock beside the index cannot be used"
            raise sqlite3.OperationalError(msg) from error

    def _rebuild(self, error: sqlite3.Error, *, for_good: bool) -> None:
        """Make the next attempt possible: with a new file, with the file opened anew, or with a temporary one."""
        with self._turn:
            store, self._store = self._store, None
            self._fresh_until = float("-inf")
            if for_good or store is None or _code(error) == sqlite3.SQLITE_FULL:
                self._store = temporary_store(error, self._options.language)
                self._warn(TEMPORARY)
            elif is_damage(error) and isinstance(store, Store):
                self._warn(REBUILT)
                discard(store)
        if store is not None:
            store.close()

    def _warn(self, message: str) -> None:
        if message and message not in self._warnings:
            self._warnings.append(message)


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
