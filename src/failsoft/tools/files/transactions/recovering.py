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

from loguru import logger

from failsoft.tools.files.faults import DiskFault, OutsideRoots
from failsoft.tools.files.paths.roots import Roots
from failsoft.tools.files.paths.slot import Slot, State
from failsoft.tools.files.transactions.commit import sync_folders, take_back
from failsoft.tools.files.transactions.journal import Journal, JournalEntry, JournalRecord, Journals
from failsoft.tools.files.transactions.locks import GiveUp, Locks, never

__all__ = ["Outcome", "Recovered", "recover"]

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
        with _opened(record.entries, roots) as slots:
            keys = {slot.place.key: slot.entry.path for slot in slots}
            with locks.hold(keys, wait_s=wait_s, give_up=give_up):
                outcome, conflicts = _finish(journal, record, slots)
    except OutsideRoots:
        return Recovered(outcome="elsewhere", paths=paths)
    except (DiskFault, OSError):
        return Recovered(outcome="waiting", paths=paths)
    reachable = {slot.entry.path for slot in slots}
    return Recovered(outcome=outcome, paths=paths, conflicts=tuple(sorted({*conflicts, *(set(paths) - reachable)})))


@contextmanager
def _opened(entries: Sequence[JournalEntry], roots: Roots) -> Iterator[list[Slot]]:
    """Open the resolved paths of all files whose folders still exist."""
    with ExitStack() as stack:
        slots = []
        for entry in entries:
            try:
                place = stack.enter_context(roots.place(entry.path, follow=False))
            except DiskFault as fault:
                if fault.errno not in _GONE:
                    raise
            else:
                slots.append(Slot(place, entry))
        yield slots


def _finish(journal: Journal, record: JournalRecord, slots: Sequence[Slot]) -> tuple[Outcome, set[str]]:
    """Roll forward or back, and return which, with the files that were changed after the crash."""
    if record.is_done:
        _sweep(journal, slots)
        return "forward", set()
    states = {slot: slot.state() for slot in slots}
    conflicts = {slot.entry.path for slot, state in states.items() if state == "foreign"}
    if _is_forward(record, list(states.values())):
        for slot, state in states.items():
            if state == "todo":
                slot.put()
        sync_folders(slot.place for slot in slots)
        journal.write("done", durable=True)
        _sweep(journal, slots)
        return "forward", conflicts
    stuck = take_back(slots)
    journal.remove()
    return "back", conflicts | {slot.entry.path for slot in stuck}


def _is_forward(record: JournalRecord, states: Sequence[State]) -> bool:
    """Return whether to roll the transaction forward.

    It was decided if the journal has `commit`, or a file has been replaced. It is rolled back if staged content is
    missing, or if a file was changed by another program before any was replaced.
    """
    if not record.is_committed and "done" not in states:
        return False
    return "lost" not in states and not ("foreign" in states and "done" not in states)


def _sweep(journal: Journal, slots: Sequence[Slot]) -> None:
    for slot in slots:
        slot.sweep()
    journal.remove()
