"""Incremental refresh of the index: only changed documents are read again."""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from failsoft.framework.errors import ToolError
from failsoft.tools.docs.documents.document import ParsedDocument, load_document
from failsoft.tools.docs.documents.front_matter import FrontMatter
from failsoft.tools.docs.documents.library import LibraryEntry, entry_of
from failsoft.tools.docs.documents.paths import address, folded
from failsoft.tools.docs.documents.root import DocumentRoot
from failsoft.tools.docs.search.tables import IndexConnection

_NO_FRONT_MATTER = FrontMatter({}, "", "")
_HEADING = re.compile(r"\n {0,3}##{1,5}[ \t]+([^\n]{1,200})")
_LEAD_CHARACTERS = 4_000
_BATCH = 500
"""Documents a transaction: other processes see progress, and a crash loses little."""
_BATCH_BYTES = 8_000_000
"""Bytes of documents a transaction, all of which are in memory at once."""
_SECOND_NS = 1_000_000_000
_TICK_NS = 50_000_000
"""A file written this recently may change again under the same time stamp, so it is read once more. File systems that
stamp in whole seconds tick every two."""


@dataclass(frozen=True, slots=True)
class IndexChanges:
    """What differs between the index and the disk."""

    vanished: tuple[int, ...]
    changed: tuple[LibraryEntry, ...]

    def __bool__(self) -> bool:
        return bool(self.vanished or self.changed)


def is_built(connection: IndexConnection) -> bool:
    """Return whether the index has been complete at least once."""
    return connection.execute("SELECT 1 FROM builds LIMIT 1").fetchone() is not None


def find_changes(connection: IndexConnection, entries: Sequence[LibraryEntry]) -> IndexChanges:
    """Return what to do so that the index holds these entries, compared by time stamp and size."""
    known = {
        path: (changed_ns, size, row)
        for row, path, changed_ns, size in connection.execute("SELECT id, path, changed_ns, size FROM documents")
    }
    changed: list[LibraryEntry] = []
    for entry in entries:
        path, changed_ns, size = entry
        seen = known.pop(path, None)
        if seen is None or seen[0] != changed_ns or seen[1] != size:
            changed.append(entry)
    return IndexChanges(tuple(row for _, _, row in known.values()), tuple(changed))


def find_stale(connection: IndexConnection, paths: Sequence[str], root: DocumentRoot) -> IndexChanges:
    """Return which of these documents are gone from the disk, new there, or not what was indexed.

    Those that are neither on the disk nor in the index count as vanished, with row 0: they were there a moment ago.
    """
    if not paths:
        return IndexChanges((), ())
    marks = ", ".join("?" * len(paths))
    rows = connection.execute(
        f"SELECT id, path, changed_ns, size FROM documents WHERE path IN ({marks})",  # noqa: S608 - only ?
        list(paths),
    )
    known = {path: (row, changed_ns, size) for row, path, changed_ns, size in rows}
    vanished: list[int] = []
    changed: list[LibraryEntry] = []
    for path in paths:
        entry = entry_of(root, path)
        row, *seen = known.get(path, (None, None, None))
        if entry is not None and seen != [entry.changed_ns, entry.size]:
            changed.append(entry)
        elif entry is None:
            vanished.append(row or 0)
    return IndexChanges(tuple(vanished), tuple(changed))


def apply_changes(
    connection: IndexConnection,
    changes: IndexChanges,
    root: DocumentRoot,
    classify: Callable[[ParsedDocument], tuple[str, str]],
    is_late: Callable[[], bool],
) -> bool:
    """Write the changes in batches; return whether that were all. Call it under the lock that the processes share.

    Args:
        connection: The index.
        changes: What to write.
        root: The documents.
        classify: Returns the type and the promotion level of a document.
        is_late: Whether to leave the rest to another time; asked before each batch but the first of a kind.
    """
    for start in range(0, len(changes.vanished), _BATCH):
        if start and is_late():
            return False
        with connection.transaction():
            _forget(connection, changes.vanished[start : start + _BATCH])
            _note_change(connection)
    for number, entries in enumerate(_batches(changes.changed)):
        if number and is_late():
            return False
        read = list(_read(root, entries))
        with connection.transaction():
            _write(connection, [(entry, document, classify(document)) for entry, document in read])
            _note_change(connection)
    with connection.transaction():
        connection.execute("DELETE FROM builds")
        connection.execute("INSERT INTO builds VALUES (?)", (time.time_ns(),))
    return True


