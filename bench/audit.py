"""What the audit log costs a failing call, and what sharing trips to the disk saves.

Calls are made on one event loop: one after the other; and by 64 callers at once. What auditing adds is counted in trips
to the disk, a write and an fdatasync of as many bytes; what sharing saves, by the same log with a trip for each entry.
Four processes that append to one log are measured besides.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from measure import Figure, benchmark, figure, ratios, us
from sample_tool import ARGUMENTS, Documents

from failsoft import AuditLog, Runtime
from failsoft.framework.audit.verify import verify
from failsoft.metrics import PrometheusRecorder

AT_ONCE = 64
PROCESSES = 4
ARGUMENT = ARGUMENTS["typed error"]
APPENDING = """
import asyncio, sys, time
from failsoft import AuditLog
async def main():
    log = AuditLog(sys.argv[1], wait_s=60)
    await log.open()
    began = time.perf_counter()
    for wave in range(int(sys.argv[2])):
        await asyncio.gather(*(log.record({"error_id": "0", "code": "X", "message": "m" * 300}) for _ in range(16)))
    print(time.perf_counter() - began)
asyncio.run(main())
"""


class Disk:
    """The yardstick: entries of the same size, each with its own trip to the disk.

    Args:
        folder: On the disk of the log.
        line: An entry.
    """

    def __init__(self, folder: Path, line: bytes) -> None:
        self._fd = os.open(folder / "yardstick", os.O_RDWR | os.O_APPEND | os.O_CREAT)
        self._line = line

    async def __call__(self) -> None:
        """Write an entry and wait for the disk."""
        os.write(self._fd, self._line)
        os.fdatasync(self._fd)


async def timed(work: Callable[[], Awaitable[object]], times: int) -> float:
    """Return the seconds that one of so many took, one after the other."""
    began = time.perf_counter()
    for _ in range(times):
        await work()
    return (time.perf_counter() - began) / times


class Unshared:
    """The same log with a trip to the disk for each entry: lock, chain and head, but no thread.

    Args:
        log: Where to.
        facts: An entry.
    """

    def __init__(self, log: AuditLog, facts: dict[str, Any]) -> None:
        self._file = log._new_file()  # noqa: SLF001 - what a user never needs
        self._facts = facts

    async def __call__(self) -> None:
        """Write an entry and wait for the disk."""
        self._file.append([self._facts], time.monotonic() + 60)


def processes(folder: Path, waves: int) -> float:
    """Return the seconds that an entry took where four processes append to one log."""
    path = Path(tempfile.mkdtemp(dir=folder)) / "shared.jsonl"  # a log of its own: the head of the last one is kept
    began = [
        subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-c", APPENDING, str(path), str(waves)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(PROCESSES)
    ]
    seconds = [float(process.communicate()[0]) for process in began]
    assert verify(path).is_whole  # noqa: S101 - figures of a broken log would mean nothing
    return max(seconds) / (PROCESSES * waves * 16)


@benchmark("The audit log", rounds=(15, 2), alone=(40, 5), waves=(8, 2))
async def measure(given: Any) -> list[Figure]:
    """Return the figures, ratios taken inside each round."""
    with tempfile.TemporaryDirectory() as folder:
        return await _measured(Path(folder), given.rounds, given.alone, given.waves)


async def _measured(folder: Path, rounds: int, alone: int, waves: int) -> list[Figure]:
    recorder = PrometheusRecorder()
    log = AuditLog(folder / "audit-log.jsonl")
    plain = Documents(runtime=Runtime(metrics=recorder)).operations["get_document"]
    audited = Documents(runtime=Runtime(metrics=recorder, audit=log)).operations["get_document"]
    await audited.call(ARGUMENT)
    line = (folder / "audit-log.jsonl").read_bytes()
    disk = Disk(folder, line)
    facts = {name: value for name, value in json.loads(line).items() if name not in {"alg", "hash", "prev", "seq"}}
    unshared = Unshared(log, facts)

    async def at_once(call: Callable[[], Awaitable[object]]) -> float:
        """Return the seconds that one call took while 64 callers made so many each, one after the other."""
        began = time.perf_counter()
        await asyncio.gather(*(timed(call, waves) for _ in range(AT_ONCE)))
        return (time.perf_counter() - began) / (AT_ONCE * waves)

    async def one_audited() -> None:
        await audited.call(ARGUMENT)

    async def one_plain() -> None:
        await plain.call(ARGUMENT)

    seen: dict[str, list[float]] = {}
    for _ in range(rounds):
        one = {
            "a trip to the disk": await timed(disk, alone),
            "an entry that shares none": await timed(unshared, alone),
            "a failing call": await timed(one_plain, alone),
            "an audited one": await timed(one_audited, alone),
            "64 at once, each": await at_once(one_audited),
            "64 entries alone, each": await at_once(lambda: log.record(facts)),
            "4 processes, each": processes(folder, waves),
        }
        for name, seconds in one.items():
            seen.setdefault(name, []).append(seconds)
    log.close()
    assert verify(log.path).is_whole  # noqa: S101 - as above
    trip, single, call, both, many, entries = (seen[name] for name in list(seen)[:6])
    added = [(after - before) / one for after, before, one in zip(both, call, trip, strict=True)]
    gain = [(before + one) / each for before, one, each in zip(call, single, many, strict=True)]
    return [
        *(figure(name, us(values), "us") for name, values in seen.items()),
        figure("what auditing adds to a failing call", added, "trips to the disk", goal="<= 1.5"),
        figure("64 failing calls at once", gain, "times one trip each, calls included"),
        figure("64 entries at once", ratios(single, entries), "times one trip each", goal=">= 10"),
        figure("4 processes, 16 at once in each", ratios(single, seen["4 processes, each"]), "times one trip each"),
    ]
