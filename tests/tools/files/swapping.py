"""Another process that swaps a folder or a file for a link out, again and again, and what it must not reach."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.zygote import PYTHON

__all__ = [
    "EXCHANGE_FOLDER",
    "MOVE_LINK",
    "SWAP_FILE",
    "SWAP_FOLDER",
    "Swapper",
    "made_tree",
    "outside",
    "swapping",
]

_BEGINNING = """
import mmap, os, sys
tree, outside, counter = sys.argv[1:]
with open(counter, "r+b") as file:
    shared = mmap.mmap(file.fileno(), 8)

def swapped():
    shared[:] = (int.from_bytes(shared[:], "little") + 1).to_bytes(8, "little")

"""

SWAP_FOLDER = """
os.chdir(tree)
os.symlink(outside, "link")
print("ready", flush=True)
while True:
    os.rename("place", "kept")      # the folder goes
    os.rename("link", "place")      # the way out stands in its place
    swapped()
    os.rename("place", "link")
    os.rename("kept", "place")
"""

EXCHANGE_FOLDER = """
import ctypes
rename = ctypes.CDLL(None, use_errno=True).renameat2
here, exchange = -100, 2
os.chdir(tree)
os.symlink(outside, "link")
print("ready", flush=True)
while True:                         # in one step, so that nobody who makes folders finds none in place
    if rename(here, b"place", here, b"link", exchange):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    swapped()
    rename(here, b"place", here, b"link", exchange)
"""

SWAP_FILE = """
os.chdir(os.path.join(tree, "place"))
os.link("file", "kept")
print("ready", flush=True)
while True:
    os.symlink(os.path.join(outside, "file"), "link")
    os.rename("link", "file")
    swapped()
    os.link("kept", "again")
    os.rename("again", "file")
    if os.path.lexists("again"):        # put back meanwhile: a rename between two names of one file does nothing
        os.unlink("again")
"""

MOVE_LINK = """
os.chdir(tree)
os.rename("place", "real")
print("ready", flush=True)
while True:
    for target in ("real", outside, "../outside", "/"):
        os.symlink(target, "new")
        os.rename("new", "place")
        swapped()
"""


@dataclass(frozen=True)
class Swapper:
    """The other process."""

    process: subprocess.Popen[str]
    counter: Path

    @property
    def swaps(self) -> int:
        """How often it has put a way out in place."""
        return int.from_bytes(self.counter.read_bytes(), "little")


def made_tree(folder: Path, *, inside: str = "inside", outside: str = "outside") -> Path:
    """Return a new tree with `place/file` in it, and a folder `outside` beside it with a file of the same name."""
    for place, text in ((folder / "tree/place", inside), (folder / "outside", outside)):
        place.mkdir(parents=True)
        (place / "file").write_text(text)
    return folder / "tree"


def outside(tree: Path) -> dict[str, str]:
    """Return what lies outside now."""
    return {file.name: file.read_text() for file in (tree.parent / "outside").iterdir()}


@contextmanager
def swapping(script: str, tree: Path) -> Iterator[Swapper]:
    """Have a script at work, which must not come to an end by itself."""
    counter = tree.parent / "swaps"
    counter.write_bytes(bytes(8))
    command = [PYTHON, "-c", _BEGINNING + script, str(tree), str(tree.parent / "outside"), str(counter)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield Swapper(process, counter)
            assert process.poll() is None
        finally:
            process.terminate()
