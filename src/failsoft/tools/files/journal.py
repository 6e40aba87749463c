"""Write-ahead journal of transactions, from which a crashed transaction is recovered.

One file per transaction, locked by its owner: an unlocked journal is orphaned. Its first line names all files;
`commit` follows once everything is staged, `done` once every file has been renamed. Each line carries its own hash, so
a torn write is detected.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from failsoft.framework.audit.places import make_private
from failsoft.tools.files.faults import FileFault
from failsoft.tools.files.resolving import sync_folder

_VERSION = 1
_ENDING = ".journal"
_DAMAGED = ".damaged"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One file of a transaction.

    Args:
        path: Where it is, without links.
        key: The key of its lock.
        stem: The prefix of its temporary files, which are in the same folder.
        before: The hash of its old content; None if there is no file yet.
        after: The hash of its new content.
        sizes: Of both contents, in bytes: a file of another size is not hashed.
        backup: Whether the old content is kept as a backup.
        is_alone: Whether it is the only file, so that no copy of its old content is needed for a rollback.
    """

    path: str
    key: str
    stem: str
    before: str | None
    after: str
    sizes: Sequence[int]
    backup: bool = False
    is_alone: bool = False

    @property
    def staged(self) -> str:
        """The name of the new content."""
        return f"{self.stem}.new"

    @property
    def kept(self) -> str:
        """The name of the old content, for a rollback."""
        return f"{self.stem}.old"

    @property
    def spare(self) -> str:
        """The name of the copy that becomes the backup."""
        return f"{self.stem}.bak"


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """The parsed content of a journal. Without entries, no file was touched."""

    entries: tuple[JournalEntry, ...]
    is_committed: bool
    is_done: bool
    is_damaged: bool = False


class Journal:
    """An open journal, locked by this process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def write(self, word: str, *, durable: bool, **facts: Any) -> None:
        """Append a line, and fsync it if `durable`."""
        text = json.dumps({"v": _VERSION, "is": word, **facts}, separators=(",", ":")).encode()
        line = hashlib.sha256(text).hexdigest().encode() + b" " + text + b"\n"
        while line:
            line = line[os.write(self._descriptor, line) :]
        if durable:
            os.fsync(self._descriptor)

    def read(self) -> JournalRecord:
        """Return its parsed content."""
        return _parsed(os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0))

    def set_aside(self) -> None:
        """Rename a damaged journal, so that recovery ignores it."""
        self.path.rename(self.path.with_suffix(_DAMAGED))

    def remove(self) -> None:
        """Remove it: nothing is left to do."""
        with suppress(FileNotFoundError):
            self.path.unlink()

    def close(self) -> None:
        """Release the lock."""
        os.close(self._descriptor)


class Journals:
    """The journals in one folder.

    Args:
        folder: Where they are; made when it is first needed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, entries: Sequence[JournalEntry], *, durable: bool) -> Journal:
        """Return a new journal, locked by this process, that names these files."""
        make_private(self.folder)
        journal = self._new()
        try:
            journal.write("begin", durable=durable, files=[asdict(entry) for entry in entries])
            if durable:
                with _opened_folder(self.folder) as folder:
                    sync_folder(folder)
        except BaseException:
            with suppress(OSError):  # an orphaned journal without a complete line is removed by recovery
                journal.remove()
            journal.close()
            raise
        return journal

    def left(self) -> list[Path]:
        """Return the existing journals, of running and of crashed transactions."""
        try:
            names = sorted(os.listdir(self.folder))  # noqa: PTH208 - on the way of every edit
        except FileNotFoundError:
            return []
        return [self.folder / name for name in names if name.endswith(_ENDING)]

    def peek(self, path: Path) -> JournalRecord | None:
        """Return the content of a journal without taking its lock; None if it is gone."""
        try:
            return _parsed(path.read_bytes())
        except FileNotFoundError:
            return None

    @contextmanager
    def taken(self, path: Path) -> Iterator[Journal | None]:
        """Lock an orphaned journal; None if it has an owner, or is gone."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            yield None
            return
        try:
            yield Journal(path, descriptor) if _is_ours(descriptor) else None
        finally:
            os.close(descriptor)

    def _new(self) -> Journal:
        while True:
            path = self.folder / f"{secrets.token_hex(8)}{_ENDING}"
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(path, flags, 0o600)
            if _is_ours(descriptor):
                return Journal(path, descriptor)
            os.close(descriptor)  # recovery locked it before us, as an orphan, and removes it


@contextmanager
def journal_faults() -> Iterator[None]:
    """Raise an `OSError` of the block as a `FileFault` of the step `journal`."""
    try:
        yield
    except OSError as error:
        raise FileFault.from_os(error, None, step="journal") from error


def _is_ours(descriptor: int) -> bool:
    """Try to take the lock; return whether that succeeded and the file still has a name."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(descriptor).st_nlink > 0


@contextmanager
def _opened_folder(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _parsed(data: bytes) -> JournalRecord:
    """Parse the lines, up to the first damaged one."""
    lines = data.split(b"\n")[:-1]
    facts = list(itertools.takewhile(bool, map(_checked, lines)))
    words = {fact["is"] for fact in facts}
    try:
        entries = tuple(JournalEntry(**entry) for entry in facts[0]["files"]) if facts else ()
    except (KeyError, TypeError):
        return JournalRecord((), is_committed=False, is_done=False, is_damaged=True)
    is_damaged = bool(lines) and not facts
    return JournalRecord(entries, is_committed="commit" in words, is_done="done" in words, is_damaged=is_damaged)


def _checked(line: bytes) -> dict[str, Any]:
    """Return the fields of a line; none if it is damaged, or of another version."""
    given, _, text = line.partition(b" ")
    if hashlib.sha256(text).hexdigest().encode() != given:
        return {}
    facts: dict[str, Any] = json.loads(text)
    return facts if facts.get("v") == _VERSION else {}
