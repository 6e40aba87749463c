"""What a crash left is carried through where it had been decided and can be, else taken back.

What somebody did to a file after the crash is never undone.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from loguru import logger

from failsoft.tools.files.commit import sync_folders, take_back
from failsoft.tools.files.faults import DiskFault, OutsideRoots
from failsoft.tools.files.journal import Entry, Journal, Journals, Record
from failsoft.tools.files.locks import GiveUp, Locks, never
from failsoft.tools.files.roots import Roots
from failsoft.tools.files.slot import Slot, State

__all__ = ["Outcome", "Recovered", "recover"]

Outcome: TypeAlias = Literal["forward", "back", "waiting", "elsewhere", "damaged"]
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What became of a transaction that had crashed.

    Args:
        outcome: `forward`: it is carried out now. `back`: nothing of it is left. `waiting`: the disk, or somebody who
            holds a file, stands in the way; tried again later. `elsewhere`: it names files outside our roots, so it is
            not ours to finish. `damaged`: its journal cannot be read; kept under another name for a person to look at.
        paths: The files that it named.
        conflicts: Those that somebody else changed after the crash: they are left as they are.
    """

    outcome: Outcome
    paths: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


def recover(
    path: Path, journals: Journals, locks: Locks, roots: Roots, *, wait_s: float = 0.0, give_up: GiveUp = never
) -> Recovered | None:
    """Finish the transaction of this journal, and return what became of it; None if it is running, or over.

    Args:
        path: The journal.
        journals: The folder of journals.
        locks: The locks of the files.
        roots: What may be touched: a transaction is finished whole or not at all.
        wait_s: How long to wait for the files' locks, in seconds.
        give_up: Asked while waiting.

    Raises:
        GivenUp: `give_up` said so.
        LockTimeout: Somebody holds one of the files for longer.
    """
    with journals.taken(path) as journal:
        if journal is None:
            return None
        record = journal.read()
        if record.is_damaged:
            journal.set_aside()
            recovered = Recovered(outcome="damaged", paths=(str(path),))
        elif not record.entries:
            journal.remove()  # its first line is torn, so nothing had been begun
            return None
        else:
            recovered = _recovered(journal, record, locks, roots, wait_s, give_up)
    facts = {"outcome": recovered.outcome, "paths": recovered.paths, "conflicts": recovered.conflicts}
    logger.bind(**facts).warning("A transaction that a crash interrupted was taken up")
    return recovered


def _recovered(
    journal: Journal, record: Record, locks: Locks, roots: Roots, wait_s: float, give_up: GiveUp
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
def _opened(entries: Sequence[Entry], roots: Roots) -> Iterator[list[Slot]]:
    """Hold the places open of all files whose folders still exist."""
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


def _finish(journal: Journal, record: Record, slots: Sequence[Slot]) -> tuple[Outcome, set[str]]:
    """Go the way that the disk allows, and return it, with the files that somebody else changed."""
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


def _is_forward(record: Record, states: Sequence[State]) -> bool:
    """Return whether the transaction is to be carried through.

    It had been decided if the journal says so, or a file has been replaced. It cannot be carried through where new
    content is gone; and where somebody changed a file before any was replaced, all are still old, and stay so.
    """
    if not record.is_committed and "done" not in states:
        return False
    return "lost" not in states and not ("foreign" in states and "done" not in states)


def _sweep(journal: Journal, slots: Sequence[Slot]) -> None:
    for slot in slots:
        slot.sweep()
    journal.remove()
