"""Faults of arguments themselves, which take a shorter way than those inside of arguments."""

from __future__ import annotations

import types
from typing import Any, Literal, NotRequired

import pydantic_core
import pytest
from pydantic import BaseModel, ConfigDict, TypeAdapter
from typing_extensions import TypedDict

from tests.doors import violations_from_pydantic


class Nested(BaseModel):
    limit: int


class Arguments(TypedDict):
    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")  # type: ignore[misc]  # pydantic reads it here

    path: str
    limit: NotRequired[int]
    nested: NotRequired[Nested | list[int]]
    mode: NotRequired[Literal["fast", "slow"]]
    password: NotRequired[str]


ARGUMENTS = TypeAdapter(Arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"path": 5, "limit": "5"},
        {"path": None, "limit": None},
        {"pth": "a", "limit": "five", "nested": 1},
        {"[key]": 1, "limt": 3},
        {"path": "a", "nested": {"limit": "x", "other": 1}},
        {"path": "a", "mode": "fats", "password": 12_345_678},
    ],
)
def test_they_are_worded_as_those_found_by_following_their_paths(arguments: dict[str, Any]) -> None:
    with pytest.raises(pydantic_core.ValidationError) as refused:
        ARGUMENTS.validator.validate_python(arguments)
    schema = ARGUMENTS.json_schema()
    short = violations_from_pydantic(refused.value, schema, arguments)
    general = violations_from_pydantic(refused.value, schema, types.MappingProxyType(arguments))
    assert list(map(vars, short)) == list(map(vars, general))
