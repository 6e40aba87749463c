"""The public API changes only on purpose, and the reference pages agree with the code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import failsoft


def test_what_is_generated_from_the_code_is_up_to_date(root: Path) -> None:
    checked = subprocess.run(
        [sys.executable, "scripts/reference.py", "--check"], cwd=root, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_face_is_sorted_and_every_name_leads_somewhere() -> None:
    assert list(failsoft.__all__) == sorted(failsoft.__all__)
    assert [name for name in failsoft.__all__ if not hasattr(failsoft, name)] == []
    assert set(failsoft.__all__) <= set(dir(failsoft))


def test_at_most_a_hundred_names_are_at_the_top() -> None:
    assert len(failsoft.__all__) <= 100
