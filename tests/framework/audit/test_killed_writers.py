"""Eight writers of one log, killed again and again: what was acknowledged is there, and what was dropped is said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.zygote import PYTHON

ROUNDS = 3  # more: tests/slow/crashes


def test_what_was_acknowledged_survives_every_kill_and_what_was_dropped_is_said(tmp_path: Path) -> None:
    hold(tmp_path, ROUNDS)


def hold(tmp_path: Path, rounds: int) -> None:
    """Kill the writers of a log so many times, and look through it."""
    shared = Path("/dev/shm")  # noqa: S108 - a disk that answers at once: more is written before the kill
    folder = Path(tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else tmp_path))
    try:
        done = subprocess.run(
            [PYTHON, "-W", "ignore", str(Path(__file__).with_name("kill_loop.py")), str(folder), str(rounds)],
            capture_output=True,
            text=True,
            timeout=1_800,
            check=False,
        )
    finally:
        shutil.rmtree(folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["acknowledged"] > rounds
    assert (found["missing"], found["twice"], found["in_order"], found["broken"]) == (0, 0, True, "")
    assert found["dropped"] <= found["torn"] <= rounds
