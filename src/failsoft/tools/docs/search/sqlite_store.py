"""The SQLite file of an index in the user's cache folder: FTS5 for words, vectors in a table."""

from __future__ import annotations

import contextlib
import functools
import sqlite3
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from failsoft.framework.errors import DatabaseError
from failsoft.framework.safe.author_reports import logger
from failsoft.tools.database_files import (
    LOCK_WAIT_S,
    DatabaseFile,
    FileKind,
    ForeignFileError,
    cache_folder,
    is_damage,
)
from failsoft.tools.docs.documents.root import DOCUMENT_BYTES_AT_MOST
from failsoft.tools.docs.search.tables import LAST_CHARACTER, SCHEMA_VERSION, key_of

_KIND = FileKind(0x66736478, SCHEMA_VERSION)
"""`fsdx` in ASCII: an index of failsoft."""
_BUSY_S = 5.0

_TOKENIZERS = {"english": "porter unicode61 remove_diacritics 2", "none": "unicode61 remove_diacritics 2"}
"""By language."""
_SCHEMA = f"""
BEGIN IMMEDIATE;
{_KIND.marks()}
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, folded TEXT NOT NULL, address TEXT NOT NULL,
    name TEXT NOT NULL, title TEXT NOT NULL, doc_type TEXT NOT NULL, own_type TEXT NOT NULL,
    level TEXT NOT NULL, changed_ns INTEGER NOT NULL, size INTEGER NOT NULL, sha256 TEXT NOT NULL
) STRICT;
CREATE INDEX documents_folded ON documents (folded);
CREATE INDEX documents_address ON documents (address);
CREATE INDEX documents_name ON documents (name);
CREATE INDEX documents_size ON documents (size, path);
CREATE INDEX documents_doc_type ON documents (doc_type, path);
CREATE TABLE aliases (address TEXT NOT NULL, document INTEGER NOT NULL) STRICT;
CREATE INDEX aliases_address ON aliases (address);
CREATE INDEX aliases_document ON aliases (document);
CREATE TABLE vectors (id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL, model TEXT NOT NULL,
    vector BLOB NOT NULL) STRICT;
CREATE INDEX vectors_document ON vectors (document, model);
CREATE TABLE builds (finished_ns INTEGER NOT NULL) STRICT;
CREATE VIRTUAL TABLE pages USING fts5 (title, path, lead, body, tokenize = "{{tokenizer}}");
CREATE VIRTUAL TABLE words USING fts5vocab (pages, row);
COMMIT;
"""
_ROW_BYTES_AT_MOST = 16 * DOCUMENT_BYTES_AT_MOST
"""A row has the text of a document and its headings once more; more than that is not ours."""


class SqliteConnection(sqlite3.Connection):
    """A connection to the file; see `IndexConnection`."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Begin a transaction that takes the write lock at once, so that it cannot fail half way for want of it."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.execute("ROLLBACK")
            raise
        self.execute("COMMIT")

    def add_page(self, row: int, title: str, path: str, lead: str, body: str) -> None:
        """Index the text of a document."""
        self.execute(
            "INSERT INTO pages (rowid, title, path, lead, body) VALUES (?, ?, ?, ?, ?)",
            (row, title, path, lead.replace("\0", " "), body.replace("\0", " ")),
        )

    def remove_page(self, row: int) -> None:
        """Remove the text of a document from the index."""
        self.execute("DELETE FROM pages WHERE rowid = ?", (row,))

    def rows(self, expression: str, *, in_heads: bool = False) -> list[int]:
        """Return the rows of all matches: of the whole pages, or of title, path, description and headings alone."""
        wanted = f"{{title path lead}} : ({expression})" if in_heads else expression
        return [row for (row,) in self.execute("SELECT rowid FROM pages WHERE pages MATCH ?", (wanted,))]

    def vocabulary(self, begin: str) -> list[tuple[str, int]]:
        """Return the words of the index that begin so, and how many documents have each."""
        sql = "SELECT term, doc FROM words WHERE term >= ? AND term < ? ORDER BY term"
        return self.execute(sql, (begin, begin + LAST_CHARACTER)).fetchall()


class Store(DatabaseFile[SqliteConnection]):
    """The file of one index.

    Args:
        file: Where it is kept.
        language: Whose words are stemmed, `english` or `none`.
    """

    def __init__(self, file: Path, language: str = "english") -> None:
        super().__init__(file)
        self._schema = _schema(language)

    def create(self) -> None:
        """Make the file ready: nothing to do if it is ours, the schema if it is new. Call it under `process_lock`.

        Raises:
            sqlite3.Error: The file is damaged, not ours, or cannot be written.
        """
        connection = sqlite3.connect(self.file, timeout=_BUSY_S, isolation_level=None)
        with contextlib.closing(connection):
            if _is_empty(connection):
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(self._schema)
            self._recognize(connection)

    def connect(self) -> SqliteConnection:
        """Open a connection; see `DatabaseFile`."""
        connection = _connected(f"{self.file.as_uri()}?mode=rw")
        try:
            self._recognize(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _recognize(self, connection: sqlite3.Connection) -> None:
        """Raise unless the file is ours, with our tables alone: a view or trigger of others could do anything.

        Raises:
            ForeignFileError: It is not.
        """
        _KIND.recognize(connection)
        if _tables_in(connection) != _tables_of(self._schema):
            msg = "the file has other tables than an index has"
            raise ForeignFileError(msg)


@functools.cache
def _tables_of(schema: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(schema)
        return _tables_in(connection)


def _tables_in(connection: sqlite3.Connection) -> list[Any]:
    """Return the tables, views and triggers, without those that are SQLite's own."""
    own = "name GLOB 'pages_*' OR name GLOB 'sqlite_*'"
    return connection.execute(f"SELECT type, name, sql FROM sqlite_master WHERE NOT ({own}) ORDER BY name").fetchall()  # noqa: S608 - our own words


