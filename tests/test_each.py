"""`each`: one item over many values."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator

import pytest

from tests.each import each


def test_every_value_is_tried_and_every_failure_is_raised_with_its_value(tmp_path) -> None:
    tried = []

    @each("number, word", [(1, "a"), (2, "b"), (3, "c")])
    def law(folder, number, *, word) -> None:
        tried.append((folder, number, word))
        assert number == 2
        pytest.fail("two")

    assert list(inspect.signature(law).parameters) == ["folder"]
    with pytest.raises(BaseExceptionGroup, match="3 of 3") as raised:
        law(folder=tmp_path)
    assert tried == [(tmp_path, 1, "a"), (tmp_path, 2, "b"), (tmp_path, 3, "c")]
    assert [failure.__notes__ for failure in raised.value.exceptions] == [
        ["with number=1, word='a'"], ["with number=2, word='b'"], ["with number=3, word='c'"],
    ]  # fmt: skip


def test_the_values_of_several_tables_are_combined_and_a_test_may_be_async() -> None:
    tried = []

    @each("letter", "ab")
    @each("number", range(2))
    async def law(letter, number) -> None:
        tried.append(f"{letter}{number}")
        assert tried[-1] != "b1"

    assert inspect.iscoroutinefunction(law)
    with pytest.raises(BaseExceptionGroup, match="1 of 2") as raised:
        asyncio.run(law())
    assert tried == ["a0", "a1", "b0", "b1"]
    assert raised.value.exceptions[0].__notes__ == ["with letter='b'"]


@each("value", ["a", "b"])
def test_a_test_over_values_gets_its_fixtures(tmp_path, value) -> None:
    assert value not in list(tmp_path.iterdir())


def test_a_value_that_is_skipped_is_a_failure_and_hides_none() -> None:
    @each("value", [1, 2, 3])
    def law(value) -> None:
        if value == 2:
            pytest.skip("no program")
        assert value == 3

    with pytest.raises(BaseExceptionGroup, match="2 of 3"):
        law()


def test_a_test_that_would_not_run_is_a_mistake() -> None:
    def law(value) -> Iterator[None]:
        yield

    with pytest.raises(AssertionError, match="would not run"):
        each("value", [1])(law)


def test_a_table_without_values_is_a_mistake() -> None:
    @each("value", [])
    def law(value) -> None: ...

    with pytest.raises(AssertionError, match="no values"):
        law()


def test_values_may_be_made_when_the_test_runs() -> None:
    made, tried = [], []

    @each("value", lambda: made)
    def law(value) -> None:
        tried.append(value)

    made += [1, 2]
    law()
    assert tried == [1, 2]
