"""The board of a worker: a file of fixed size with heartbeat, numbers, gauges and last calls, read by every other."""

from __future__ import annotations

import json
import mmap
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from failsoft.framework.clock import utc_timestamp
from failsoft.metrics.definitions import BY_NAME, INFLIGHT, LOOP_LAG
from failsoft.metrics.values import Numbers, Row, RowLog, added, read, write

if TYPE_CHECKING:
    from filelock import BaseFileLock

CALLS_AT_MOST = 200
"""How many failed and recovered calls a board keeps."""
_CALL_BYTES, _ENDS = 2_048, 20
_HEAD, _STATUS, _NAMES, _CELLS, _GAUGES = 64, 8_128, 2 << 20, 2 << 20, 256 << 10
"""Bytes of the parts, in this order, with the calls last: room for about 7,000 operations."""
_SIZE = _HEAD + _STATUS + _NAMES + _CELLS + _GAUGES + CALLS_AT_MOST * _CALL_BYTES
_PID, _SLOT, _BEAT, _NOTED, _RESTARTS = range(5)
"""The numbers of the head: of 8 bytes each, so that none is ever half written."""
LATE_S = 1.0
"""From which age of its last beat on, in seconds, the event loop of a worker is blocked."""
_SUFFIX, _RETIRED = ".board", "retired.json"
_ATTEMPTS = 3
_GAUGES_EVERY_NS = 500_000_000

Gauge = tuple[str, tuple[str, ...], float]
"""The metric, the values of its labels, and the number."""


