"""A log read back: checked line by line, as far as lines are complete."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from failsoft.framework.audit.sealing import BadLine, Head, Seal, follow
from failsoft.framework.audit.segments import segments

__all__ = ["Scan", "entries", "find", "lines_of", "newest", "tail"]

_BLOCK = 1 << 20
_ANOTHER = "it is not the entry that was written here: the head kept elsewhere is of another"


@dataclass(slots=True)
class Scan:
    """How far a file is in order.

    Args:
        seal: What its lines were made with.
        head: The end of the chain so far; None where nothing is known of what came before.
        witness: An end known from elsewhere: the entry of that number must have that hash.
        good_bytes: How far its lines are complete and in order.
        lines: How many those are.
    """

    seal: Seal
    head: Head | None = None
    witness: Head | None = None
    good_bytes: int = 0
    lines: int = 0
    first: int | None = field(default=None, init=False)
    """The number of the first entry that was read."""

    def take(self, line: bytes) -> None:
        """Take the next line, without its newline.

        Raises:
            BadLine: It is not in order.
        """
        entry = self.seal.open(line)
        head = follow(entry, self.head)
        if self.witness is not None and self.witness.seq == head.seq and self.witness.hash != head.hash:
            raise BadLine(_ANOTHER)
        if self.first is None:
            self.first = head.seq
        self.head = head
        self.lines += 1
        self.good_bytes += len(line) + 1


def lines_of(fd: int, start: int, end: int) -> Iterator[bytes]:
    """Yield the lines of an open file between two offsets, with their newlines; the last one may have none."""
    rest = b""
    while start < end:
        block = os.pread(fd, min(_BLOCK, end - start), start)
        if not block:
            break
        start += len(block)
        *complete, rest = (rest + block).split(b"\n")
        for line in complete:
            yield line + b"\n"
    if rest:
        yield rest


def entries(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of a log in order, those of the files that were put aside included; nothing is checked.

    A line that is no JSON object is left out: `verify` is there to find it.
    """
    for file in [*segments(path), *([path] if path.exists() else [])]:
        with file.open("rb") as stream:
            for line in stream:
                entry = _parsed(line)
                if entry is not None:
                    yield entry


def tail(path: Path, limit: int) -> list[dict[str, Any]]:
    """Return the last entries of a log, oldest first; only as much is read as it takes."""
    found: list[dict[str, Any]] = []
    for file in reversed([*segments(path), *([path] if path.exists() else [])]):
        if len(found) >= limit:
            break
        found = [*_last_of(file, limit - len(found)), *found]
    return found


def newest(path: Path, field: str, value: str, *, limit: int, bytes_at_most: int) -> tuple[list[dict[str, Any]], bool]:
    """Return the last entries that have a value in a field, oldest first, and whether there may be more before them.

    Args:
        path: The log.
        field: A key of entries.
        value: What it has to be.
        limit: Entries at most.
        bytes_at_most: How much of the log is looked through, from its end.
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
        # A file that is put aside while it is read is met again under its new name.
        is_known = bool(found) and entry is not None and entry.get("seq", 0) >= found[-1].get("seq", 0)
        if entry is not None and entry.get(field) == value and not is_known:
            found.append(entry)
    return found[::-1], False


def find(path: Path, error_id: str) -> list[dict[str, Any]]:
    """Return the entries with that error id, in order."""
    return [entry for entry in entries(path) if entry.get("error_id") == error_id]


def _backwards(path: Path) -> Iterator[bytes]:
    """Yield the lines of a log, the last one first; the file that is written is opened before the others are listed."""
    with ExitStack() as held:
        try:
            current = [held.enter_context(path.open("rb"))]
        except FileNotFoundError:
            current = []
        aside = reversed(segments(path))
        for stream in current:
            yield from _lines_backwards(stream)
        for file in aside:
            with file.open("rb") as stream:
                yield from _lines_backwards(stream)


def _lines_backwards(stream: BinaryIO) -> Iterator[bytes]:
    position = stream.seek(0, os.SEEK_END)
    rest = b""
    while position:
        start = max(0, position - _BLOCK)
        stream.seek(start)
        rest, *lines = (stream.read(position - start) + rest).split(b"\n")
        position = start
        yield from (line for line in reversed(lines) if line)
    if rest:
        yield rest


def _last_of(file: Path, limit: int) -> list[dict[str, Any]]:
    with file.open("rb") as stream:
        position = stream.seek(0, os.SEEK_END)
        data = b""
        while position and data.count(b"\n") <= limit:
            start = max(0, position - _BLOCK)
            stream.seek(start)
            data = stream.read(position - start) + data
            position = start
    lines = data.split(b"\n")
    parsed = [entry for line in (lines if position == 0 else lines[1:]) if (entry := _parsed(line)) is not None]
    return parsed[-limit:] if limit else []


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None
