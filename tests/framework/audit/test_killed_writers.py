"""Eight writers of one log, killed again and again: what was acknowledged is there, and what was dropped is said."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.zygote import PYTHON

ROUNDS = 1_000 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 15


def test_what_was_acknowledged_survives_every_kill_and_what_was_dropped_is_said(tmp_path: Path) -> None:
    shared = Path("/dev/shm")  # noqa: S108 - a disk that answers at once: more is written before the kill
    folder = tmp_path if not os.access(shared, os.W_OK) else shared / f"failsoft-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    try:
        done = subprocess.run(
            [PYTHON, "-W", "ignore", str(Path(__file__).with_name("kill_loop.py")), str(folder), str(ROUNDS)],
            capture_output=True,
            text=True,
            timeout=1_800,
            check=False,
        )
    finally:
        for file in folder.iterdir():
            file.unlink()
        if folder != tmp_path:
            folder.rmdir()
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["acknowledged"] > ROUNDS
    assert (found["missing"], found["twice"], found["in_order"], found["broken"]) == (0, 0, True, "")
    assert found["dropped"] <= found["torn"] <= ROUNDS