class Board:
    """What one process tells all others of its server: written without waiting, and readable after its death."""

    def __init__(self, memory: mmap.mmap, file: Path | None = None, lock: BaseFileLock | None = None) -> None:
        self.parts = _Parts(memory)
        self._held = lock
        self._told: dict[str, Any] = {"phase": "", "running": "", "failing": {}, "ends": []}
        self._status, self._gauges_at = "", 0
        self._writing = threading.Lock()
        self._noted: deque[dict[str, Any]] = deque(maxlen=CALLS_AT_MOST)
        self.file = file
        self.numbers = Numbers() if file is None else Numbers(self.parts.names, self.parts.cells)
        self.gauges: list[Callable[[], Iterable[Gauge]]] = []
        """Return the gauges of this process; called by beats."""
        self.server = Boards(None if file is None else file.parent, self)

    @classmethod
    def create(cls, folder: Path | None, *, slot: int, restarts: int = 0) -> Board:
        """Make the board of this process, which is alive for as long as it holds the lock.

        Args:
            folder: Where the boards of the server are; None keeps it in the memory of this process.
            slot: The number of the worker, from 0, which its successor takes over; -1 for the supervisor.
            restarts: How many processes had this slot before.
        """
        if folder is None:
            board = cls(mmap.mmap(-1, _SIZE))
        else:
            file = folder / f"{slot}-{os.getpid()}-{time.monotonic_ns()}{_SUFFIX}"
            lock = _lock_of(file)
            lock.acquire()
            with file.open("xb+") as made:
                _reserve(made.fileno())
                board = cls(mmap.mmap(made.fileno(), _SIZE), file, lock)
        head = board.parts.head
        head[_SLOT], head[_BEAT], head[_RESTARTS] = slot, time.monotonic_ns(), restarts
        head[_PID] = os.getpid()  # readers pass over a board without it
        return board

    def beat(self, *, phase: str) -> None:
        """Tell that the event loop runs, and the gauges if those there are older than half a second.

        Args:
            phase: That of the server.
        """
        self.show_calls()
        with self._writing:
            self._tell(phase=phase[:100], running="")
            self.parts.head[_BEAT] = now = time.monotonic_ns()
            if self.file is not None and now >= self._gauges_at:
                self._gauges_at = now + _GAUGES_EVERY_NS
                gauges = [gauge for read in self.gauges for gauge in read()]
                write(self.parts.gauges, _fitting(gauges, len(self.parts.gauges)))

    def note_running(self, operation: str) -> None:
        """Tell which operation keeps the event loop from running; that is no beat."""
        with self._writing:
            self._tell(running=operation[:300])

    def note_failing(self, name: str, why: str | None) -> None:
        """Tell that a part of this process fails (`audit`, say), and why; or, with None, that it works."""
        with self._writing:
            others = {other: found for other, found in self._told["failing"].items() if other != name}
            if why is not None:
                since, _ = self._told["failing"].get(name, (utc_timestamp(), ""))
                others[name] = [since, why[:300]]
            self._tell(failing=others)

    def note_end(self, reason: str) -> None:
        """Tell that a worker has ended now, and why; for the supervisor only."""
        with self._writing:
            self._tell(ends=[*self._told["ends"], [utc_timestamp(), reason]][-_ENDS:])

    def note_call(self, record: dict[str, Any]) -> None:
        """Keep the facts about a failed or recovered call, the newest 200; the next beat shows them."""
        self._noted.append({"at": time.time_ns(), "record": record})

    def show_calls(self) -> None:
        """Write the noted calls, each in place of the oldest; values that do not fit are cut."""
        with self._writing:
            while self._noted:
                text = json.dumps(entry := self._noted.popleft(), default=str, ensure_ascii=False).encode(
                    errors="replace"
                )
                if len(text) > _CALL_BYTES - 8:
                    entry["record"] = {key: _cut(value) for key, value in entry["record"].items()}
                    text = json.dumps(entry, default=str).encode()
                if len(text) <= _CALL_BYTES - 8:
                    number = self.parts.head[_NOTED]
                    write(self.parts.call(number % CALLS_AT_MOST), text)
                    self.parts.head[_NOTED] = number + 1

    def _tell(self, **changed: Any) -> None:
        self._told |= changed
        status = json.dumps(self._told, ensure_ascii=False)
        if status != self._status:
            self._status = status
            write(self.parts.status, status.encode(errors="replace"))


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """A process of the server, as its board shows it.

    Args:
        pid: Its process id.
        slot: Its number, -1 for the supervisor.
        phase: The phase that it told last; empty before its first beat.
        beat_age_s: How long ago that was, or its start, in seconds.
        running: The operation that keeps its event loop from running, as it told last.
        is_alive: Whether the process is there.
        restarts: How many processes had its slot before.
        in_flight: Calls that are running in it.
        lag_s: How late its event loop is, in seconds.
        failing: What of it fails, by name: since when, and why.
        ends: When workers ended, oldest first, and why; of the supervisor only.
    """

    pid: int
    slot: int
    phase: str
    beat_age_s: float
    running: str
    is_alive: bool
    restarts: int = 0
    in_flight: int = 0
    lag_s: float = 0.0
    failing: Mapping[str, list[str]] = field(default_factory=dict)
    ends: Sequence[list[str]] = ()


