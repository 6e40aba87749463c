"""Transactions on files whose processes are killed, alone and in crowds, on a disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.thorough import THOROUGH
from tests.tools.files.test_crashes import STRIDE, crash
from tests.tools.files.test_crowds import crowd


@pytest.mark.parametrize("kind", ["ALONE", "TOGETHER"] if THOROUGH else ["TOGETHER"])  # alone in every run of the tests
def test_a_kill_at_any_system_call_leaves_all_old_or_all_new_and_nothing_else(tmp_path: Path, kind: str) -> None:
    crash(tmp_path, kind, 1 if THOROUGH else STRIDE)


def test_writers_that_are_killed_leave_transactions_whole_or_undone(tmp_path: Path) -> None:
    assert crowd(tmp_path / "crowd", "kill", 4, 2_000 if THOROUGH else 60) > 0


def test_no_update_is_lost_in_a_crowd_of_processes(tmp_path: Path) -> None:
    writers, edits = (16, 1_000) if THOROUGH else (4, 50)

    assert crowd(tmp_path / "crowd", "count", writers, edits) >= writers * edits
