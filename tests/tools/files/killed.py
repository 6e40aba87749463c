"""A transaction that is killed after some of its renames, in a process of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.tools.files.shelf import Shelf
from tests.zygote import PYTHON

TIMES = 3
PROGRAM = """
import os, signal, sys
from pathlib import Path
from tests.tools.files.faulty_system import watched
from tests.tools.files.shelf import Shelf
shelf, left = Shelf(Path(sys.argv[1]), times=int(sys.argv[3])), int(sys.argv[2])
files = shelf.set_up()
def interfere(number, name, call, arguments):
    global left
    if name == "rename" and arguments[0].startswith(".failsoft-"):
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
with watched(interfere):
    shelf.change(files)
"""


def crash(folder: Path, renames: int) -> Shelf:
    """Change a shelf, and be killed after so many renames: 0 or 1."""
    command = [PYTHON, "-c", PROGRAM, folder / "shelf", str(renames), str(TIMES)]
    run = subprocess.run(command, check=False)
    assert run.returncode == -9
    return Shelf(folder / "shelf", times=TIMES)
