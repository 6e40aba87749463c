"""A process killed at any system call leaves the old or the new content, and the next process leaves no other."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.zygote import PYTHON

PROGRAM = Path(__file__).with_name("crashes.py")
STRIDE = 23


def crash(folder: Path, kind: str, stride: int) -> None:
    """Have a change die before each of its system calls, and its recovery before one in so many."""
    command = [PYTHON, PROGRAM, folder, kind, str(stride)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found.pop("wrong") == []
    assert found["crashes"] > 20
    assert found["back"] > 0
    assert found["forward"] > 0
    assert found["crashes while recovering"] > 0


def test_a_kill_at_any_system_call_leaves_the_old_file_or_the_new_one_and_nothing_else(tmp_path: Path) -> None:
    crash(tmp_path, "ALONE", STRIDE)
