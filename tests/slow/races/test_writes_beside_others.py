"""Calls that write while another process swaps, changes or replaces the same files and folders."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slow.races.racing import CALLS, SCRIPTS, made, race
from tests.thorough import THOROUGH

ROUNDS = 2_000 if THOROUGH else 40
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder in which a fsync costs nothing, so that calls meet more changes


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    if not IN_MEMORY.is_dir():
        yield made(tmp_path)
        return
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        yield made(Path(folder))


@pytest.mark.parametrize("way", SCRIPTS)
@pytest.mark.parametrize("calls", CALLS)
def test_nothing_outside_is_met_nothing_of_others_is_lost_and_the_answer_is_true(
    tree: Path, calls: str, way: str
) -> None:
    with CALLS[calls](tree) as call:
        codes = race(tree, way, ROUNDS, call)

    assert sum(codes.values()) == ROUNDS
    assert "UNKNOWN_TOOL_FAILURE" not in codes
    assert "INVARIANT_VIOLATION" not in codes
