"""The pages on strategies: one for each, with every option and its default, and what they show can be written so."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

import failsoft.recovery
from tests.doors import STRATEGIES, read_configuration

NAMES = sorted(STRATEGIES)


@pytest.fixture
def pages(root: Path) -> Path:
    return root / "docs" / "reference" / "strategies"


def test_there_is_a_page_for_each_strategy_and_nothing_else(pages: Path) -> None:
    assert sorted(page.stem for page in pages.glob("*.md")) == sorted(["index", *NAMES])
    listed = re.findall(r"^\| \[`(\w+)`\]\((\w+)\.md\) \|", (pages / "index.md").read_text(), re.MULTILINE)
    assert dict(listed) == {known.__name__: name for name, known in STRATEGIES.items()}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_page_shows_can_be_written_like_that(pages: Path, name: str) -> None:
    text = (pages / f"{name}.md").read_text()
    (shown,) = re.findall(r"@operation\(recovery=\[(.*)\]\)", text)
    known = {name: getattr(failsoft.recovery, name) for name in failsoft.recovery.__all__}
    assert isinstance(eval(shown, known), STRATEGIES[name])  # noqa: S307 - our own page
    for toml in re.findall(r"```toml\n(.*?)```", text, re.DOTALL):
        configuration = read_configuration(None, toml)
        assert configuration is not None
        assert name in configuration.tree["tools"]["shop"]["operations"]["fetch"]


@pytest.mark.parametrize("name", NAMES)
def test_the_table_of_a_page_names_exactly_the_options_with_their_defaults(pages: Path, name: str) -> None:
    text = (pages / f"{name}.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \| (?:`(.*?)`)? ?\| \S", text, re.MULTILINE)
    fields = dataclasses.fields(STRATEGIES[name])
    assert dict(listed) == {field.name: shown(field.default) for field in fields}


def shown(default: Any) -> str:
    """Return a default as the pages have it: empty for an option that is required."""
    if default is dataclasses.MISSING:
        return ""
    return default.__name__ if isinstance(default, type) else repr(default)
