"""Verification of a log: every line of every file, the beginning and the end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from failsoft.framework.audit.chain import BEGINNING, BadLine, Head, LogUnusable, Seal
from failsoft.framework.audit.places import HeadFile, NotWritten, default_head, key_from, lock, unlock
from failsoft.framework.audit.reading import Scan, lines_of, segments
from failsoft.framework.files import opened_regular, require_posix

_LOCK_WITHIN_S = 2.0
_OF_COPY = "; of a copy, `failsoft audit verify COPY --copy-of PATH` uses that of the original"
_TORN = "it has no end: its writer was stopped, and the next one completes or drops it"


@dataclass(frozen=True, slots=True)
class Broken:
    """The first thing that is wrong with a log.

    Args:
        file: The name of the file.
        line: The line number, from 1; None if no single line is wrong.
        reason: What is wrong.
    """

    file: str
    line: int | None
    reason: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{place}: {self.reason}"


@dataclass(slots=True)
class Verification:
    """Result of a verification.

    Args:
        entries: Valid entries, from the beginning.
        files: The files that were read, oldest first.
        first: The number of the first entry.
        before: The end that the first entry follows.
        last: The end of the valid part of the chain.
        broken: The first fault; None if there is none.
        remarks: Limits of the proof that are not faults.
    """

    entries: int = 0
    files: list[str] = field(default_factory=list)
    first: int | None = None
    before: Head | None = None
    last: Head | None = None
    broken: Broken | None = None
    remarks: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether no fault was found."""
        return self.broken is None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a JSON tree."""
        return {"whole": self.is_whole, **asdict(self)}


def verify(
    path: Path,
    *,
    key: bytes | Callable[[], bytes] | None = None,
    head_path: Path | None = None,
) -> Verification:
    """Verify a log and return the result, with the first fault if there is one.

    A log is whole if its chain reaches from its first entry, or from an end recorded by a signed checkpoint, to its
    head.

    Args:
        path: The log; its rotated files are read first.
        key: The key of the log; by default the one in the user's state folder.
        head_path: The head file; by default in the user's state folder.

    Raises:
        OSError: A file is there and cannot be read.
    """
    require_posix("An audit log needs")
    verdict = Verification()
    try:
        return _verify(path, verdict, key, head_path)
    except FileNotFoundError:  # a file that is kept no longer went meanwhile
        return _verify(path, Verification(), key, head_path)
    except LogUnusable as error:
        verdict.broken = Broken(path.name, None, str(error))
        return verdict


def _verify(
    path: Path,
    verdict: Verification,
    key: bytes | Callable[[], bytes] | None,
    head_path: Path | None,
) -> Verification:
    seal = Seal(key if key is not None else partial(key_from, None, make=False))
    kept = HeadFile(head_path or default_head(path), seal)
    witness, bad_head = _read_head(kept)
    scan = Scan(seal, witness=witness)
    with _snapshot(path) as (fd, size):
        for file in segments(path):
            _read_file(file, scan, verdict)
            if verdict.broken:
                return verdict
        if fd is not None:
            _read(fd, size, path.name, scan, verdict)
    if verdict.broken is None:
        verdict.broken = bad_head or _fault_of_ends(path, scan, witness, verdict)
    return verdict


def _read_head(kept: HeadFile) -> tuple[Head | None, Broken | None]:
    try:
        return kept.read(), None
    except BadLine as bad:
        return None, Broken(kept.path.name, None, str(bad))
    except OSError as error:
        return None, Broken(kept.path.name, None, f"it cannot be read ({error.strerror or error})")


@contextmanager
def _snapshot(path: Path) -> Iterator[tuple[int | None, int]]:
    """Yield the descriptor of the log and its size while no process was writing; None and 0 without a log.

    The log is opened before rotated files are listed, so that a file rotated meanwhile is still read.
    """
    try:
        fd = opened_regular(path)
    except FileNotFoundError:
        yield None, 0
        return
    try:
        with suppress(NotWritten):  # locked for long: the last line may be incomplete
            lock(fd, time.monotonic() + _LOCK_WITHIN_S, shared=True)
        size = os.fstat(fd).st_size
        unlock(fd)
        yield fd, size
    finally:
        os.close(fd)


def _read_file(file: Path, scan: Scan, verdict: Verification) -> None:
    fd = opened_regular(file)
    try:
        _read(fd, os.fstat(fd).st_size, file.name, scan, verdict)
    finally:
        os.close(fd)


def _read(fd: int, size: int, name: str, scan: Scan, verdict: Verification) -> None:
    verdict.files.append(name)
    good, line = 0, b"\n"
    try:
        for line in lines_of(fd, 0, size):
            scan.take(line.removesuffix(b"\n"))
            good += 1
    except BadLine as bad:
        verdict.broken = Broken(name, good + 1, str(bad))
    if not line.endswith(b"\n"):
        verdict.broken = Broken(name, good if verdict.broken is None else good + 1, _TORN)
    verdict.entries, verdict.first, verdict.last = scan.lines, scan.first, scan.head
    verdict.before = scan.before if scan.first is not None else None


def _fault_of_ends(path: Path, scan: Scan, witness: Head | None, verdict: Verification) -> Broken | None:
    """Return the fault at the beginning or the end of a log whose lines are valid."""
    end = scan.head or BEGINNING
    reason = None
    if scan.first is not None and scan.first > 1 and scan.before not in scan.closed:
        reason = f"it begins with entry {scan.first}, and no checkpoint closes those before it"
    elif witness is None and scan.lines:
        reason = f"its head is missing: entries cut from its end would not show{_OF_COPY}"
    elif witness is not None and witness.seq > end.seq:
        reason = f"entries {end.seq + 1} to {witness.seq} are missing from its end: the head is of entry {witness.seq}"
    elif witness is not None and scan.first is not None and 0 < witness.seq < scan.first:
        verdict.remarks.append(f"the head is of entry {witness.seq}, which is not here")
    verdict.remarks += [f"entries {first} to {last} are missing; their loss was accepted" for first, last in scan.lost]
    if reason is None and scan.first is not None and scan.first > 1:
        verdict.remarks.append(f"it begins with entry {scan.first}; a checkpoint closed what came before")
    return None if reason is None else Broken(path.name, None, reason)
