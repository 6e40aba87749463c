"""All files of a transaction or none: now, and after a crash.

Commit: stage all files, write the decision to the journal, then rename each file. Recovery: roll forward if the
decision was journaled and the staged files exist, else back. Changes made to a file after the crash are never undone.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from failsoft.framework.errors import Effect
from failsoft.framework.safe.author_reports import logger
from failsoft.tools.files.faults import FileFault
from failsoft.tools.files.journal import Journal, JournalEntry, JournalRecord, Journals, journal_faults
from failsoft.tools.files.locks import GiveUp, Locks, never
from failsoft.tools.files.reading import Identity
from failsoft.tools.files.resolving import ResolvedPath, sync_folder
from failsoft.tools.files.roots import Roots
from failsoft.tools.files.staging import StagedFile, State

Outcome: TypeAlias = Literal["forward", "back", "waiting", "elsewhere", "damaged"]
_NOT_FLUSHED = "The change was made, but could not be flushed to disk: a power failure may undo it."
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The result for one file.

    Args:
        path: As the caller named it.
        changed: False if it had this content already; it was not written.
        sha256: The SHA-256 of its present content.
        bytes: Its size now.
        backup_path: Where the old content is kept, links resolved; None if it is not.
        durable: False if the folder may not be opened for reading, so that the rename could not be fsynced.
        identity: Identifies this version of the file; it changes when the file is written or replaced.
    """

    path: str
    changed: bool
    sha256: str
    bytes: int
    backup_path: str | None = None
    durable: bool = True
    identity: Identity | None = None

    @property
    def warning(self) -> str | None:
        """What the caller should know of a file that was written; None if there is nothing to warn of."""
        return None if self.durable else _NOT_FLUSHED


def commit(files: Sequence[StagedFile], journals: Journals, give_up: GiveUp) -> list[Written]:
    """Write all files or none, and return the result for each, in order.

    The caller holds the locks of all of them.

    Raises:
        FileFault: The disk: A step was refused. `effect` says what it left behind: `none`; `applied` if only the last
            step, the fsync of the folders, failed; `unknown` if the rollback failed, too: then the next call on one of
            these files tries again.
        FileFault: `changed`: A file is not what was read.
        FileFault: `given_up`: `give_up` returned True before the first rename.
    """
    changed = [file for file in files if file.is_changed]
    if len(changed) == 1:
        changed[0].entry = replace(changed[0].entry, is_alone=True)
    is_durable = _carry_out(changed, journals, give_up) if changed else True
    return [_written(file, is_durable) for file in files]


def sync_folders(targets: Iterable[ResolvedPath]) -> bool:
    """Make the renames in these folders durable, and return whether that was possible everywhere.

    Raises:
        FileFault: The disk: Step `sync`: the disk reports an error.
    """
    is_durable = True
    for resolved in {resolved.key.rpartition(":")[0]: resolved for resolved in targets}.values():
        try:
            is_durable = sync_folder(resolved.folder) and is_durable
        except OSError as error:
            raise FileFault.from_os(error, resolved.path, step="sync") from error
    return is_durable


def roll_back(files: Sequence[StagedFile]) -> set[StagedFile]:
    """Restore the replaced contents, remove temporary files, and return the files that cannot be restored.

    A file that another program has changed since it was replaced is one of them, and stays as it is.

    The staged contents are removed first, durably, so that recovery after a crash can only roll back, too.

    Raises:
        FileFault: The disk: The operating system refused a step.
    """
    replaced = [file for file in files if file.state() == "done"]
    overtaken = {file for file in files if file.is_in_place and file not in replaced}
    for file in files:
        file.remove_staged()
    sync_folders(file.resolved for file in files)
    stuck = overtaken | {file for file in replaced if not file.roll_back()}
    for file in files:
        if file not in stuck:  # its backup is all that is left of the old content
            file.remove_backup()
    sync_folders(file.resolved for file in files)
    for file in files:
        file.remove_temporaries()
    return stuck


def _carry_out(files: Sequence[StagedFile], journals: Journals, give_up: GiveUp) -> bool:
    """Write all files or none; return whether the renames are durable."""
    with journal_faults():
        # A single rename is atomic: its journal only lists temporary files to remove, so it need not be durable.
        journal = journals.begin([file.entry for file in files], durable=len(files) > 1)
    try:
        with _undone_on_failure(files, lambda: _abandon(files, journal)):
            _stage(files, give_up)
        with _undone_on_failure(files, lambda: _undo(files, journal)):
            _rename_all(files, journal)
        return _finish(files, journal)
    finally:
        journal.close()


@contextmanager
def _undone_on_failure(files: Sequence[StagedFile], way_back: Callable[[], Effect]) -> Iterator[None]:
    """Undo the changes if the block fails, and set `effect` and `backups` of the fault."""
    try:
        yield
    except BaseException as error:
        effect = way_back()
        if isinstance(error, FileFault):
            error.effect = effect
            error.backups = {} if effect == "none" else _backups(files)
        raise


