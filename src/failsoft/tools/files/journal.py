"""What a transaction is about to do, on disk before it does it, so that whoever comes after a crash knows.

One file a transaction, held locked by its owner: an unlocked one has lost its owner. Its first line names all files;
`commit` follows once everything is staged and decided, `done` once every file is in its place. Each line carries its
own hash, so a torn end is no line.
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

from failsoft.tools.files.place import sync_folder

__all__ = ["Entry", "Journal", "Journals", "Record"]

_VERSION = 1
_ENDING = ".journal"
_DAMAGED = ".damaged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file of a transaction.

    Args:
        path: Where it is, without links.
        key: What its lock goes by.
        stem: What the names of its temporary files begin with; they lie beside it.
        before: The hash of what it holds; None if there is no file yet.
        after: The hash of what it shall hold.
        backup: Whether the old content is kept as a backup.
        is_alone: Whether it is the only file, so that its old content need not be held ready.
    """

    path: str
    key: str
    stem: str
    before: str | None
    after: str
    backup: bool = False
    is_alone: bool = False

    @property
    def staged(self) -> str:
        """The name of the new content."""
        return f"{self.stem}.new"

    @property
    def kept(self) -> str:
        """The name of the old content, for the way back."""
        return f"{self.stem}.old"

    @property
    def spare(self) -> str:
        """The name of the copy that becomes the backup."""
        return f"{self.stem}.bak"


@dataclass(frozen=True, slots=True)
class Record:
    """A journal as it was found. Without entries nothing had been begun."""

    entries: tuple[Entry, ...]
    is_committed: bool
    is_done: bool
    is_damaged: bool = False


class Journal:
    """An open journal that we hold the lock of."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def write(self, word: str, *, durable: bool, **facts: Any) -> None:
        """Append a line, and make it durable if a power loss must not take it away."""
        text = json.dumps({"v": _VERSION, "is": word, **facts}, separators=(",", ":")).encode()
        line = hashlib.sha256(text).hexdigest().encode() + b" " + text + b"\n"
        while line:
            line = line[os.write(self._descriptor, line) :]
        if durable:
            os.fsync(self._descriptor)

    def read(self) -> Record:
        """Return what stands in it."""
        return _parsed(os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0))

    def set_aside(self) -> None:
        """Keep a journal that cannot be read, under a name that nobody tries again."""
        self.path.rename(self.path.with_suffix(_DAMAGED))

    def remove(self) -> None:
        """Remove it: nothing is left to do."""
        with suppress(FileNotFoundError):
            self.path.unlink()

    def close(self) -> None:
        """Give the lock back."""
        os.close(self._descriptor)


class Journals:
    """The journals in one folder.

    Args:
        folder: Where they are; made when it is first needed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, entries: Sequence[Entry], *, durable: bool) -> Journal:
        """Return a new journal, ours, that names these files."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        journal = self._new()
        try:
            journal.write("begin", durable=durable, files=[asdict(entry) for entry in entries])
            if durable:
                with _opened_folder(self.folder) as folder:
                    sync_folder(folder)
        except BaseException:
            with suppress(OSError):  # what stays is found without an owner later, and says that nothing was begun
                journal.remove()
            journal.close()
            raise
        return journal

    def left(self) -> list[Path]:
        """Return the journals that are there: of running transactions and of crashed ones."""
        try:
            names = sorted(os.listdir(self.folder))  # noqa: PTH208 - on the way of every edit
        except FileNotFoundError:
            return []
        return [self.folder / name for name in names if name.endswith(_ENDING)]

    def peek(self, path: Path) -> Record | None:
        """Return what stands in a journal, whoever holds it; None if it is gone."""
        try:
            return _parsed(path.read_bytes())
        except FileNotFoundError:
            return None

    @contextmanager
    def taken(self, path: Path) -> Iterator[Journal | None]:
        """Hold a journal that lost its owner; None if it has one, or is gone."""
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
            os.close(descriptor)  # somebody took it for an orphan before we had the lock, and removes it


def _is_ours(descriptor: int) -> bool:
    """Take the lock if it is free, and return whether it is ours now and the file still has a name."""
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


def _parsed(data: bytes) -> Record:
    """Return what the lines say, up to the first that is not whole."""
    lines = data.split(b"\n")[:-1]
    facts = list(itertools.takewhile(bool, map(_checked, lines)))
    words = {fact["is"] for fact in facts}
    try:
        entries = tuple(Entry(**entry) for entry in facts[0]["files"]) if facts else ()
    except (KeyError, TypeError):
        return Record((), is_committed=False, is_done=False, is_damaged=True)
    is_damaged = bool(lines) and not facts
    return Record(entries, is_committed="commit" in words, is_done="done" in words, is_damaged=is_damaged)


def _checked(line: bytes) -> dict[str, Any]:
    """Return the facts of a line; none if it is damaged, or of another version."""
    given, _, text = line.partition(b" ")
    if hashlib.sha256(text).hexdigest().encode() != given:
        return {}
    facts: dict[str, Any] = json.loads(text)
    return facts if facts.get("v") == _VERSION else {}
