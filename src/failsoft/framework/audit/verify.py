"""Whether a log is as it was written: every line of every file of it, and its end."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from failsoft.framework.audit.head_file import HeadFile
from failsoft.framework.audit.locking import NotWritten, lock, unlock
from failsoft.framework.audit.reading import Scan, lines_of
from failsoft.framework.audit.sealing import BEGINNING, BadLine, Head, Seal
from failsoft.framework.audit.segments import segments

__all__ = ["Broken", "Verdict", "default_head", "verify"]

_LOCK_WITHIN_S = 2.0
_TORN = "it has no end: its writer was stopped, and the next one completes or drops it"


@dataclass(frozen=True, slots=True)
class Broken:
    """The first thing that is wrong with a log.

    Args:
        file: The name of the file.
        line: The line in it, from 1; None if it is about no line.
        reason: What is wrong.
    """

    file: str
    line: int | None
    reason: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{place}: {self.reason}"


@dataclass(slots=True)
class Verdict:
    """What was found.

    Args:
        entries: How many are in order, from the beginning.
        files: The files that were read, oldest first.
        first: The number of the first entry.
        last: The end of the chain as far as it is in order.
        broken: The first thing that is wrong; None if all is well.
        remarks: What was not wrong, but limits what was proven.
    """

    entries: int = 0
    files: list[str] = field(default_factory=list)
    first: int | None = None
    last: Head | None = None
    broken: Broken | None = None
    remarks: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
        return self.broken is None

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as a JSON tree."""
        return {"whole": self.is_whole, **asdict(self)}


def verify(path: Path, *, key: bytes | None = None, head: Head | None = None, head_path: Path | None = None) -> Verdict:
    """Return whether the log is as it was written, or what the first broken line is.

    Args:
        path: The log; the files that were put aside for it are read first.
        key: What it was sealed with, if it was.
        head: An end of the chain that is known from elsewhere; by default what the head file says.
        head_path: Where that is kept; by default beside the log.

    Raises:
        OSError: A file is there and cannot be read.
    """
    seal = Seal(key)
    verdict = Verdict()
    kept = HeadFile(head_path or default_head(path), seal)
    witness, bad_head = (head, None) if head is not None else _read_head(kept)
    scan = Scan(seal, witness=witness)
    with _held(path) as (fd, size):
        for file in segments(path):
            _read_file(file, scan, verdict)
            if verdict.broken:
                return verdict
        if fd is not None:
            _read(fd, size, path.name, scan, verdict)
    if verdict.broken is None:
        verdict.broken = bad_head
        _compare_ends(path, scan, witness, verdict)
    return verdict


def _read_head(kept: HeadFile) -> tuple[Head | None, Broken | None]:
    try:
        return kept.read(), None
    except BadLine as bad:
        return None, Broken(kept.path.name, None, str(bad))


def default_head(path: Path) -> Path:
    """Return where the end of a log's chain is kept, unless somewhere else was chosen."""
    return path.with_name(f"{path.name}.head")


@contextmanager
def _held(path: Path) -> Iterator[tuple[int | None, int]]:
    """Yield the open log, and how long it was at a moment when nobody wrote; no log is none of either.

    It is opened before the files that were put aside are listed: one that is put aside meanwhile is still read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None, 0
        return
    try:
        with suppress(NotWritten):  # somebody holds it for long: then the last line may be under way
            lock(fd, time.monotonic() + _LOCK_WITHIN_S, shared=True)
        size = os.fstat(fd).st_size
        unlock(fd)
        yield fd, size
    finally:
        os.close(fd)


def _read_file(file: Path, scan: Scan, verdict: Verdict) -> None:
    fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _read(fd, os.fstat(fd).st_size, file.name, scan, verdict)
    finally:
        os.close(fd)


def _read(fd: int, size: int, name: str, scan: Scan, verdict: Verdict) -> None:
    verdict.files.append(name)
    for number, line in enumerate(lines_of(fd, 0, size), 1):
        try:
            scan.take(line.removesuffix(b"\n"))
        except BadLine as bad:
            verdict.broken = Broken(name, number, str(bad))
        if not line.endswith(b"\n"):
            verdict.broken = Broken(name, number, _TORN)
        if verdict.broken:
            break
    verdict.entries, verdict.first, verdict.last = scan.lines, scan.first, scan.head


def _compare_ends(path: Path, scan: Scan, witness: Head | None, verdict: Verdict) -> None:
    end = scan.head or BEGINNING
    if witness is None:
        if scan.lines:
            verdict.remarks.append("there is no head to compare with: entries cut from the end would not show")
    elif witness.seq > end.seq:
        reason = f"entries {end.seq + 1} to {witness.seq} are missing from its end: the head is of entry {witness.seq}"
        verdict.broken = Broken(path.name, None, reason)
    elif scan.first is not None and witness.seq < scan.first and witness.seq:
        verdict.remarks.append(f"the head is of entry {witness.seq}, which is not here")
    if scan.first is not None and scan.first > 1:
        verdict.remarks.append(f"it begins with entry {scan.first}: what came before is not here")
