"""Words that a query excludes stay excluded when a query with a syntax error is put right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.docs.reader import reading

PAGES = {"a.md": "# A\n\nalpha beta\n", "b.md": "# B\n\nalpha gamma\n"}


@pytest.mark.parametrize("query", ["alpha NOT (beta", "alpha NOT beta AND", "NOT beta"])
def test_excluded_words_are_not_searched_for(tmp_path: Path, query: str) -> None:
    with reading(tmp_path, PAGES) as reader:
        answer = reader.ask("search_documents", query=query)
    found = [hit["path"] for hit in answer["data"]["results"]] if answer["success"] else []

    assert "a.md" not in found