class Boards:
    """All boards of a server, for its supervisor, scrapes and pages.

    Args:
        folder: The folder given to `Board.create`; None: only the board of this process.
        own: That board; by default the one that this process uses.
    """

    def __init__(self, folder: Path | None = None, own: Board | None = None) -> None:
        self._folder, self._own = folder, own
        self._known: dict[str, _Seen] = {}
        self._lock = threading.Lock()

    def workers(self, *, loads: bool = False) -> list[WorkerFacts]:
        """Return the processes whose boards were not retired, by slot; with `in_flight` and `lag_s` if `loads`."""
        with self._lock:
            found = (seen.facts(loads=loads) for seen in self._boards())
            return sorted(found, key=lambda facts: (facts.slot, facts.pid))

    def calls(self) -> list[dict[str, Any]]:
        """Return the last failed and recovered calls of all processes, newest first, at most 200."""
        if (own := self._own or _in_use) is not None:
            own.show_calls()
        with self._lock:
            found = [entry for seen in self._boards() for entry in seen.calls()]
        found.sort(key=lambda entry: entry["at"], reverse=True)
        return [entry["record"] for entry in found[:CALLS_AT_MOST]]

    def rows(self, *, others: bool = False) -> list[Row]:
        """Return what all processes counted, dead ones included, and what living ones have now.

        The numbers of living processes change while they are read.

        Args:
            others: Whether to leave out the board of this process.
        """
        with self._lock:
            retired = self._retired()
            while True:
                rows = [*retired.rows, *self._counted(self._boards(retired.files), others=others)]
                before, retired = retired, self._retired()
                if before.files == retired.files:  # else a board may be missing, or counted twice
                    return rows

    def gauges(self) -> list[Gauge]:
        """Return the gauges of the other processes that are alive, as they were at their last beat."""
        with self._lock:
            others = [seen for seen in self._boards() if seen.pid != os.getpid() and seen.is_alive()]
            return [gauge for seen in others for gauge in seen.gauges()]

    def retire(self, slot: int) -> None:
        """Keep the counts of a slot, whose processes are all dead, and remove their boards; for the supervisor only."""
        if self._folder is None:
            return
        with self._lock:
            retired = self._retired()
            dead = [seen for seen in self._boards(retired.files) if seen.slot == slot]
            if not dead:
                return
            totals = added([*retired.rows, *(row for seen in dead for row in seen.log.rows())])
            rows = [[name, labels, values] for (name, labels), values in totals.items() if BY_NAME[name].is_counted]
            left = [name for name in retired.files if (self._folder / name).exists()]
            files = [*left, *(seen.file.name for seen in dead)]
            kept = self._folder / _RETIRED
            making = kept.with_suffix(".new")
            making.write_text(json.dumps({"files": files, "rows": rows}))
            making.replace(kept)
            for seen in dead:
                self._known.pop(seen.file.name, None)
                with suppress(OSError):
                    seen.file.unlink()
                    _lock_file(seen.file).unlink()

    def _boards(self, left_out: Container[str] = ()) -> list[_Seen]:
        """Return what the folder has, apart from retired boards; each is mapped once."""
        if self._folder is None:
            own = self._own or _in_use
            return [] if own is None else [_Seen(own.parts, log=own.numbers)]
        found = {file.name: file for file in self._folder.glob(f"*{_SUFFIX}") if file.name not in left_out}
        for name in self._known.keys() - found.keys():
            del self._known[name]
        for name in found.keys() - self._known.keys():
            with suppress(OSError, ValueError), found[name].open("rb") as opened:  # it may be gone, or not whole yet
                parts = _Parts(mmap.mmap(opened.fileno(), _SIZE, access=mmap.ACCESS_READ))
                if parts.head[_PID]:
                    self._known[name] = _Seen(parts, found[name])
        return list(self._known.values())

    def _counted(self, boards: Iterable[_Seen], *, others: bool) -> Iterator[Row]:
        for seen in boards:
            if not (others and seen.pid == os.getpid()):
                is_alive = seen.is_alive()
                yield from (row for row in seen.log.rows() if is_alive or BY_NAME[row.name].is_counted)

    def _retired(self) -> _Retired:
        try:
            kept = json.loads((self._folder / _RETIRED).read_bytes()) if self._folder is not None else None
        except OSError:
            kept = None
        if kept is None:
            return _Retired([], [])
        return _Retired(kept["files"], [Row(name, tuple(labels), values) for name, labels, values in kept["rows"]])


class _Retired(NamedTuple):
    files: list[str]
    rows: list[Row]


