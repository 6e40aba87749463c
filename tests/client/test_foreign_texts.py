"""What other servers say of a failure gets a category only where the text is known for certain."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doors import class_of
from tests.each import each

LINES = Path(__file__).with_name("foreign_texts.txt").read_text("utf-8").splitlines()
TEXTS = [
    (category, text.replace("\\n", "\n"))
    for category, _, text in (line.partition(": ") for line in LINES if line and not line.startswith("#"))
]


@each(("category", "text"), TEXTS)
def test_only_a_text_that_is_known_for_certain_has_a_category(category: str, text: str) -> None:
    found = class_of(text)
    assert ("reported" if found is None else found.category) == category


def test_half_of_the_texts_are_near_misses() -> None:
    assert len(TEXTS) >= 200
    assert sum(category == "reported" for category, _ in TEXTS) >= 100


@pytest.mark.parametrize("size", [10_000, 1_000_000])
def test_a_long_text_is_not_read_whole(size: int) -> None:
    for text in ("a" * size, "a: " * size, " not found" * size, "Failed to " * size, "Error: " * size):
        assert class_of(text) is None