def _stage(files: Sequence[StagedFile], give_up: GiveUp) -> None:
    for file in files:
        _require_wanted(file, give_up)
        file.stage()
        file.keep_old()
        file.back_up()
    if len(files) > 1:
        sync_folders(file.resolved for file in files)
    for file in files:
        file.require_unchanged(thoroughly=True)
    _require_wanted(files[0], give_up)


def _rename_all(files: Sequence[StagedFile], journal: Journal) -> None:
    if len(files) > 1:
        with journal_faults():
            journal.write("commit", durable=True)
    for file in files:
        file.require_unchanged(thoroughly=False)
        if not file.rename_into_place():
            raise FileFault(file.resolved.path, "changed")


def _finish(files: Sequence[StagedFile], journal: Journal) -> bool:
    """Fsync the renames and remove temporary files; the journal keeps what cannot be removed, for the next call."""
    try:
        is_durable = sync_folders(file.resolved for file in files)
    except FileFault as fault:
        fault.effect = "applied"
        fault.backups = _backups(files)
        if len(files) == 1:  # its old content has the name of the staged one
            _end(files, journal)
        raise
    _end(files, journal)
    return is_durable


def _end(files: Sequence[StagedFile], journal: Journal) -> None:
    with suppress(FileFault, OSError):
        if len(files) > 1:
            journal.write("done", durable=True)
        for file in files:
            file.remove_temporaries()
        journal.remove()


def _abandon(files: Sequence[StagedFile], journal: Journal) -> Effect:
    """Remove the staged files; the journal keeps what cannot be removed, for the next call."""
    try:
        for file in files:
            file.remove_backup()
            file.remove_temporaries()
        journal.remove()
    except (FileFault, OSError):
        return "unknown"
    return "none"


def _undo(files: Sequence[StagedFile], journal: Journal) -> Effect:
    """Restore the old contents and return the remaining effect; the next call retries what fails."""
    try:
        if files[0].entry.is_alone and files[0].state() == "done":  # the system reported an error, but did it
            return "applied"
        stuck = roll_back(files)
        journal.remove()
    except (FileFault, OSError):
        return "unknown"
    return "unknown" if stuck else "none"


def _require_wanted(file: StagedFile, give_up: GiveUp) -> None:
    if give_up():
        raise FileFault(file.resolved.path, "given_up")


def _backups(files: Iterable[StagedFile]) -> dict[str, str]:
    paths = ((file.resolved.path, file.backup_path) for file in files)
    return {path: backup for path, backup in paths if backup is not None}


def _written(file: StagedFile, is_durable: bool) -> Written:  # noqa: FBT001 - private
    return Written(
        path=file.resolved.path,
        changed=file.is_changed,
        sha256=file.entry.after,
        bytes=len(file.data),
        backup_path=file.backup_path,
        durable=is_durable,
        identity=file.staged if file.is_changed or file.before is None else file.before.identity,
    )


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
        FileFault: `given_up`: `give_up` returned True.
        FileFault: `locked`: Another call holds one of the files for longer.
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
            keys = {file.resolved.key: file.entry.path for file in files}
            with locks.hold(keys, wait_s=wait_s, give_up=give_up):
                outcome, conflicts = _forward_or_back(journal, record, files)
    except (FileFault, OSError) as fault:
        if isinstance(fault, FileFault) and fault.errno is None and not fault.is_outside:
            raise
        is_outside = isinstance(fault, FileFault) and fault.is_outside
        return Recovered(outcome="elsewhere" if is_outside else "waiting", paths=paths)
    reachable = {file.entry.path for file in files}
    return Recovered(outcome=outcome, paths=paths, conflicts=tuple(sorted({*conflicts, *(set(paths) - reachable)})))


@contextmanager
def _opened(entries: Sequence[JournalEntry], roots: Roots) -> Iterator[list[StagedFile]]:
    """Open the resolved paths of all files whose folders still exist."""
    with ExitStack() as stack:
        files = []
        for entry in entries:
            try:
                resolved = stack.enter_context(roots.resolve(entry.path, follow=False))
            except FileFault as fault:
                if fault.errno not in _GONE:
                    raise
            else:
                files.append(StagedFile(resolved, entry))
        yield files


def _forward_or_back(journal: Journal, record: JournalRecord, files: Sequence[StagedFile]) -> tuple[Outcome, set[str]]:
    """Roll forward or back, and return which, with the files that were changed after the crash."""
    if record.is_done:
        _clean_up(journal, files)
        return "forward", set()
    states = {file: file.state() for file in files}
    conflicts = {file.entry.path for file, state in states.items() if state == "foreign"}
    if _is_forward(record, list(states.values())):
        for file, state in states.items():
            if state == "todo" and not file.rename_into_place():
                conflicts.add(file.entry.path)
        sync_folders(file.resolved for file in files)
        journal.write("done", durable=True)
        _clean_up(journal, files)
        return "forward", conflicts
    stuck = roll_back(files)
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


def _clean_up(journal: Journal, files: Sequence[StagedFile]) -> None:
    for file in files:
        file.remove_temporaries()
    journal.remove()
