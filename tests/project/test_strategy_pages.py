"""The pages on strategies: one for each, and what they show can be written like that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import failsoft.recovery
from tests.doors import CONFIGURABLE, read_configuration

NAMES = sorted(CONFIGURABLE)


@pytest.fixture
def pages(root: Path) -> Path:
    return root / "docs" / "reference" / "strategies"


def test_there_is_a_page_for_each_strategy_and_nothing_else(pages: Path) -> None:
    assert sorted(page.stem for page in pages.glob("*.md")) == sorted(["index", *NAMES])


@pytest.mark.parametrize("name", NAMES)
def test_what_a_page_shows_can_be_written_like_that(pages: Path, name: str) -> None:
    text = (pages / f"{name}.md").read_text()
    (shown,) = re.findall(r"@operation\(recovery=\[(.*)\]\)", text)
    known = {name: getattr(failsoft.recovery, name) for name in failsoft.recovery.__all__}
    assert isinstance(eval(shown, known), CONFIGURABLE[name].strategy)  # noqa: S307 - our own page
    for toml in re.findall(r"```toml\n(.*?)```", text, re.DOTALL):
        configuration = read_configuration(None, toml)
        assert configuration is not None
        assert name in configuration.operations["shop", "fetch"].strategies


@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_when_to_use_it_when_not_and_every_option(pages: Path, name: str) -> None:
    text = (pages / f"{name}.md").read_text()
    assert "**Use it where**" in text
    assert "**Not for**" in text
    for option in CONFIGURABLE[name].fields:
        assert re.search(rf"^\| `{option}` \| (`.*`)? ?\| \S", text, re.MULTILINE)
