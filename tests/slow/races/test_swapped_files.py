"""A folder or file that another process swaps for a link out, thousands of times: nothing outside is read or made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.thorough import THOROUGH
from tests.tools.files.swapping import made_tree
from tests.tools.files.test_roots_race import SCRIPTS, nothing_outside_is_met
from tests.tools.workspace.test_path_race import WAYS, race_in_a_workspace

ROUNDS, ENOUGH_S = (10_000, 600) if THOROUGH else (2_000, 3)
SWAPS, CALLS = (10_000, 2_000) if THOROUGH else (1_000, 200)


@pytest.mark.parametrize("swapped", SCRIPTS)
def test_nothing_outside_the_roots_is_read_or_written(tmp_path: Path, swapped: str) -> None:
    nothing_outside_is_met(made_tree(tmp_path), SCRIPTS[swapped], ROUNDS, ENOUGH_S)


@pytest.mark.parametrize("swapped", WAYS)
def test_nothing_outside_the_workspace_is_read_listed_or_written(tmp_path: Path, swapped: str) -> None:
    race_in_a_workspace(tmp_path, swapped, SWAPS, CALLS)
