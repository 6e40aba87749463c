"""Run by itself: a transaction dies before each of its system calls, and so does its recovery; a reader looks on.

    python crashes.py FOLDER ALONE|TOGETHER STRIDE

Prints what went wrong, and how many crashes there were. A process of its own, because it forks.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.tools.files.faulty_system import dying_at, survives, watched
from tests.tools.files.shelf import NEW, OLD, Shelf

found: Counter[str] = Counter()
wrong: list[str] = []


def check(where: str, *, is_right: bool) -> None:
    found["checks"] += 1
    if not is_right:
        wrong.append(where)


def look_on(shelf: Shelf) -> None:
    """Read every file again and again until the parent is gone or says so: whole, old or new."""
    allowed = {name: {shelf.data(name, OLD), shelf.data(name, NEW)} for name in ("a", "b", "c")}
    while not (shelf.folder / "stop").exists() and os.getppid() == PARENT:
        for name, contents in allowed.items():
            try:
                seen = (shelf.root / name).read_bytes()
            except FileNotFoundError:
                assert name == "c"
                continue
            assert seen in contents, f"{name} is torn"
        time.sleep(0.0005)  # or it would take as much of the processor as the changes


def dies(shelf: Shelf, work: Callable[[], object], number: int) -> bool:
    """Return whether the work died before its n-th call."""

    def run() -> None:
        with watched(dying_at(number)):
            work()

    return not survives(run)


def crash_everywhere(shelf: Shelf, change: Callable[[Shelf], object], after: dict[str, bytes], stride: int) -> None:
    number = 0
    while True:
        number += 1
        shelf.set_up()
        if not dies(shelf, lambda: change(shelf), number):
            check("the whole change", is_right=shelf.seen() == after and not shelf.journals())
            return
        found["crashes"] += 1
        recover_everywhere(shelf, number, after, stride)


def recover_everywhere(shelf: Shelf, number: int, after: dict[str, bytes], stride: int) -> None:
    """Let the recovery die, too, and the recovery of that one."""
    again = number % stride + 1
    while dies(shelf, lambda: shelf.files().recover(), again):
        found["crashes while recovering"] += 1
        again += stride
    shelf.files().recover()
    seen = shelf.seen()
    outcome = "forward" if seen == after else "back" if seen == shelf.before else "mixed"
    found[outcome] += 1
    check(f"crash {number}: {outcome} {sorted(seen)}", is_right=outcome != "mixed" and not shelf.journals())


if __name__ == "__main__":
    PARENT = os.getpid()
    loading = Shelf(Path(sys.argv[1], "loading"))
    loading.change(loading.set_up())  # or each child would load what the first transaction loads
    shelf = Shelf(Path(sys.argv[1], "shelf"))
    shelf.set_up()
    reader = os.fork()
    if not reader:
        look_on(shelf)
        os._exit(0)
    if sys.argv[2] == "ALONE":
        crash_everywhere(shelf, lambda shelf: shelf.change_one(shelf.files()), shelf.after_one, int(sys.argv[3]))
    else:
        crash_everywhere(shelf, lambda shelf: shelf.change(shelf.files()), shelf.after, int(sys.argv[3]))
    (shelf.folder / "stop").touch()
    check("the reader", is_right=os.waitpid(reader, 0)[1] == 0)
    sys.stdout.write(json.dumps({"wrong": wrong, **found}))
