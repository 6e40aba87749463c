"""A folder that another process swaps for a link, again and again, never lets anything from outside in."""

from __future__ import annotations

import subprocess
from pathlib import Path

from failsoft import ToolError
from tests.doors import DocumentRoot, walk
from tests.zygote import PYTHON

ROUNDS = 100
"""Reads; `tests/slow/races` makes more."""

SWAP = """
import os, sys
tree, outside = sys.argv[1:]
os.chdir(tree)
os.symlink(outside, "link")
print("ready", flush=True)
for _ in range(int(1e9)):
    os.rename("place", "kept")      # the folder goes
    os.rename("link", "place")      # the way out stands in its place
    os.rename("place", "link")
    os.rename("kept", "place")
"""

SWAP_FILE = """
import os, sys
tree, outside = sys.argv[1:]
os.chdir(os.path.join(tree, "place"))
os.symlink(os.path.join(outside, "page.md"), "link")
os.link("page.md", "kept")
print("ready", flush=True)
for _ in range(int(1e9)):
    os.rename("link", "page.md")
    os.symlink(os.path.join(outside, "page.md"), "link")
    os.link("kept", "again")
    os.rename("again", "page.md")
"""


def race(tmp_path: Path, script: str, rounds: int) -> tuple[set[bytes], set[str]]:
    """Return what was read and which errors came while the script swaps."""
    tree, outside = tmp_path / "docs", tmp_path / "outside"
    for folder, text in ((tree / "place", "inside"), (outside, "outside")):
        folder.mkdir(parents=True)
        (folder / "page.md").write_text(text)
    root = DocumentRoot(tree)
    read: set[bytes] = set()
    codes: set[str] = set()
    with subprocess.Popen([PYTHON, "-c", script, tree, outside], stdout=subprocess.PIPE) as swapper:
        try:
            assert swapper.stdout is not None
            assert swapper.stdout.readline() == b"ready\n"
            for turn in range(rounds):
                try:
                    read.add(root.read(("place", "page.md")))
                except ToolError as error:
                    codes.add(error.code)
                if turn % 50 == 0:
                    assert all(entry.size == len("inside") for entry in walk(root))
            assert swapper.poll() is None
        finally:
            swapper.kill()
    return read, codes


def check_race(tmp_path: Path, script: str, rounds: int) -> None:
    read, codes = race(tmp_path, script, rounds)

    assert read == {b"inside"}
    assert codes <= {"DOC_NOT_FOUND", "PERMISSION_DENIED", "DOC_LOAD_ERROR"}


def test_a_folder_swapped_for_a_link_never_leads_out(tmp_path: Path) -> None:
    check_race(tmp_path, SWAP, ROUNDS)


def test_a_file_swapped_for_a_link_never_leads_out(tmp_path: Path) -> None:
    check_race(tmp_path, SWAP_FILE, ROUNDS)
