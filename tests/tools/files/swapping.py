"""Another process that swaps a folder or a file for a link out, again and again, and what it must not reach."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MOVE_LINK", "SWAP_FILE", "SWAP_FOLDER", "Swapper", "made_tree", "outside", "swapping"]

_BEGINNING = """
import os, signal, sys
tree, outside = sys.argv[1:]
swaps = 0

def tell(*_):
    print(swaps, flush=True)
    os._exit(0)

signal.signal(signal.SIGTERM, tell)
"""

SWAP_FOLDER = """
os.chdir(tree)
os.symlink(outside, "link")
print("ready", flush=True)
while True:
    os.rename("place", "kept")      # the folder goes
    os.rename("link", "place")      # the way out stands in its place
    swaps += 1
    os.rename("place", "link")
    os.rename("kept", "place")
"""

SWAP_FILE = """
os.chdir(os.path.join(tree, "place"))
os.link("file", "kept")
print("ready", flush=True)
while True:
    os.symlink(os.path.join(outside, "file"), "link")
    os.rename("link", "file")
    swaps += 1
    os.link("kept", "again")
    os.rename("again", "file")
"""

MOVE_LINK = """
os.chdir(tree)
os.rename("place", "real")
print("ready", flush=True)
while True:
    for target in ("real", outside, "../outside", "/"):
        os.symlink(target, "new")
        os.rename("new", "place")
        swaps += 1
"""


@dataclass
class Swapper:
    """The other process, and, once it has ended, how often it put a way out in place."""

    process: subprocess.Popen[str]
    swaps: int = 0

    @property
    def is_at_it(self) -> bool:
        return self.process.poll() is None


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
    command = [sys.executable, "-c", _BEGINNING + script, str(tree), str(tree.parent / "outside")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        swapper = Swapper(process)
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield swapper
            assert swapper.is_at_it
            process.send_signal(signal.SIGTERM)
            swapper.swaps = int(process.stdout.readline())
        finally:
            process.kill()
