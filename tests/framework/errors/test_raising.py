"""Mistakes in raising an error: the caller still gets that error, its author a WARNING with file and line."""

from __future__ import annotations

import asyncio
import copy
import pickle
from typing import Any, ClassVar

import pytest

from failsoft import BaseTool, NotFound, Public, ToolError, operation
from failsoft.testing import Report
from tests.doors import RaisedWrongly


class ShelfNotFound(NotFound):
    """There is no such shelf.

    Raised when: the number is not that of a shelf.
    Caller: list the shelves.
    Operator: nothing to do.
    """

    code: ClassVar[str] = "TEST_SHELF_NOT_FOUND"
    message: str = "There is no shelf {number} in {room}."
    number: Public[int]
    room: Public[str] = "the hall"
    near: Public[list[int] | None] = None


class Shelves(BaseTool):
    """Shelves."""

    keywords: ClassVar[dict[str, Any]] = {}

    @operation(read_only=True)
    async def find(self) -> str:
        """Find."""
        raise ShelfNotFound(**self.keywords)


def failure(monkeypatch: pytest.MonkeyPatch, **keywords: Any) -> Any:
    monkeypatch.setattr(Shelves, "keywords", keywords)
    return asyncio.run(Shelves().execute_with_error_handling("find", {})).error


def test_the_message_may_be_positional() -> None:
    assert NotFound("There is no shelf 3.").message == "There is no shelf 3."
    assert ShelfNotFound("There is none.").number is None


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"numbr": 3}, ("has no field numbr; did you mean number?", "needs number")),
        ({"number": 3, "mesage": "x"}, ("has no field mesage; did you mean message?",)),
        ({"number": 3, "zzz": 1}, ("has no field zzz; its fields: number, room, near",)),
        ({}, ("needs number",)),
        ({"number": 3, "effect": "nothing"}, ("effect is 'nothing'; it is one of none, unknown, applied",)),
        ({"number": 3, "next_step": "find"}, ("next_step is a text",)),
        ({"number": 3, "next_step": {"tool": "find", "args": {}}}, ("next_step has no key 'args'",)),
        ({"number": 3, "next_step": {"name": "find"}}, ("next_step is without a tool",)),
        ({"number": 3, "next_step": {"tool": "find", "arguments": "x"}}, ("next_step has arguments of type str",)),
    ],
)
def test_a_mistake_is_reported_with_its_line_and_the_caller_gets_the_error(
    keywords: dict[str, Any], words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, failsoft_reports: list[Report]
) -> None:
    answered = failure(monkeypatch, **keywords)
    assert (answered.code, answered.category) == ("TEST_SHELF_NOT_FOUND", "not_found")
    assert answered.message
    assert "None" not in answered.message
    text = "\n".join(map(str, failsoft_reports))
    for word in words:
        assert word in text
    assert {report.kind for report in failsoft_reports} == {"mistake"}
    assert all(f"{__file__}:" in report.place and report.place.endswith("in find") for report in failsoft_reports)


@pytest.mark.parametrize(
    "keywords",
    [
        {"number": 3},
        {"number": 3, "near": [1, 2], "effect": "none"},
        {"number": True},
        {"message": "There is none."},
        {"number": 3, "suggestions": ["4"]},
    ],
)
def test_what_is_right_is_not_reported(
    keywords: dict[str, Any], monkeypatch: pytest.MonkeyPatch, failsoft_reports: list[Report]
) -> None:
    assert failure(monkeypatch, **keywords).code == "TEST_SHELF_NOT_FOUND"
    assert failsoft_reports == []


@pytest.mark.usefixtures("failsoft_reports")
def test_outside_of_a_call_a_wrong_field_is_a_type_error_that_travels() -> None:
    with pytest.raises(TypeError, match="did you mean number") as caught:
        ShelfNotFound(numbr=3)
    sent = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own bytes
    for twin in (sent, copy.copy(caught.value)):
        assert isinstance(twin, RaisedWrongly)
        assert isinstance(twin.error, ToolError)
        assert twin.error.code == "TEST_SHELF_NOT_FOUND"
