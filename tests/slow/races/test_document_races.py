"""Folders and files that another process swaps for links while documents are read, at length."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.thorough import THOROUGH
from tests.tools.docs.documents.test_root_race import SWAP, SWAP_FILE, check_race


@pytest.mark.parametrize("script", [SWAP, SWAP_FILE], ids=["folder", "file"])
def test_what_is_swapped_for_a_link_never_leads_out(tmp_path: Path, script: str) -> None:
    check_race(tmp_path, script, 4_000 if THOROUGH else 800)
