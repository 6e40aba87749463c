"""`Files`: reading, and transactions over one or several files, each of which is whole or not at all."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from failsoft.tools.files.commit import Change, Written, commit
from failsoft.tools.files.content import Content, read
from failsoft.tools.files.faults import (
    DiskFault,
    GivenUp,
    LockTimeout,
    SameFileTwice,
    SeveralNames,
    UnfinishedTransaction,
)
from failsoft.tools.files.journal import Journals
from failsoft.tools.files.locks import GiveUp, Locks, never
from failsoft.tools.files.place import Place
from failsoft.tools.files.recovering import Recovered, recover
from failsoft.tools.files.roots import Roots

__all__ = ["Files", "Transaction"]


class Transaction:
    """Some files, locked: read, changed together, or left alone. `Files.transaction` makes it."""

    def __init__(self, places: dict[str, Place], journals: Journals, give_up: GiveUp, *, several_names: bool) -> None:
        self._places = places
        self._several_names = several_names
        self._journals = journals
        self._give_up = give_up
        self._read: dict[str, Content] = {}
        self._changes: dict[str, Change] = {}

    def read(self, path: str, *, bytes_at_most: int) -> Content:
        """Return a file as it is now; `commit` refuses to write over anything else.

        Args:
            path: One of the transaction's, as it was given.
            bytes_at_most: Above this size it is not read.

        Raises:
            DiskFault: It does not exist (step `find`), or cannot be read.
            NotARegularFile: It is a folder, a pipe, a socket or a device.
            SeveralNames: It has another name.
            TooLarge: It has more bytes.
            ChangedOnDisk: It is written to again and again while we read.
        """
        content = self._read[path] = read(
            self._places[path], bytes_at_most=bytes_at_most, several_names=self._several_names
        )
        return content

    def real_path(self, path: str) -> str:
        """Return where one of the transaction's paths led, absolute and without links: that place is what is written.

        Args:
            path: As it was given.
        """
        return self._places[path].real_path

    def replace(self, path: str, data: bytes, *, backup: bool = False) -> None:
        """Remember what a file that was read shall become.

        Args:
            path: One of the transaction's, as it was given.
            data: All its bytes; the same as before leaves it untouched.
            backup: Whether to keep the old content as `<file>.bak`, or the next free number.
        """
        self._changes[path] = Change(self._places[path], self._read[path], data, backup)

    def create(self, path: str, data: bytes) -> None:
        """Remember a file that shall be made; where one exists by then, `commit` fails with EEXIST.

        Args:
            path: One of the transaction's, as it was given.
            data: All its bytes.
        """
        self._changes[path] = Change(self._places[path], None, data, backup=False)

    def commit(self) -> list[Written]:
        """Write all files or none; return what became of each, in the order of `replace` and `create`.

        Raises:
            ChangedOnDisk: A file is not what was read.
            DiskFault: The operating system refused a step; `effect` says what that left behind.
            GivenUp: Nobody waits any more, and nothing was written.
        """
        changes, self._changes = list(self._changes.values()), {}
        return commit(changes, self._journals, self._give_up)


class Files:
    """The files in some roots. Thread-safe and cheap; one object serves a whole toolset.

    Args:
        roots: What may be touched.
        state_folder: Where locks and journals are kept, by default in the user's state folder; it has to outlive a
            restart, and everybody who edits the same files has to use the same one. No path leads into it.
        several_names: False refuses files with more than one name: through a hard link, a file from anywhere else lies
            in the roots as well.
    """

    def __init__(self, roots: Roots, *, state_folder: Path | None = None, several_names: bool = True) -> None:
        if state_folder is None:
            from platformdirs import user_state_path  # noqa: PLC0415 - not needed where the folder is given

            state_folder = user_state_path("failsoft") / "files"
        self.roots = roots.without(state_folder)
        self.state_folder = state_folder
        self._locks = Locks(state_folder / "locks")
        self._journals = Journals(state_folder / "journals")
        self._several_names = several_names

    def read(self, path: str, *, bytes_at_most: int) -> Content:
        """Return a file, without a lock: it is never torn, since files are replaced in one step.

        Raises:
            BadSpelling: No file can have this path here.
            OutsideRoots: It leads out of the roots, or (SeveralNames) has another name where that is refused.
            DiskFault: It does not exist, or cannot be read.
            NotARegularFile: It is a folder, a pipe, a socket or a device.
            TooLarge: It has more than `bytes_at_most`.
            ChangedOnDisk: Somebody writes to it in place, again and again.
        """
        with self.roots.place(path) as place:
            try:
                return read(place, bytes_at_most=bytes_at_most, several_names=self._several_names)
            except SeveralNames:
                pass
        # While a transaction of ours is under way, a file may have a second name for a moment, or since a crash.
        with self.transaction([path]) as work:
            return work.read(path, bytes_at_most=bytes_at_most)

    @contextmanager
    def transaction(
        self, paths: Sequence[str], *, wait_s: float = 10.0, give_up: GiveUp = never
    ) -> Iterator[Transaction]:
        """Hold some files locked while they are read and changed together.

        Args:
            paths: The files; they need not exist.
            wait_s: How long to wait for all locks together, in seconds.
            give_up: Asked now and then until the first file is replaced; True ends everything without a trace.

        Raises:
            BadSpelling, OutsideRoots, DiskFault: A path leads nowhere we may go.
            SameFileTwice: Two paths lead to one file.
            LockTimeout: Somebody else holds a file for longer.
            GivenUp: `give_up` said so.
            UnfinishedTransaction: A crashed transaction holds a file, and we may not or cannot finish it.
        """
        with ExitStack() as stack:
            places = self._places(paths, stack)
            self._lock({place.key: path for path, place in places.items()}, stack, wait_s, give_up)
            yield Transaction(places, self._journals, give_up, several_names=self._several_names)

    def recover(self) -> list[Recovered]:
        """Finish what crashed transactions left, and return what became of each. For the start of a server."""
        try:
            found = [self._recovered(journal) for journal in self._journals.left()]
        except OSError as error:
            raise DiskFault(None, errno=error.errno or 0, step="journal") from error
        return [recovered for recovered in found if recovered is not None]

    def _recovered(self, journal: Path) -> Recovered | None:
        try:
            return recover(journal, self._journals, self._locks, self.roots)
        except LockTimeout:
            return Recovered(outcome="waiting")

    def _places(self, paths: Sequence[str], stack: ExitStack) -> dict[str, Place]:
        places: dict[str, Place] = {}
        for path in paths:
            place = stack.enter_context(self.roots.place(path))
            other = next((other for other in places.values() if _is_same(place, other)), None)
            if other is not None:
                raise SameFileTwice(path, other=other.path)
            places[path] = place
        return places

    def _lock(self, keys: dict[str, str], stack: ExitStack, wait_s: float, give_up: GiveUp) -> None:
        """Take the locks, once nothing is left that a crash did to these files."""
        began = time.monotonic()
        while True:
            rest_s = max(0.0, began + wait_s - time.monotonic())
            with ExitStack() as held:
                held.enter_context(self._locks.hold(keys, wait_s=rest_s, give_up=give_up))
                unfinished = self._unfinished(keys)
                if unfinished is None:
                    stack.push(held.pop_all())
                    return
            path, journal = unfinished
            if rest_s <= 0:
                raise LockTimeout(path, waited_s=time.monotonic() - began)
            self._finish(path, journal, rest_s, give_up)

    def _unfinished(self, keys: dict[str, str]) -> tuple[str, Path] | None:
        """Return a file of ours, and the journal that names it. We hold its lock, so whoever wrote that is dead."""
        try:
            for journal in self._journals.left():
                record = self._journals.peek(journal)
                for entry in record.entries if record is not None else ():
                    if entry.key in keys:
                        return keys[entry.key], journal
        except OSError as error:
            raise DiskFault(None, errno=error.errno or 0, step="journal") from error
        return None

    def _finish(self, path: str, journal: Path, rest_s: float, give_up: GiveUp) -> None:
        try:
            recovered = recover(journal, self._journals, self._locks, self.roots, wait_s=rest_s, give_up=give_up)
        except LockTimeout as fault:
            raise LockTimeout(path, waited_s=fault.waited_s) from fault
        except OSError as error:
            raise DiskFault(None, errno=error.errno or 0, step="journal") from error
        if recovered is None:
            if give_up():
                raise GivenUp(path)
            time.sleep(random.uniform(0.001, 0.01))  # noqa: S311 - somebody else is at it
        elif recovered.outcome in {"elsewhere", "waiting"}:
            raise UnfinishedTransaction(path)


def _is_same(place: Place, other: Place) -> bool:
    """Return whether both are one file. Names that differ by case are, if the file system says so."""
    if place.key != other.key:
        return False
    facts, others = place.facts(), other.facts()
    if facts is None or others is None:
        return place.name == other.name
    return os.path.samestat(facts, others)