def _batches(entries: Sequence[LibraryEntry]) -> Iterator[list[LibraryEntry]]:
    batch: list[LibraryEntry] = []
    size = 0
    for entry in entries:
        if batch and (len(batch) == _BATCH or size + entry.size > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size
    if batch:
        yield batch


def _note_change(connection: IndexConnection) -> None:
    """Let questions see, with the change itself, that there was one; an index that was never finished has no time."""
    connection.execute("UPDATE builds SET finished_ns = ?", (time.time_ns(),))


def _read(root: DocumentRoot, entries: Sequence[LibraryEntry]) -> Iterator[tuple[LibraryEntry, ParsedDocument]]:
    """Read the documents. One that cannot be read is indexed by its name, so that it can be found and asked for."""
    for entry in entries:
        tick_ns = _TICK_NS if entry.changed_ns % _SECOND_NS else 2 * _SECOND_NS
        noted = entry if time.time_ns() - entry.changed_ns > tick_ns else entry._replace(changed_ns=-1)
        try:
            yield noted, load_document(root, entry.path.split("/"))
        except ToolError:
            title = posixpath.splitext(posixpath.basename(entry.path))[0]
            yield noted, ParsedDocument(entry.path, title, "", "", "", (), "", _NO_FRONT_MATTER)


def _forget(connection: IndexConnection, rows: Sequence[int]) -> None:
    keys = [(row,) for row in rows]
    for row in rows:
        connection.remove_page(row)
    connection.executemany("DELETE FROM aliases WHERE document = ?", keys)
    connection.executemany("DELETE FROM vectors WHERE document = ?", keys)
    connection.executemany("DELETE FROM documents WHERE id = ?", keys)


def _lead(document: ParsedDocument) -> str:
    """Return what a page says about itself: the description of its front matter, and its headings."""
    given = (document.front_matter.get(name) for name in ("description", "summary"))
    described = next((text for text in given if isinstance(text, str)), "")
    headings = _HEADING.findall(f"\n{document.body}") if "##" in document.body else []
    return "\n".join([described, *headings])[:_LEAD_CHARACTERS]


def _write(
    connection: IndexConnection, changed: Sequence[tuple[LibraryEntry, ParsedDocument, tuple[str, str]]]
) -> None:
    """Write documents that are new or changed, with their type and level.

    All texts come last: SQLite writes out what FTS5 has collected in memory at each insertion into `documents`.
    """
    added: list[tuple[int, ParsedDocument]] = []
    for entry, document, kind in changed:
        known = connection.execute("SELECT id, sha256 FROM documents WHERE path = ?", (entry.path,)).fetchone()
        if known is not None and known[1] == document.sha256:  # its vectors stay valid
            facts = (entry.changed_ns, entry.size, known[0])
            connection.execute("UPDATE documents SET changed_ns = ?, size = ? WHERE id = ?", facts)
            continue
        if known is not None:
            _forget(connection, known[:1])
        added.append((_write_facts(connection, entry, document, kind), document))
    for row, document in added:
        connection.add_page(row, document.title, document.path, _lead(document), document.body)


def _write_facts(
    connection: IndexConnection, entry: LibraryEntry, document: ParsedDocument, kind: tuple[str, str]
) -> int:
    """Write what is known of a document besides its text; return its row."""
    place = address(entry.path)
    row: int = connection.execute(
        "INSERT INTO documents (path, folded, address, name, title, own_type, doc_type, level, changed_ns, size,"
        " sha256) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (
            entry.path,
            folded(entry.path),
            place,
            posixpath.basename(place),
            document.title,
            document.own_type,
            *kind,
            entry.changed_ns,
            entry.size,
            document.sha256,
        ),
    ).fetchone()[0]
    connection.executemany("INSERT INTO aliases VALUES (?, ?)", [(item, row) for item in document.aliases])
    return row