def _connected(uri: str) -> SqliteConnection:
    connection = sqlite3.connect(
        uri, timeout=_BUSY_S, isolation_level=None, check_same_thread=False, uri=True, factory=SqliteConnection
    )
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _ROW_BYTES_AT_MOST)
    return connection


def _schema(language: str) -> str:
    return _SCHEMA.format(tokenizer=_TOKENIZERS[language])


def _is_empty(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) = 0 FROM sqlite_master").fetchone()[0])


TEMPORARY = "The search index cannot be kept in the cache folder, so it is rebuilt at each start."
REBUILT = "The search index was damaged and was rebuilt."


def open_store(root: Path, cache_dir: Path | None, language: str, fingerprint: str) -> tuple[Store, str]:
    """Return the store of this root, ready for use, and a warning if it had to be repaired.

    Args:
        root: The folder of the documents; each has an index of its own.
        cache_dir: The folder of the indexes; by default in the user's cache folder.
        language: Whose words are stemmed.
        fingerprint: Tells apart the indexes of one root.
    """
    try:
        store = Store(_file_for(root, cache_dir, fingerprint), language)
        with store.process_lock().acquire(timeout=LOCK_WAIT_S):
            try:
                store.create()
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise
                logger.opt(exception=error).warning(REBUILT)
                store.discard()
                store.create()
                return store, REBUILT
    except (sqlite3.Error, OSError, RuntimeError) as error:
        return temporary_store(error, language), TEMPORARY
    return store, ""


def temporary_store(error: BaseException, language: str) -> Store:
    """Return a store in a temporary folder, which goes with it, and log why.

    Raises:
        DATABASE_ERROR: Not even that works.
    """
    logger.opt(exception=error).warning(TEMPORARY)
    try:
        folder = tempfile.TemporaryDirectory(prefix="failsoft-docs-", ignore_cleanup_errors=True)
        store = Store(Path(folder.name, "index.sqlite3"), language)
        weakref.finalize(store, folder.cleanup)
        store.create()
    except (sqlite3.Error, OSError) as fault:
        raise DatabaseError(message="The search index cannot be kept anywhere.") from fault
    return store


def discard(store: Store) -> None:
    """Delete a damaged index under its process lock; one that cannot be deleted is left for `open_store`."""
    try:
        with store.process_lock().acquire(timeout=LOCK_WAIT_S):
            store.discard()
    except (OSError, RuntimeError) as error:
        logger.opt(exception=error).warning("The damaged search index could not be removed.")
        store.close()


def _file_for(root: Path, cache_dir: Path | None, fingerprint: str) -> Path:
    folder = cache_folder(cache_dir, "docs")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = key_of(root)
    variant = f"-{fingerprint}" if fingerprint else ""
    return folder / f"{key}{variant}-v{SCHEMA_VERSION}.sqlite3"
