"""Numbers by metric and labels, written once: in memory, or in the file of a worker that others read."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from operator import add
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from failsoft.framework.text import bounded
from failsoft.metrics.definitions import BY_NAME

_SIZE = 8
"""Bytes of a length and a checksum, and of a number."""

_LABEL_AT_MOST = 128
_GRAIN = 2.0**-24
"""Sums of durations are read in multiples of it, in seconds, so that adding them is exact, in whichever order."""
K = TypeVar("K", bound=Hashable)
Cells: TypeAlias = "list[float] | memoryview[float]"
"""The numbers of a row, where they are counted: in memory, or in the file of a worker."""


def label(value: str) -> str:
    """Return the value as a label: one line of at most 128 characters that can be encoded."""
    return bounded(value, _LABEL_AT_MOST)


class FirstKeys(Generic[K]):
    """Accepts the first `limit` distinct keys; every later one becomes `other`. Not thread-safe by itself."""

    __slots__ = ("_admitted", "_limit", "_other")

    def __init__(self, limit: int, other: K) -> None:
        self._limit = limit
        self._other = other
        self._admitted: set[K] = set()

    def __call__(self, key: K) -> K:
        """Return the key, or `other`."""
        if key not in self._admitted:
            if len(self._admitted) >= self._limit:
                return self._other
            self._admitted.add(key)
        return key


class Traced(NamedTuple):
    """A call of a sampled trace: the trace, its duration in seconds, and when it ended, in seconds since 1970."""

    trace_id: str
    value: float
    at: float


class Row(NamedTuple):
    """The numbers of one series, or of the series that differ in a label whose values are known.

    Args:
        name: That of the metric.
        labels: The values of its labels; without the last one if the definition knows its values.
        values: The numbers, in the order of the definition.
    """

    name: str
    labels: tuple[str, ...]
    values: Sequence[float]


class Numbers:
    """The numbers of a process, all of them counted up or down; every scrape reads them as they are.

    Args:
        names: Where other processes find which numbers are whose, as the `RowLog` writes it; None: memory.
        cells: Where the numbers are; of type `d`.
    """

    def __init__(self, names: memoryview | None = None, cells: memoryview[float] | None = None) -> None:
        self._names, self._cells = names, cells
        self._used = self._written = 0
        self._rows: list[Row] = []
        self._lock = threading.Lock()

    def new(self, name: str, labels: tuple[str, ...]) -> Cells:
        """Return the numbers of a new row, all of them 0; rows with the same labels are added up by readers.

        Where the file is full they are in memory, so that only this process shows them.
        """
        count = BY_NAME[name].cells
        with self._lock:
            placed = self._placed(name, labels, count)
            zero: list[float] = [0]
            cells: Cells = zero * count if placed is None else placed  # a list is three times as fast
            self._rows.append(Row(name, labels, cells))
            return cells

    def rows(self) -> Iterator[Row]:
        """Yield the rows of this process."""
        with self._lock:
            rows = self._rows.copy()
        yield from rows

    def _placed(self, name: str, labels: tuple[str, ...], count: int) -> memoryview[float] | None:
        if self._names is None or self._cells is None:
            return None
        text = json.dumps([name, *labels], ensure_ascii=False).encode(errors="replace")
        until = self._written + _SIZE + len(text)
        if until > len(self._names) or self._used + count > len(self._cells):
            return None
        write(self._names[self._written : until], text)
        self._written = until
        cells = self._cells[self._used : self._used + count]
        self._used += count
        return cells


class RowLog:
    """The rows of another process, whose numbers it may be changing.

    Args:
        names: As for `Numbers`.
        cells: As for `Numbers`.
    """

    def __init__(self, names: memoryview, cells: memoryview[float]) -> None:
        self._names, self._cells = names, cells
        self._used = self._read = 0
        self._rows: list[Row] = []

    def rows(self) -> Iterator[Row]:
        """Yield the rows; one that is being written is left for the next time."""
        while (text := read(self._names[self._read :])) is not None and text:
            name, *labels = json.loads(text)
            count = BY_NAME[name].cells
            self._rows.append(Row(name, tuple(labels), self._cells[self._used : self._used + count]))
            self._used += count
            self._read += _SIZE + len(text)
        yield from self._rows


def added(rows: Iterable[Row]) -> dict[tuple[str, tuple[str, ...]], list[float]]:
    """Return the numbers by metric and labels, those of the same labels added up; the order makes no difference."""
    totals: dict[tuple[str, tuple[str, ...]], list[float]] = {}
    for name, labels, read in rows:
        values = list(read)
        if BY_NAME[name].buckets:
            values[-1] = values[-1] // _GRAIN * _GRAIN
        known = totals.get((name, labels))
        totals[name, labels] = values if known is None else list(map(add, known, values))
    return totals


def write(area: memoryview, text: bytes) -> None:
    """Write a text with its length and its checksum, so that a reader sees whether it has all of it."""
    area[_SIZE : _SIZE + len(text)] = text
    area[4:_SIZE] = zlib.crc32(text).to_bytes(4, "little")
    area[:4] = len(text).to_bytes(4, "little")


def read(area: memoryview) -> bytes | None:
    """Return what `write` wrote; empty if nothing was, None if it is torn."""
    length = int.from_bytes(area[:4], "little")
    if length > len(area) - _SIZE:
        return None
    checksum = bytes(area[4:_SIZE])
    text = bytes(area[_SIZE : _SIZE + length])
    return text if not length or zlib.crc32(text).to_bytes(4, "little") == checksum else None
