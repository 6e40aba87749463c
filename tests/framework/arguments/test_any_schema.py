"""An operation declared by a JSON Schema accepts what the schema accepts, for any schema and any arguments."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from failsoft import BaseTool, operation
from tests.framework.recording import quiet_runtime

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "a", "bb", "ccc"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
leaves = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "minLength": 2, "maxLength": 2, "title": "x"},
        {"type": "integer", "minimum": 0},
        {"type": "number", "maximum": 3},
        {"type": "boolean", "default": True},
        {"type": "null"},
        {"enum": ["a", "bb"]},
        {"type": "string", "pattern": "^a"},
        {"type": "array"},
        {},
    ]
)
schemas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda one, other: {"anyOf": [one, other]}, inner, inner),
        st.builds(lambda a, b: {"type": "object", "properties": {"a": a, "b": b}, "required": ["a"]}, inner, inner),
    ),
    max_leaves=5,
)


def accepts(schema: dict[str, Any], *calls: dict[str, Any]) -> list[bool]:
    class Declared(BaseTool):
        """Takes what its schema says."""

        @operation(read_only=True, input_schema=schema)
        async def take(self, **arguments: Any) -> str:
            """Return that they were accepted."""
            return "accepted"

    async def run() -> list[str]:
        tool = Declared(runtime=quiet_runtime())
        answers = [await tool.execute_with_error_handling("take", arguments) for arguments in calls]
        return ["accepted" if answer.error is None else answer.error.code for answer in answers]

    codes = asyncio.run(run())
    assert set(codes) <= {"accepted", "INVALID_PARAM"}
    return [code == "accepted" for code in codes]


@given(schema=schemas, arguments=st.dictionaries(st.sampled_from("abc"), values, max_size=3))
def test_what_is_valid_is_accepted_and_nothing_else(schema: dict[str, Any], arguments: dict[str, Any]):
    whole = {"type": "object", "properties": {"a": schema, "b": {"type": "string"}}, "additionalProperties": False}
    assert accepts(whole, arguments) == [Draft202012Validator(whole).is_valid(arguments)]


def test_a_number_is_an_integer_only_if_it_is_whole_and_a_boolean_is_none():
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}
    calls = [{"n": 1}, {"n": 0}, {"n": True}, {"n": 1.0}, {"n": 1.5}, {}, {"n": 1, "m": 2}]
    assert accepts({**schema, "additionalProperties": False}, *calls) == [True, False, False, True, False, False, False]


def test_formats_and_dependent_properties_are_checked_as_well():
    schema = {"type": "object", "properties": {"n": {"type": "string", "format": "date"}}}
    calls = [{"n": "2026-02-28"}, {"n": "2026-02-30"}]
    checker = Draft202012Validator(schema, format_checker=FormatChecker(["date"]))
    assert accepts(schema, *calls) == [checker.is_valid(call) for call in calls] == [True, False]
    dependent = {"type": "object", "properties": {"n": {}, "m": {}}, "dependentRequired": {"n": ["m"]}}
    assert accepts(dependent, {"n": 1}, {"n": 1, "m": 2}, {"m": 2}) == [False, True, True]