class _Seen:
    """A board of any process, as it is read."""

    def __init__(self, parts: _Parts, file: Path | None = None, log: Numbers | None = None) -> None:
        self._parts = parts
        self._gauges: list[Gauge] = []
        self.file = file or Path()
        self.log: Numbers | RowLog = log or RowLog(parts.names, parts.cells)
        self.pid, self.slot = parts.head[_PID], parts.head[_SLOT]

    def is_alive(self) -> bool:
        """Return whether the process holds the lock of its board."""
        return self.pid == os.getpid() or _is_locked(self.file)

    def facts(self, *, loads: bool) -> WorkerFacts:
        told = json.loads(_whole(self._parts.status) or b"{}")
        phase = told.get("phase", "")
        age_s = max(0.0, (time.monotonic_ns() - self._parts.head[_BEAT]) / 1e9)
        lags = (value for name, _, value in self.gauges() if name == LOOP_LAG.name)
        return WorkerFacts(
            self.pid,
            self.slot,
            phase,
            age_s,
            told.get("running", ""),
            self.is_alive(),
            self._parts.head[_RESTARTS],
            int(sum(row.values[0] for row in self.log.rows() if row.name == INFLIGHT.name)) if loads else 0,
            (age_s if age_s > LATE_S else next(lags, age_s)) if loads and phase else 0.0,
            told.get("failing", {}),
            told.get("ends", ()),
        )

    def gauges(self) -> list[Gauge]:
        text = _whole(self._parts.gauges)
        if text is not None:
            found = json.loads(text or b"[]")
            self._gauges = [(name, tuple(labels), value) for name, labels, value in found]
        return self._gauges

    def calls(self) -> Iterator[dict[str, Any]]:
        for number in range(min(self._parts.head[_NOTED], CALLS_AT_MOST)):
            if text := read(self._parts.call(number)):
                yield json.loads(text)


class _Parts:
    """The parts of a board's memory."""

    def __init__(self, memory: mmap.mmap) -> None:
        parts: list[memoryview[int]] = []
        begin = 0
        for size in (_HEAD, _STATUS, _NAMES, _CELLS, _GAUGES, CALLS_AT_MOST * _CALL_BYTES):
            parts.append(memoryview(memory)[begin : begin + size])
            begin += size
        head, self.status, self.names, cells, self.gauges, self._calls = parts
        self.head, self.cells = head.cast("q"), cells.cast("d")

    def call(self, number: int) -> memoryview:
        return self._calls[number * _CALL_BYTES : (number + 1) * _CALL_BYTES]


_in_use: Board | None = None


def use(board: Board | None) -> None:
    """Let the metrics of this process be on a board, from the first recorder on that is made after this."""
    global _in_use  # noqa: PLW0603 - a process has one board, whoever makes its runtimes
    _in_use = board


def in_use() -> Board | None:
    """Return the board of this process, if it has one."""
    return _in_use


def _reserve(file: int) -> None:
    """Give a file its size, and its blocks at once: a write to a mapped file on a full disk would end the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, _SIZE)
    else:
        os.truncate(file, _SIZE)


def _lock_of(file: Path) -> BaseFileLock:
    from filelock import FileLock  # noqa: PLC0415 - 20 ms, with several workers only

    return FileLock(_lock_file(file))


def _lock_file(file: Path) -> Path:
    return file.with_suffix(".lock")


def _is_locked(file: Path) -> bool:
    from filelock import Timeout  # noqa: PLC0415 - as above

    try:
        with _lock_of(file).acquire(timeout=0):
            return False
    except Timeout:
        return True


def _whole(area: memoryview) -> bytes | None:
    """Return what was written to an area, or None if it changes all the time."""
    return next((text for _ in range(_ATTEMPTS) if (text := read(area)) is not None), None)


def _fitting(found: list[Gauge], at_most: int) -> bytes:
    """Return the gauges as JSON, the first ones if not all of them fit."""
    while len(text := json.dumps(found).encode()) > at_most - 8:
        del found[len(found) // 2 :]
    return text


def _cut(value: Any) -> Any:
    return value if isinstance(value, int | float | bool | None) else str(value)[:100]
