"""One SQLite file of compounds and reactions: built once, asked by threads, rebuilt when damaged or outdated."""

from __future__ import annotations

import contextlib
import copy
import errno
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from filelock import Timeout as FileLockTimeout

from failsoft.framework.errors import DatabaseError, Public, Words
from failsoft.framework.safe.author_reports import logger
from failsoft.tools.database_files import LOCK_WAIT_S, DatabaseFile, cache_folder, is_damage
from failsoft.tools.flux.database.entries import (
    COMPOUNDS,
    FILE_KIND,
    SCHEMA_VERSION,
    AnyKind,
    Compound,
    E,
    Kind,
    compound_by_any_id,
    entry_of,
    fill,
    similar_ids,
)
from failsoft.tools.flux.database.tables import SHIPPED, Tables, find_tables

T = TypeVar("T")
_AGAIN_AFTER_S = 10.0
"""Seconds before a failed build is retried, since each attempt reads all tables."""
_INSTALL: Final = "pip install --no-deps --ignore-requires-python --target modelseed dnngior"
_OPERATOR_HINT: Final = (
    f"FAILSOFT_FLUX_TABLES names a folder with the tables of ModelSEED ({_INSTALL}); the database is kept in the "
    "user's cache folder."
)
_PARTIAL: Final = (
    "The compounds and reactions known here are those of COBRApy's models ({compounds} and {reactions}). For all "
    f"33,992 and 43,774 of ModelSEED: {_INSTALL}, and set FAILSOFT_FLUX_TABLES to the folder modelseed"
)
"""How to have the full tables, in one line."""


class DatabaseNotLoaded(DatabaseError):
    """The database of compounds and reactions is not available.

    Raised when: it cannot be built or read: its tables are missing or invalid, or the disk is full.
    Caller: call again after the wait; until then only tools that work on models without the database succeed.
    Operator: find the error id in the log, which says what could not be read or written. `FAILSOFT_FLUX_TABLES` sets
        the folder of the tables; the database is built in the user's cache folder.
    """

    database: Public[str] = "ModelSEED"
    reason: Public[Words] = "it cannot be read"
    code = "DATABASE_NOT_LOADED"
    message = "The database of compounds and reactions is not available: {reason}."
    hints = ("Until it is back, use only tools that work on models",)


class DatabaseFacts(NamedTuple):
    """What the database was built from, and how much is in it."""

    name: str
    total_compounds: int
    total_reactions: int

    @property
    def operator_hint(self) -> str:
        """How to have the full tables; empty where they are there."""
        known = _PARTIAL.format(compounds=self.total_compounds, reactions=self.total_reactions)
        return known if self.name == SHIPPED else ""

    def total(self, kind: AnyKind) -> int:
        """Return how many of a kind there are."""
        return self.total_compounds if kind is COMPOUNDS else self.total_reactions


