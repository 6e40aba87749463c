"""Read a log: its files in order, its lines and entries, the newest first, and a check of each line on the way.

A full file is renamed to its name plus the number of its last entry, so that names sort in the order of the chain.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from failsoft.framework.audit.chain import BEGINNING, BadLine, Head, Seal, checkpoint_ends, follow
from failsoft.framework.files import opened_regular

_DIGITS = 12
_BLOCK = 1 << 20
_LINE_AT_MOST = 1 << 24
_TOO_LONG = "it is longer than any line of a log"
_TAIL_BLOCK = 65_536
_ANOTHER = "its hash differs from that of the recorded head"


def segments(path: Path) -> list[Path]:
    """Return the rotated files of a log, oldest first."""
    pattern = re.compile(re.escape(path.name) + rf"\.\d{{{_DIGITS},}}")
    try:
        aside = [file for file in path.parent.iterdir() if pattern.fullmatch(file.name)]
    except OSError:
        return []
    return sorted(aside, key=lambda file: int(file.suffix[1:]))


def segment_name(path: Path, last_seq: int) -> Path:
    """Return the name of a rotated file."""
    return path.with_name(f"{path.name}.{last_seq:0{_DIGITS}}")


def entries(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of a log in order, including rotated files, without checking them.

    Lines that are not JSON objects are skipped; `verify` reports them.

    Raises:
        OSError: A file cannot be read, is not a regular file, or has a line that is too long.
    """
    for file in [*segments(path), *([path] if path.exists() else [])]:
        with os.fdopen(opened_regular(file), "rb") as stream:
            while line := stream.readline(_LINE_AT_MOST):
                if len(line) == _LINE_AT_MOST:
                    raise OSError(errno.EINVAL, _TOO_LONG, str(file))
                if (entry := _parsed(line)) is not None:
                    yield entry


def find(path: Path, error_id: str) -> list[dict[str, Any]]:
    """Return the entries with that error id, in order."""
    return [entry for entry in entries(path) if entry.get("error_id") == error_id]


def newest(path: Path, field: str, value: str, *, limit: int, bytes_at_most: int) -> tuple[list[dict[str, Any]], bool]:
    """Return the last entries that have a value in a field, oldest first, and whether there may be more before them.

    Args:
        path: The log.
        field: A key of entries.
        value: The value to match.
        limit: Maximum number of entries.
        bytes_at_most: Bytes to search, from the end of the log.
    """
    found: list[dict[str, Any]] = []
    needle = f"{json.dumps(field)}:{json.dumps(value)}".encode("ascii")
    seen = 0
    for line in _backwards(path):
        seen += len(line) + 1
        if len(found) == limit or seen > bytes_at_most:
            return found[::-1], True
        if needle not in line:
            continue
        entry = _parsed(line)
        # A file that is rotated while it is read is seen again under its new name.
        is_known = bool(found) and entry is not None and entry.get("seq", 0) >= found[-1].get("seq", 0)
        if entry is not None and entry.get(field) == value and not is_known:
            found.append(entry)
    return found[::-1], False


def _backwards(path: Path) -> Iterator[bytes]:
    """Yield the lines of a log, last first; the current file is opened before rotated ones are listed."""
    with ExitStack() as held:
        try:
            current = [held.enter_context(os.fdopen(opened_regular(path), "rb"))]
        except FileNotFoundError:
            current = []
        aside = reversed(segments(path))
        for stream in current:
            yield from _lines_backwards(stream)
        for file in aside:
            with os.fdopen(opened_regular(file), "rb") as stream:
                yield from _lines_backwards(stream)


def _lines_backwards(stream: BinaryIO) -> Iterator[bytes]:
    position = stream.seek(0, os.SEEK_END)
    rest = b""
    while position and len(rest) < _LINE_AT_MOST:
        start = max(0, position - _BLOCK)
        stream.seek(start)
        rest, *lines = (stream.read(position - start) + rest).split(b"\n")
        position = start
        yield from (line for line in reversed(lines) if line)
    if rest:
        yield rest


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


