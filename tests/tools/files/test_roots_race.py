"""A folder or file that another process swaps for a link out, again and again: nothing outside is read or written."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from failsoft.tools.files import ChangedOnDisk, DiskFault, FileFault, Files, OutsideRoots, Roots
from tests.thorough import THOROUGH
from tests.tools.files.faulty_system import watched

ROUNDS = 10_000 if THOROUGH else 2_000
BOUND_S = 60

SWAP_FOLDER = """
import os, sys
tree, outside = sys.argv[1:]
os.chdir(tree)
os.symlink(outside, "link")
print("ready", flush=True)
while True:
    os.rename("place", "kept")      # the folder goes
    os.rename("link", "place")      # the way out stands in its place
    os.rename("place", "link")
    os.rename("kept", "place")
"""

SWAP_FILE = """
import os, sys
tree, outside = sys.argv[1:]
os.chdir(os.path.join(tree, "place"))
os.link("file", "kept")
print("ready", flush=True)
while True:
    os.symlink(os.path.join(outside, "file"), "link")
    os.rename("link", "file")
    os.link("kept", "again")
    os.rename("again", "file")
"""

MOVE_LINK = """
import os, sys
tree, outside = sys.argv[1:]
os.chdir(tree)
os.rename("place", "real")
print("ready", flush=True)
while True:
    for target in ("real", outside, "../outside", "/"):
        os.symlink(target, "new")
        os.rename("new", "place")
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder, text in ((tmp_path / "tree/place", "inside"), (tmp_path / "outside", "outside")):
        folder.mkdir(parents=True)
        (folder / "file").write_text(text)
    return tmp_path / "tree"


@contextmanager
def swapping(script: str, tree: Path) -> Iterator[None]:
    command = [sys.executable, "-c", script, tree, tree.parent / "outside"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as swapper:
        try:
            assert swapper.stdout is not None
            assert swapper.stdout.readline() == b"ready\n"
            yield
            assert swapper.poll() is None
        finally:
            swapper.kill()


def outside(tree: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in (tree.parent / "outside").iterdir()}


def race(files: Files, tree: Path) -> tuple[set[bytes], Counter[type[FileFault]]]:
    """Read and write by turns, until both worked and failed; return what was read, and the faults."""
    read: set[bytes] = set()
    faults: Counter[type[FileFault]] = Counter()
    path = str(tree / "place/file")
    new = str(tree / "place/new")
    until = time.monotonic() + BOUND_S
    for turn in itertools.count():
        if turn >= ROUNDS and ((read and faults) or time.monotonic() > until):
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
        except (DiskFault, OutsideRoots, ChangedOnDisk) as fault:
            faults[type(fault)] += 1
    return read, faults


@pytest.mark.slow
@pytest.mark.parametrize("script", [SWAP_FOLDER, SWAP_FILE, MOVE_LINK], ids=["folder", "file", "link"])
def test_nothing_outside_is_read_or_written(tree: Path, script: str) -> None:
    files = Files(Roots([tree]), state_folder=tree.parent / "state")

    with swapping(script, tree):
        read, faults = race(files, tree)

    assert read <= {b"inside", b"inside, by us"}
    assert read
    assert faults
    assert outside(tree) == {"file": "outside"}


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
