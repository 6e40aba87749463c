"""Kills writers of one log again and again, and looks each time whether everything acknowledged is there.

    python kill_loop.py FOLDER ROUNDS [WRITERS]

Writers are forked, so that a round costs milliseconds; each acknowledges through a pipe what `record` has returned for.
Prints one JSON object: what was acknowledged, what was found, and how often the end was torn.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import select
import signal
import sys
from pathlib import Path

from failsoft import AuditLog
from tests.doors import audit_entries as entries, verify

AT_ONCE = 4


def write_for_ever(path: Path, name: str, pipe: int) -> None:
    """Append until killed, four entries at once."""

    async def run() -> None:
        log = AuditLog(path, max_bytes=200_000, wait_s=60)

        async def one(number: int) -> None:
            # Entries of very different sizes: a large batch takes the system several steps to copy.
            await log.record({"error_id": f"{name}.{number}", "message": "x" * random.choice((10, 1_000, 20_000))})  # noqa: S311 - no secret
            os.write(pipe, f"{name}.{number}\n".encode())

        for first in itertools.count(0, AT_ONCE):
            await asyncio.gather(*(one(first + more) for more in range(AT_ONCE)))

    asyncio.run(run())


def one_round(path: Path, number: int, writers: int) -> set[str]:
    """Start writers, kill all of them after some acknowledgments, and return those."""
    reading, writing = os.pipe()
    children = []
    for writer in range(writers):
        child = os.fork()
        if child == 0:
            try:
                os.close(reading)
                write_for_ever(path, f"{number}.{writer}", writing)
            finally:
                os._exit(1)
        children.append(child)
    os.close(writing)
    seen, wanted = b"", random.randint(1, 6 * writers)  # noqa: S311 - the same
    while seen.count(b"\n") < wanted:
        ready, _, _ = select.select([reading], [], [], 60)
        block = os.read(reading, 65_536) if ready else b""
        if not block:
            break  # nobody writes: what is missing then shows in the figures
        seen += block
    random.shuffle(children)
    for child in children:
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)
    while block := os.read(reading, 65_536):
        seen += block
    os.close(reading)
    return set(seen.decode().split("\n")[:-1])


def is_torn(path: Path) -> bool:
    """Return whether the log ends in half a line."""
    return path.exists() and path.read_bytes()[-1:] not in {b"", b"\n"}


def main() -> None:
    """Run the rounds and print what came of them."""
    folder, rounds, writers = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 8
    path = folder / "audit-log.jsonl"
    acknowledged: set[str] = set()
    torn = 0
    broken = ""
    for number in range(rounds):
        reported = one_round(path, number, writers)
        acknowledged |= reported
        torn += is_torn(path)
        AuditLog(path).check()  # looks through the file that is written; all of them are looked through at the end
        if is_torn(path) or not reported:
            broken = f"in round {number}"
            break
    broken = broken or str(verify(path).broken or "")
    found = list(entries(path))
    ids = [entry["error_id"] for entry in found if entry.get("event") != "repair"]
    print(  # noqa: T201 - what the test reads
        json.dumps(
            {
                "acknowledged": len(acknowledged),
                "missing": len(acknowledged - set(ids)),
                "entries": len(ids),
                "twice": len(ids) - len(set(ids)),
                "in_order": [entry["seq"] for entry in found] == list(range(1, len(found) + 1)),
                "torn": torn,
                "dropped": sum(entry.get("event") == "repair" for entry in found),
                "broken": broken,
            }
        )
    )


if __name__ == "__main__":
    main()