@dataclass(slots=True)
class Scan:
    """Incremental check of a file.

    Args:
        seal: The seal of its lines.
        head: The end of the chain so far; None if the previous entries are unknown.
        witness: An end known from elsewhere: the entry of that number must have that hash.
        good_bytes: Bytes of complete and valid lines so far.
        lines: Valid lines so far.
    """

    seal: Seal
    head: Head | None = None
    witness: Head | None = None
    good_bytes: int = 0
    lines: int = 0
    first: int | None = field(default=None, init=False)
    """The number of the first entry that was read."""
    before: Head = field(default=BEGINNING, init=False)
    """The end that it follows."""
    began_at: float = field(default=float("inf"), init=False)
    """When it was written, in seconds since the epoch; infinite if it does not say."""
    lost: list[tuple[int, int]] = field(default_factory=list, init=False)
    """The first and last number of entries that are missing, whose loss a checkpoint has recorded."""
    closed: set[Head] = field(default_factory=set, init=False)
    """The ends that checkpoints record."""

    def take(self, line: bytes) -> None:
        """Check the next line, given without its newline.

        Raises:
            BadLine: It is not valid.
        """
        entry = self.seal.open(line)
        head = follow(entry, None if self._is_gap(entry) else self.head)
        if self.witness is not None and self.witness.seq == head.seq and self.witness.hash != head.hash:
            raise BadLine(_ANOTHER)
        if self.first is None:
            self.first, self.before = head.seq, Head(head.seq - 1, entry["prev"])
            with suppress(KeyError, TypeError, ValueError):
                self.began_at = datetime.fromisoformat(entry["timestamp"]).timestamp()
        self.closed |= checkpoint_ends(entry)
        self.head = head
        self.lines += 1
        self.good_bytes += len(line) + 1

    def _is_gap(self, entry: dict[str, Any]) -> bool:
        """Return whether entries before this one are missing, and it is the checkpoint that records their loss."""
        if self.head is None or self.head.seq + 1 >= entry["seq"]:
            return False
        is_recorded = {self.head, Head(entry["seq"] - 1, entry["prev"])} <= checkpoint_ends(entry)
        if is_recorded:
            self.lost.append((self.head.seq + 1, entry["seq"] - 1))
        return is_recorded


def lines_of(fd: int, start: int, end: int) -> Iterator[bytes]:
    """Yield the lines of an open file between two offsets, with their newlines; the last one may have none.

    Raises:
        BadLine: A line is too long.
    """
    rest = b""
    while start < end:
        block = os.pread(fd, min(_BLOCK, end - start), start)
        if not block:
            break
        start += len(block)
        *complete, rest = (rest + block).split(b"\n")
        for line in complete:
            yield line + b"\n"
        if len(rest) > _LINE_AT_MOST:
            raise BadLine(_TOO_LONG)
    if rest:
        yield rest


def end_of(file: Path, seal: Seal) -> Head:
    """Return the end of a rotated file.

    Raises:
        BadLine: It is not valid.
        OSError: The file cannot be read.
    """
    return follow(seal.open(last_line(file)), None)


def last_line(path: Path) -> bytes:
    """Return the last complete line of a file, without its newline; empty if there is none.

    Raises:
        BadLine: It is too long.
        OSError: The file cannot be read, or is not a regular file.
    """
    with os.fdopen(opened_regular(path), "rb") as file:
        position = file.seek(0, os.SEEK_END)
        found = b""
        while position and found.count(b"\n") <= 1:  # the newline that ends it, and the one before it
            start = max(0, position - _TAIL_BLOCK)
            file.seek(start)
            found = file.read(position - start) + found
            position = start
            if len(found) > _LINE_AT_MOST and b"\n" not in found[:-1]:
                raise BadLine(_TOO_LONG)
    complete = found.rpartition(b"\n")[0]
    return complete.rpartition(b"\n")[2]
