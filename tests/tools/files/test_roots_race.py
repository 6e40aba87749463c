"""A folder or file that another process swaps for a link out, again and again: nothing outside is read or written."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.doors import FileFault, Files, Roots
from tests.tools.files.faulty_system import watched
from tests.tools.files.swapping import MOVE_LINK, SWAP_FILE, SWAP_FOLDER, made_tree, outside, swapping

SCRIPTS = {"folder": SWAP_FOLDER, "file": SWAP_FILE, "link": MOVE_LINK}
BOUND_S = 60


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return made_tree(tmp_path)


def race(files: Files, tree: Path, rounds: int, enough_s: float) -> tuple[set[bytes], Counter[str]]:
    """Read and write by turns, so often or so long, until both worked and failed; return what was read, and the faults.

    A slow disk takes many milliseconds for each transaction: after some time fewer rounds will do.
    """
    read: set[bytes] = set()
    faults: Counter[str] = Counter()
    path = str(tree / "place/file")
    new = str(tree / "place/new")
    begun = time.monotonic()
    for turn in itertools.count():
        took_s = time.monotonic() - begun
        if took_s > BOUND_S or (read and faults and (turn >= rounds or took_s > enough_s)):
            break
        try:
            if turn % 4:
                read.add(files.read(path, bytes_at_most=100).data)
            elif turn % 8:
                with files.transaction([path]) as work:
                    read.add(work.read(path, bytes_at_most=100).data)
                    work.replace(path, b"inside", backup=True)
                    work.replace(path, b"inside, by us", backup=True)
                    work.commit()
            else:
                with files.transaction([new]) as work:
                    work.create(new, b"made")
                    work.commit()
        except FileFault as fault:
            if fault.errno is None and fault.kind not in {"outside", "changed", "unfinished"}:
                raise
            faults[fault.kind] += 1
    return read, faults


def nothing_outside_is_met(tree: Path, script: str, rounds: int, enough_s: float) -> None:
    """Hold what was read and written in a race to what lies inside."""
    files = Files(Roots([tree]), state_folder=tree.parent / "state")

    with swapping(script, tree):
        read, faults = race(files, tree, rounds, enough_s)

    assert read <= {b"inside", b"inside, by us"}
    assert read
    assert faults
    assert outside(tree) == {"file": "outside"}


@pytest.mark.parametrize("swapped", SCRIPTS)
def test_nothing_outside_is_read_or_written(tree: Path, swapped: str) -> None:
    nothing_outside_is_met(tree, SCRIPTS[swapped], rounds=100, enough_s=1)


@pytest.mark.parametrize("turn", range(4))
def test_a_file_swapped_for_a_link_right_before_it_is_opened_is_not_followed(tree: Path, turn: int) -> None:
    """At each opening of it in turn: for reading, for its mode and owner twice, for the last comparison."""
    files = Files(Roots([tree]), state_folder=tree.parent / "state")
    file = tree / "place/file"
    openings = 0
    contents: list[bytes] = []

    def interfere(number: int, name: str, call: Callable[..., object], arguments: tuple[object, ...]) -> None:
        nonlocal openings
        if name == "open" and arguments[0] == "file":
            openings += 1
            if openings == turn + 1:
                file.unlink()
                file.symlink_to(tree.parent / "outside/file")

    def change() -> None:
        with files.transaction([str(file)]) as work:
            contents.append(work.read(str(file), bytes_at_most=100).data)
            work.replace(str(file), b"new", backup=True)
            work.commit()

    with watched(interfere), pytest.raises(FileFault) as caught:
        change()

    assert openings > turn
    assert caught.value.effect == "none"
    assert set(contents) <= {b"inside"}
    assert outside(tree) == {"file": "outside"}
    assert not list(tree.glob("place/.*"))