class Database:
    """The compounds and reactions of ModelSEED. It is built when it is first asked, unless it was before.

    A server with newer tables may remove the file meanwhile: then the tables are looked for again.

    Args:
        tables: A folder with the tables; without one, what is installed.
        cache_dir: Where the database is kept; by default in the user's cache folder.
    """

    def __init__(self, tables: Path | None = None, *, cache_dir: Path | None = None) -> None:
        self._tables = tables
        self._cache_dir = cache_dir
        self._turn = threading.Lock()
        self._file: _File | None = None
        self._failed: tuple[float, DatabaseNotLoaded] | None = None

    def facts(self) -> DatabaseFacts:
        """Return what there is; builds it where needed.

        Raises:
            DATABASE_NOT_LOADED: It cannot be built.
        """
        return self.ask(lambda connection: DatabaseFacts(*connection.execute("SELECT * FROM facts").fetchone()))

    def entry(self, kind: Kind[E], entry_id: str) -> E | None:
        """Return the compound or the reaction of an id, or None if there is none."""
        return self.ask(lambda connection: entry_of(connection, kind, entry_id))

    def compounds(self, ids: Iterable[str]) -> dict[str, Compound]:
        """Return the compounds of those ids that are known, of ModelSEED or of BiGG; see `compound_by_any_id`."""

        def question(connection: sqlite3.Connection) -> dict[str, Compound]:
            found = ((item, compound_by_any_id(connection, item)) for item in ids)
            return {item: compound for item, compound in found if compound is not None}

        return self.ask(question)

    def similar(self, kind: AnyKind, wanted: str) -> list[str]:
        """Return up to five ids of a kind that are spelled most like this one."""

        def question(connection: sqlite3.Connection) -> list[str]:
            rows = connection.execute(f"SELECT number FROM {kind.many} ORDER BY number")  # noqa: S608 - a word of ours
            return [kind.id_of(number) for (number,) in rows]

        return similar_ids(wanted, self.ask(question))

    def ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Return what a function of a connection returns. A damaged file is rebuilt once, and the function runs again.

        Raises:
            DATABASE_NOT_LOADED: It cannot be built, or is damaged again.
        """
        for is_last in (False, True):
            file = self._current()
            try:
                with file.connection() as connection:
                    return question(connection)
            except sqlite3.Error as error:
                if is_last or not is_damage(error, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
                    raise _not_loaded(error) from error
                logger.opt(exception=error).warning("The database of compounds is damaged and is built anew.")
                self._discard(file)
        raise AssertionError

    def file(self) -> str:
        """Return the path of the database file, building it where needed; empty if it cannot be built."""
        try:
            return str(self._current().file)
        except DatabaseNotLoaded:
            return ""

    def warm_up(self) -> None:
        """Start building the database in a thread; errors are raised by later lookups."""
        threading.Thread(target=self._warm_up, name="failsoft-flux-database", daemon=True).start()

    def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        file = self._file
        if file is not None:
            file.close()

    def _warm_up(self) -> None:
        try:
            hint = self.facts().operator_hint
            if hint:
                logger.info("{}", hint)
        except DatabaseNotLoaded as error:
            logger.opt(exception=error).warning("The database of compounds could not be built at start-up.")

    def _current(self) -> _File:
        """Return the file, looked for again where it was removed or replaced since."""
        file = self._file
        if file is not None and file.is_current():
            return file
        with self._turn:
            if self._file is None or not self._file.is_current():
                self.close()
                self._file = self._found()
            return self._file

    def _found(self) -> _File:
        if self._failed is not None and time.monotonic() < self._failed[0]:
            raise copy.copy(self._failed[1])
        try:
            file = _File(find_tables(self._tables), self._cache_dir)
            file.ensure()
        except Exception as error:
            failure = _not_loaded(error)
            self._failed = (time.monotonic() + _AGAIN_AFTER_S, failure)
            raise failure from error
        self._failed = None
        return file

    def _discard(self, file: _File) -> None:
        with self._turn:
            if self._file is file:
                self._file = None
        try:
            with file.process_lock().acquire(timeout=LOCK_WAIT_S):
                file.discard()
        except (OSError, FileLockTimeout) as error:
            raise _not_loaded(error) from error


class _PlaceError(Exception):
    """The folder of the database cannot be used; the cause says why."""


class _File(DatabaseFile[sqlite3.Connection]):
    """The database of some tables, built beside its place and renamed when complete; it is never written to again.

    Args:
        tables: What it is built from; their key is part of its name.
        cache_dir: The folder of such files; by default in the user's cache folder.
    """

    def __init__(self, tables: Tables, cache_dir: Path | None) -> None:
        super().__init__(cache_folder(cache_dir, "flux") / f"{tables.key}-v{SCHEMA_VERSION}.sqlite3")
        self._tables = tables
        self._ensured: object = None

    def ensure(self) -> None:
        """Build the file unless it exists and is valid; waits for another process that is building it.

        Raises:
            filelock.Timeout: That process takes longer than a minute.
            _PlaceError, sqlite3.Error, OSError: The file cannot be written.
            Exception: Anything, if the tables are not what they should be.
        """
        if not self._is_good():
            try:
                self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                taken = self.process_lock().acquire(timeout=LOCK_WAIT_S)
            except FileLockTimeout:
                raise
            except OSError as error:
                raise _PlaceError from error
            with taken:
                if not self._is_good():
                    self._build()
        self._ensured = self.identity()

    def is_current(self) -> bool:
        """Return whether the file is still the one that was made sure of."""
        return self._ensured is not None and self._ensured == self.identity()

    def identity(self) -> object:
        """Return what changes when the file is replaced; None if there is none."""
        try:
            status = self.file.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns  # inode numbers are reused

    def connect(self) -> sqlite3.Connection:
        """Open a connection; see `DatabaseFile`."""
        # `immutable`: no locks are taken and no changes looked for, since the file is replaced and never written to.
        where = f"{self.file.as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(where, isolation_level=None, check_same_thread=False, uri=True)
        try:
            FILE_KIND.recognize(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _build(self) -> None:
        # The name is the lock holder's alone, so what a process left that was killed meanwhile is overwritten.
        partial = self.file.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        try:
            with contextlib.closing(sqlite3.connect(partial, isolation_level=None)) as connection:
                connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
                fill(connection, self._tables.name, self._tables.read())
            with partial.open("rb+") as file:
                os.fsync(file.fileno())
            partial.replace(self.file)
            self._remove_predecessors()
        except BaseException:
            partial.unlink(missing_ok=True)
            raise

    def _remove_predecessors(self) -> None:
        """Remove files built from earlier versions of the same source; open connections to them stay valid."""
        source = self._tables.key.partition("-")[0]
        for file in self.file.parent.glob(f"{source}-*-v{SCHEMA_VERSION}.sqlite3"):
            if file != self.file:
                file.unlink(missing_ok=True)

    def _is_good(self) -> bool:
        try:
            with contextlib.closing(self.connect()) as connection:
                # A thorough look costs as much as half the build; what it would find is found when it is read.
                count, size = (connection.execute(f"PRAGMA page_{name}").fetchone()[0] for name in ("count", "size"))
                return bool(self.file.stat().st_size == count * size)
        except (sqlite3.Error, OSError):
            return False


def _not_loaded(error: BaseException) -> DatabaseNotLoaded:
    failed = error.__cause__ if isinstance(error, _PlaceError) and error.__cause__ is not None else error
    if _is_full(failed):
        reason = "there is no room on the disk to keep it"
    elif isinstance(error, FileLockTimeout):
        reason = "another process is still building it"
    elif isinstance(error, (sqlite3.Error, _PlaceError)):
        reason = "its file cannot be written or read"
    else:
        reason = "the tables that it is built from cannot be read"
    return DatabaseNotLoaded(
        reason=reason,
        operator_hint=f"{_OPERATOR_HINT} What failed: {type(failed).__name__}: {failed}",
    )


def _is_full(error: BaseException) -> bool:
    """Return whether the error means that the disk is full."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
