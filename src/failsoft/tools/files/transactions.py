"""`Files`: reads files, and changes one or several of them in atomic transactions."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from failsoft.framework.files import protected_files, state_folder as user_state_folder
from failsoft.framework.safe.author_reports import logger
from failsoft.tools.files.commit import Recovered, Written, commit, recover
from failsoft.tools.files.faults import FileFault
from failsoft.tools.files.journal import JournalEntry, Journals, journal_faults
from failsoft.tools.files.locks import GiveUp, Locks, never
from failsoft.tools.files.reading import Content, read
from failsoft.tools.files.resolving import ResolvedPath
from failsoft.tools.files.roots import Roots
from failsoft.tools.files.staging import StagedFile


class Transaction:
    """A set of locked files that are read and changed together. Created by `Files.transaction`."""

    def __init__(
        self, targets: dict[str, ResolvedPath], journals: Journals, give_up: GiveUp, *, several_names: bool
    ) -> None:
        self._targets = targets
        self._several_names = several_names
        self._journals = journals
        self._give_up = give_up
        self._read: dict[str, Content] = {}
        self._changed: dict[str, StagedFile] = {}
        self._stem = f".failsoft-{secrets.token_hex(8)}"
        self._numbers = itertools.count()

    def read(self, path: str, *, bytes_at_most: int) -> Content:
        """Return the present content of a file; `commit` fails if it has changed by then.

        Args:
            path: One of the transaction's, as it was given.
            bytes_at_most: Above this size it is not read.

        Raises:
            FileFault: The disk: It does not exist (step `find`), or cannot be read.
            FileFault: `not_regular`: It is a folder, a pipe, a socket or a device.
            FileFault: `several_names`: It has several hard links.
            FileFault: `too_large`: It has more bytes.
            FileFault: `changed`: It was written during each attempt to read it.
        """
        content = self._read[path] = read(
            self._targets[path], bytes_at_most=bytes_at_most, several_names=self._several_names
        )
        return content

    def real_path(self, path: str) -> str:
        """Return the resolved path, absolute and without links, that will be written.

        Args:
            path: As it was given.
        """
        return self._targets[path].real_path

    def replace(self, path: str, data: bytes, *, backup: bool = False) -> None:
        """Set the new content of a file that was read.

        Args:
            path: One of the transaction's, as it was given.
            data: The complete content; if it is unchanged, the file is not written.
            backup: Whether to keep the old content as `<file>.bak`, or the next free number.
        """
        self._change(path, self._read[path], data, backup=backup)

    def create(self, path: str, data: bytes) -> None:
        """Set the content of a new file; if the file exists by then, `commit` fails with EEXIST.

        Args:
            path: One of the transaction's, as it was given.
            data: The complete content.
        """
        self._change(path, None, data, backup=False)

    def commit(self) -> list[Written]:
        """Write all files or none; return the result for each, in the order of `replace` and `create`.

        Raises:
            FileFault: `changed`: A file is not what was read.
            FileFault: The disk: The operating system refused a step; `effect` says what that left behind.
            FileFault: `given_up`: The caller no longer waits, and nothing was written.
        """
        changed, self._changed = list(self._changed.values()), {}
        return commit(changed, self._journals, self._give_up)

    def _change(self, path: str, before: Content | None, data: bytes, *, backup: bool) -> None:
        stem = f"{self._stem}-{next(self._numbers)}"
        resolved = self._targets[path]
        entry = JournalEntry(
            path=resolved.real_path,
            key=resolved.key,
            stem=stem,
            before=None if before is None else before.sha256,
            after=hashlib.sha256(data).hexdigest(),
            sizes=[0 if before is None else len(before.data), len(data)],
            backup=backup,
        )
        self._changed[path] = StagedFile(resolved, entry, before=before, data=data)


class Files:
    """The files in some roots. Thread-safe and cheap; one object serves a whole toolset.

    Args:
        roots: The allowed folders.
        state_folder: Where locks and journals are kept, by default in the user's state folder; it has to outlive a
            restart, and all processes that edit the same files must use the same one. No path leads into it.
        several_names: False refuses files with several hard links, since another link may lie outside the roots.
    """

    def __init__(self, roots: Roots, *, state_folder: Path | None = None, several_names: bool = True) -> None:
        self.roots = roots
        self.state_folder = state_folder if state_folder is not None else user_state_folder() / "files"
        protected_files.add(self, self.state_folder, kind="tree")
        self._locks = Locks(self.state_folder / "locks")
        self._journals = Journals(self.state_folder / "journals")
        self._several_names = several_names

    def read(self, path: str, *, bytes_at_most: int) -> Content:
        """Return a file, without a lock: it is never torn, since files are replaced in one step.

        Raises:
            FileFault: A malformed path: No file can have this path here.
            FileFault: `outside`: It leads out of the roots; `several_names`: it has another name where that is refused.
            FileFault: The disk: It does not exist, or cannot be read.
            FileFault: `not_regular`: It is a folder, a pipe, a socket or a device.
            FileFault: `too_large`: It has more than `bytes_at_most`.
            FileFault: `changed`: It is repeatedly written in place.
        """
        with self.roots.resolve(path) as resolved:
            try:
                return read(resolved, bytes_at_most=bytes_at_most, several_names=self._several_names)
            except FileFault as fault:
                if fault.kind != "several_names":
                    raise
        # During a transaction, or after a crash, a file may temporarily have a second name.
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
            give_up: Polled until the first file is replaced; True cancels the transaction, which then changes nothing.

        Raises:
            FileFault: A path cannot be resolved within the roots.
            FileFault: `same_file`: Two paths lead to one file.
            FileFault: `locked`: Another call holds a file for longer.
            FileFault: `given_up`: `give_up` returned True.
            FileFault: `unfinished`: A crashed transaction involves a file, and it cannot be recovered now.
        """
        with ExitStack() as stack:
            targets = self._resolve_all(paths, stack)
            self._lock({resolved.key: path for path, resolved in targets.items()}, stack, wait_s, give_up)
            yield Transaction(targets, self._journals, give_up, several_names=self._several_names)

    def recover(self) -> list[Recovered]:
        """Recover all crashed transactions, and return the results; log a warning if the journals cannot be read."""
        found: list[Recovered | None] = []
        try:
            found += [self._recovered(journal) for journal in self._journals.left()]
        except OSError as error:
            logger.opt(exception=error).warning("Transactions that a crash interrupted could not be recovered")
        return [recovered for recovered in found if recovered is not None]

    def _recovered(self, journal: Path) -> Recovered | None:
        try:
            return recover(journal, self._journals, self._locks, self.roots)
        except FileFault as fault:
            if fault.kind != "locked":
                raise
            return Recovered(outcome="waiting")

    def _resolve_all(self, paths: Sequence[str], stack: ExitStack) -> dict[str, ResolvedPath]:
        targets: dict[str, ResolvedPath] = {}
        for path in paths:
            resolved = stack.enter_context(self.roots.resolve(path))
            other = next((other for other in targets.values() if _is_same(resolved, other)), None)
            if other is not None:
                raise FileFault(path, "same_file", other=other.path)
            targets[path] = resolved
        return targets

    def _lock(self, keys: dict[str, str], stack: ExitStack, wait_s: float, give_up: GiveUp) -> None:
        """Take the locks, after recovering crashed transactions that involve these files."""
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
                raise FileFault(path, "locked", waited_s=time.monotonic() - began)
            self._finish(path, journal, rest_s, give_up)

    def _unfinished(self, keys: dict[str, str]) -> tuple[str, Path] | None:
        """Return a file that a journal names, and that journal: as we hold its lock, the owner is dead."""
        with journal_faults():
            for journal in self._journals.left():
                record = self._journals.peek(journal)
                for entry in record.entries if record is not None else ():
                    if entry.key in keys:
                        return keys[entry.key], journal
        return None

    def _finish(self, path: str, journal: Path, rest_s: float, give_up: GiveUp) -> None:
        try:
            with journal_faults():
                recovered = recover(journal, self._journals, self._locks, self.roots, wait_s=rest_s, give_up=give_up)
        except FileFault as fault:
            if fault.kind != "locked":
                raise
            raise FileFault(path, "locked", **fault.facts) from fault
        if recovered is None:
            if give_up():
                raise FileFault(path, "given_up")
            time.sleep(random.uniform(0.001, 0.01))  # noqa: S311 - another process is recovering it
        elif recovered.outcome in {"elsewhere", "waiting"}:
            raise FileFault(path, "unfinished")


def _is_same(resolved: ResolvedPath, other: ResolvedPath) -> bool:
    """Return whether both are the same file, also on a case-insensitive file system."""
    if resolved.key != other.key:
        return False
    facts, others = resolved.facts(), other.facts()
    if facts is None or others is None:
        return resolved.name == other.name
    return os.path.samestat(facts, others)
