"""A process killed at any system call leaves the old or the new content, and the next process leaves no other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.thorough import THOROUGH

PROGRAM = Path(__file__).with_name("crashes.py")


def crash(folder: Path, kind: str, stride: int) -> dict[str, int]:
    run = subprocess.run(
        [sys.executable, PROGRAM, folder, kind, str(stride)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found.pop("wrong") == []
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ALONE", "TOGETHER"])
def test_a_kill_at_any_system_call_leaves_all_old_or_all_new_and_nothing_else(tmp_path: Path, kind: str) -> None:
    found = crash(tmp_path / "shelf", kind, 1 if THOROUGH else 23)

    assert found["crashes"] > 20
    assert found["back"] > 0
    assert found["forward"] > 0
    assert found["crashes while recovering"] > 0
