"""Recovery of crashed transactions: roll forward if the decision was journaled and the staged files exist, else back.

Changes made to a file after the crash are never undone.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from failsoft.framework.safe.author_reports import logger
from failsoft.tools.files.faults import DiskFault, OutsideRoots
from failsoft.tools.files.paths.roots import Roots
from failsoft.tools.files.transactions.commit import sync_folders, take_back
from failsoft.tools.files.transactions.journal import Journal, JournalEntry, JournalRecord, Journals
from failsoft.tools.files.transactions.locks import GiveUp, Locks, never
from failsoft.tools.files.transactions.staged_file import StagedFile, State

Outcome: TypeAlias = Literal["forward", "back", "waiting", "elsewhere", "damaged"]
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """The result of recovering a crashed transaction.

    Args:
        outcome: `forward`: completed. `back`: rolled back. `waiting`: blocked by a disk error or by a lock; tried again
            later. `elsewhere`: it names files outside of the roots, so this server cannot finish it. `damaged`: its
            journal cannot be read and was renamed, for inspection.
        paths: The files that it named.
        conflicts: Files that were changed after the crash; they are left unchanged.
    """

    outcome: Outcome
    paths: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


def recover(
    path: Path, journals: Journals, locks: Locks, roots: Roots, *, wait_s: float = 0.0, give_up: GiveUp = never
) -> Recovered | None:
    """Recover the transaction of this journal, and return the result; None if it is running, or has ended.

    Args:
        path: The journal.
        journals: The folder of journals.
        locks: The locks of the files.
        roots: The allowed folders: a transaction is recovered as a whole or not at all.
        wait_s: How long to wait for the files' locks, in seconds.
        give_up: Polled while waiting.

    Raises:
        GivenUp: `give_up` returned True.
        LockWaitExceeded: Another call holds one of the files for longer.
    """
    with journals.taken(path) as journal:
        if journal is None:
            return None
        record = journal.read()
        if record.is_damaged:
            journal.set_aside()
            recovered = Recovered(outcome="damaged", paths=(str(path),))
        elif not record.entries:
            journal.remove()  # its first line is torn, so no file was touched
            return None
        else:
            recovered = _recovered(journal, record, locks, roots, wait_s, give_up)
    facts = {"outcome": recovered.outcome, "paths": recovered.paths, "conflicts": recovered.conflicts}
    logger.bind(**facts).warning("A transaction that a crash interrupted was processed")
    return recovered


def _recovered(
    journal: Journal, record: JournalRecord, locks: Locks, roots: Roots, wait_s: float, give_up: GiveUp
) -> Recovered:
    paths = tuple(entry.path for entry in record.entries)
    try:
        with _opened(record.entries, roots) as files:
            keys = {file.place.key: file.entry.path for file in files}
            with locks.hold(keys, wait_s=wait_s, give_up=give_up):
                outcome, conflicts = _finish(journal, record, files)
    except OutsideRoots:
        return Recovered(outcome="elsewhere", paths=paths)
    except (DiskFault, OSError):
        return Recovered(outcome="waiting", paths=paths)
    reachable = {file.entry.path for file in files}
    return Recovered(outcome=outcome, paths=paths, conflicts=tuple(sorted({*conflicts, *(set(paths) - reachable)})))


@contextmanager
def _opened(entries: Sequence[JournalEntry], roots: Roots) -> Iterator[list[StagedFile]]:
    """Open the resolved paths of all files whose folders still exist."""
    with ExitStack() as stack:
        files = []
        for entry in entries:
            try:
                place = stack.enter_context(roots.place(entry.path, follow=False))
            except DiskFault as fault:
                if fault.errno not in _GONE:
                    raise
            else:
                files.append(StagedFile(place, entry))
        yield files


def _finish(journal: Journal, record: JournalRecord, files: Sequence[StagedFile]) -> tuple[Outcome, set[str]]:
    """Roll forward or back, and return which, with the files that were changed after the crash."""
    if record.is_done:
        _sweep(journal, files)
        return "forward", set()
    states = {file: file.state() for file in files}
    conflicts = {file.entry.path for file, state in states.items() if state == "foreign"}
    if _is_forward(record, list(states.values())):
        for file, state in states.items():
            if state == "todo":
                file.put()
        sync_folders(file.place for file in files)
        journal.write("done", durable=True)
        _sweep(journal, files)
        return "forward", conflicts
    stuck = take_back(files)
    journal.remove()
    return "back", conflicts | {file.entry.path for file in stuck}


def _is_forward(record: JournalRecord, states: Sequence[State]) -> bool:
    """Return whether to roll the transaction forward.

    It was decided if the journal has `commit`, or a file has been replaced. It is rolled back if staged content is
    missing, or if a file was changed by another program before any was replaced.
    """
    if not record.is_committed and "done" not in states:
        return False
    return "lost" not in states and not ("foreign" in states and "done" not in states)


def _sweep(journal: Journal, files: Sequence[StagedFile]) -> None:
    for file in files:
        file.sweep()
    journal.remove()
