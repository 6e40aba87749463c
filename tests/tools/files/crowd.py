"""Run by itself: many processes at the same files.

    python crowd.py FOLDER kill WRITERS KILLS    writers are killed at random moments, over and over
    python crowd.py FOLDER count WRITERS EDITS   writers add one to numbers in files, so many times each

Prints what went wrong, and how much was done. A process of its own, because it forks.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import signal
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.doors import Files, Roots

GROUPS, TOGETHER = 6, 4
COUNTERS = 50
LIMIT = 1_000_000
PATIENCE_S = 120.0
REPEATED = 1_000

folder, kind, writers, amount = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
root = folder / "root"
done = mmap.mmap(-1, 8 * writers)
chance = random.SystemRandom()


def files() -> Files:
    return Files(Roots([root]), state_folder=folder / "state")


def note(writer: int) -> None:
    (count,) = struct.unpack_from("q", done, 8 * writer)
    struct.pack_into("q", done, 8 * writer, count + 1)


def total() -> int:
    return sum(struct.unpack(f"{writers}q", done[:]))


def forked(work: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def rewrite_groups(writer: int) -> None:
    """Give all files of a group the same new content, in one transaction after another, until killed."""
    mine = files()
    while True:
        group = chance.randrange(GROUPS)
        paths = [str(root / f"group-{group}-{number}") for number in range(TOGETHER)]
        chance.shuffle(paths)
        word = chance.randbytes(8) * REPEATED
        with mine.transaction(paths, wait_s=PATIENCE_S) as work:
            contents = {work.read(path, bytes_at_most=LIMIT).data for path in paths}
            assert len(contents) == 1, "a transaction was seen half done"
            for path in paths:
                work.replace(path, word)
            work.commit()
        note(writer)


def add_up(writer: int) -> None:
    mine = files()
    for _ in range(amount):
        paths = [str(root / f"counter-{number}") for number in chance.sample(range(COUNTERS), chance.choice((1, 1, 3)))]
        with mine.transaction(paths, wait_s=PATIENCE_S) as work:
            for path in paths:
                work.replace(path, b"%d" % (int(work.read(path, bytes_at_most=LIMIT).data) + 1))
            work.commit()
        for _path in paths:
            note(writer)


def kill_again_and_again() -> list[str]:
    wrong = []
    running = {writer: forked(lambda writer=writer: rewrite_groups(writer)) for writer in range(writers)}
    for _ in range(amount):
        time.sleep(chance.uniform(0.0, 0.03))
        writer = chance.randrange(writers)
        os.kill(running[writer], signal.SIGKILL)
        if os.WTERMSIG(os.waitpid(running[writer], 0)[1]) != signal.SIGKILL:
            wrong.append("a writer failed")
        running[writer] = forked(lambda writer=writer: rewrite_groups(writer))
    for child in running.values():
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    files().recover()
    contents = [{file.read_bytes() for file in root.glob(f"group-{group}-*")} for group in range(GROUPS)]
    return [*wrong, *(f"group {group} is mixed" for group, found in enumerate(contents) if len(found) != 1)]


def count_up() -> list[str]:
    running = [forked(lambda writer=writer: add_up(writer)) for writer in range(writers)]
    wrong = ["a writer failed" for child in running if os.waitpid(child, 0)[1]]
    counted = sum(int(file.read_bytes()) for file in root.glob("counter-*"))
    return wrong if counted == total() else [*wrong, f"{total()} updates, {counted} left"]


if __name__ == "__main__":
    root.mkdir(parents=True)
    for group in range(GROUPS):
        for number in range(TOGETHER):
            (root / f"group-{group}-{number}").write_bytes(b"original" * REPEATED)
    for number in range(COUNTERS):
        (root / f"counter-{number}").write_bytes(b"0")
    with Files(Roots([root]), state_folder=folder / "loading").transaction([str(root / "counter-0")]):
        pass  # or each child would load what the first transaction loads
    began = time.monotonic()
    wrong = kill_again_and_again() if kind == "kill" else count_up()
    wrong += [f"left over: {file.name}" for file in root.iterdir() if file.name.startswith(".")]
    wrong += [f"left over: {file.name}" for file in (folder / "state/journals").iterdir()]
    report = {"wrong": wrong, "done": total(), "seconds": round(time.monotonic() - began, 1)}
    sys.stdout.write(json.dumps(report))
