"""The public API changes only where somebody meant it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import failsoft


def test_the_public_names_are_those_on_record(root: Path) -> None:
    checked = subprocess.run(
        [sys.executable, "scripts/public_api.py", "--check"], cwd=root, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_face_is_sorted_and_every_name_leads_somewhere() -> None:
    assert list(failsoft.__all__) == sorted(failsoft.__all__)
    assert [name for name in failsoft.__all__ if not hasattr(failsoft, name)] == []
    assert set(failsoft.__all__) <= set(dir(failsoft))
