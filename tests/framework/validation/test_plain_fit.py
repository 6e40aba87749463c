"""What the shortcut accepts, the validator accepts: for any schema and any value."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from tests.doors import plain_fit

values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.sampled_from(["", "a", "bb", "ccc"]),
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


@given(schema=schemas, arguments=st.dictionaries(st.sampled_from("abc"), values, max_size=3))
def test_what_plainly_fits_is_valid(schema: dict[str, Any], arguments: dict[str, Any]):
    whole = {"type": "object", "properties": {"a": schema, "b": {"type": "string"}}, "additionalProperties": False}
    fits = plain_fit(whole)
    if fits is not None and fits(arguments):
        assert Draft202012Validator(whole).is_valid(arguments)


def test_a_plain_schema_is_known_and_another_is_left_to_the_validator():
    plain = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}
    fits = plain_fit(plain)
    assert fits is not None
    assert [fits({"n": 1}), fits({"n": 0}), fits({"n": True}), fits({"n": 1.0}), fits({}), fits({"n": 1, "m": 2})] == [
        True,
        False,
        False,
        False,
        False,
        False,
    ]
    assert plain_fit({"type": "object", "properties": {"n": {"type": "string", "format": "date"}}}) is None
    assert plain_fit({**plain, "dependentRequired": {"n": ["m"]}}) is None
