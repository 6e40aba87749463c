"""Which files of a log are kept: by age and size, and where those go that are not."""

from __future__ import annotations

import errno
import filecmp
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from failsoft.framework.clock import steady_clock
from failsoft.framework.safe.author_reports import logger

_DAY_S = 86_400.0
AT_ONCE = 4
"""Files that are closed with one checkpoint, which reads them whole while calls wait for their entries."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """What is kept of a log beside its current file; by default everything.

    Args:
        days: Files that were last written longer ago are not kept; None keeps them forever. The system time counts as
            it was at the start, so that a jump of the clock removes no file that is young.
        bytes: Of more bytes the oldest files are not kept; None keeps them all.
        archive: The folder that files move to which are not kept; None deletes them.
        clock: The time in seconds since the epoch.
    """

    days: float | None = None
    bytes: int | None = None
    archive: Path | None = None
    clock: Callable[[], float] = field(default_factory=steady_clock)

    @property
    def is_limited(self) -> bool:
        """Whether some files are not kept."""
        return self.days is not None or self.bytes is not None

    def is_over(self, began_at: float) -> bool:
        """Return whether a file with entries since then is to be put aside: daily where files are kept by age."""
        return self.days is not None and self.clock() - began_at >= min(self.days, 1.0) * _DAY_S

    def expired(self, files: Sequence[Path]) -> list[Path]:
        """Return the files that are not kept, oldest first, at most `AT_ONCE`.

        Args:
            files: The files put aside, oldest first.

        Raises:
            OSError: One cannot be looked at.
        """
        if not self.is_limited:
            return []
        facts = [file.stat() for file in files]
        rest = sum(fact.st_size for fact in facts)
        oldest = float("-inf") if self.days is None else self.clock() - self.days * _DAY_S
        found = []
        for file, fact in zip(files, facts, strict=True):
            if fact.st_mtime >= oldest and (self.bytes is None or rest <= self.bytes):
                break
            found.append(file)
            rest -= fact.st_size
        return found[:AT_ONCE]

    def remove(self, files: Sequence[Path]) -> None:
        """Move or delete files that a checkpoint has closed; one that stays is logged, and found again later."""
        for file in files:
            try:
                if self.archive is None:
                    file.unlink(missing_ok=True)
                else:
                    move_closed(file, self.archive)
            except FileNotFoundError:  # another process was faster
                continue
            except OSError as error:
                reason = error.strerror or type(error).__name__
                logger.error("A closed file of the audit log stays where it is: {}", reason, file=file.name)
                return
            logger.info("A file of the audit log is kept no longer", file=file.name, moved=self.archive is not None)


def move_closed(file: Path, folder: Path) -> None:
    """Move a closed file; on another file system only after its copy is on disk.

    Raises:
        FileExistsError: There is another file of this name, which is not replaced; or it is the file itself.
        OSError: The file cannot be moved, and stays where it is.
    """
    _put_into(file, folder)
    file.unlink()


def lend(file: Path, folder: Path) -> None:
    """Move a rotated file that is not closed yet to another file system, and leave a link to it: the log stays whole.

    Raises:
        FileExistsError: There is another file of this name, which is not replaced.
        OSError: The file cannot be moved, and stays where it is.
    """
    target, link = _put_into(file, folder), file.with_name(f".{file.name}.{os.getpid()}")
    try:
        link.symlink_to(target.absolute())
        link.replace(file)
    finally:
        with suppress(OSError):
            link.unlink()


def _put_into(file: Path, folder: Path) -> Path:
    """Have a file in another folder, too, and return it there."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.samefile(file.parent):
        raise FileExistsError(errno.EEXIST, "the archive is the folder of the log", os.fspath(file))
    target = folder / file.name
    copy = folder / f".{file.name}.{os.getpid()}"
    try:
        os.link(file, target)
    except FileExistsError:  # of another log; or of this one, whose removal was interrupted
        if not filecmp.cmp(file, target, shallow=False):
            raise
    except OSError:
        try:
            shutil.copy2(file, copy)
            with copy.open("rb") as stream:
                os.fsync(stream.fileno())
            os.link(copy, target)
        finally:
            with suppress(OSError):
                copy.unlink()
    return target
