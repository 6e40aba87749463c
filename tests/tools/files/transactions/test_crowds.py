"""Many processes at the same files, some of them killed: nothing is mixed, nothing is lost, nothing is left over."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.thorough import THOROUGH

PROGRAM = Path(__file__).with_name("crowd.py")


def crowd(folder: Path, kind: str, writers: int, amount: int) -> int:
    """Return how much was done."""
    command = [sys.executable, PROGRAM, folder, kind, str(writers), str(amount)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["wrong"] == []
    return int(report["done"])


@pytest.mark.slow
def test_writers_that_are_killed_leave_transactions_whole_or_undone(tmp_path: Path) -> None:
    assert crowd(tmp_path / "crowd", "kill", 4, 2_000 if THOROUGH else 60) > 0


@pytest.mark.slow
def test_no_update_is_lost_among_processes(tmp_path: Path) -> None:
    writers, edits = (16, 1_000) if THOROUGH else (4, 50)

    assert crowd(tmp_path / "crowd", "count", writers, edits) >= writers * edits
