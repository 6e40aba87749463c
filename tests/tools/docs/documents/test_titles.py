"""The title of a page, and values of front matter that are plain text."""

from __future__ import annotations

from pathlib import Path

from tests.tools.docs.reader import reading


def test_the_title_is_the_text_of_the_first_heading(tmp_path: Path) -> None:
    with reading(tmp_path, {"a.md": "# The _common_ *API* &amp; `x_y`\n"}) as reader:
        assert reader.read("a.md")["title"] == "The common API & x_y"


def test_an_equals_sign_is_a_value(tmp_path: Path) -> None:
    with reading(tmp_path, {"a.md": "---\ntitle: Assignment\noperator: =\n---\n# A\n"}) as reader:
        assert reader.read("a.md")["front_matter"] == {"title": "Assignment", "operator": "="}
