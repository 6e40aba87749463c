"""A user's `response.data` has a type, for both checkers that people use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_the_answer_of_an_operation_is_typed(root: Path, checker: str) -> None:
    checked = subprocess.run(
        [sys.executable, "-m", checker, "tests/typing/check_types.py"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
