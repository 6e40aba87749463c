"""The threat model, and every other page, names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_promise_names_a_test_that_exists() -> None:
    page = (ROOT / "docs/explanation/security.md").read_text()
    rows = page.partition("| promise | test |")[2].partition("## ")[0].strip().splitlines()[1:]
    assert len(rows) > 10
    for row in rows:
        named = re.findall(r"`(tests/[^`]+)`", row)
        assert named, row
        assert [name for name in named if not (ROOT / name).is_file()] == []


def test_every_test_that_a_page_names_exists() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    named = {path for page in pages for path in re.findall(r"`(tests/[\w/.]+)`", page.read_text())}
    assert len(named) > 50
    assert sorted(path for path in named if not (ROOT / path).exists()) == []
