"""The quick check of schemas says of none that it is valid which jsonschema refuses; patterns have their own check."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from jsonschema import Draft202012Validator, FormatChecker, SchemaError
from jsonschema_specifications import REGISTRY

from tests.doors import is_plainly_valid

DRAFT = Draft202012Validator.META_SCHEMA
BASE = "https://json-schema.org/draft/2020-12/"
VOCABULARIES = [DRAFT, *(REGISTRY.contents(f"{BASE}{part['$ref']}") for part in DRAFT["allOf"])]
KEYWORDS = sorted({name for vocabulary in VOCABULARIES for name in vocabulary["properties"]})
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(-2, 2)
    | st.sampled_from(["a", "", "object", "string", "#/$defs/a", "#a", "^a$", "("]),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b"]), below, max_size=2)
        | st.dictionaries(st.sampled_from(KEYWORDS), below, max_size=2)
    ),
    max_leaves=8,
)
USUAL: dict[str, Any] = {
    "type": "object",
    "title": "Search",
    "properties": {
        "query": {"type": "string", "description": "What to find", "minLength": 1, "pattern": "^a"},
        "limit": {"type": ["integer", "null"], "default": 10, "minimum": 1, "maximum": 100.0},
        "kind": {"enum": ["a", None], "examples": ["a"]},
        "edits": {"type": "array", "items": {"$ref": "#/$defs/Edit"}, "minItems": 1, "uniqueItems": True},
        "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "anything": True,
    },
    "required": ["query"],
    "additionalProperties": False,
    "$defs": {"Edit": {"type": "object", "properties": {"old": {"type": "string"}}, "required": ["old"]}},
}


def checked_by_jsonschema(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema, format_checker=FormatChecker(formats=()))


@example({"pattern": "("})
@example({"patternProperties": {"(": True}})
@given(st.dictionaries(st.sampled_from(KEYWORDS), VALUES, min_size=1, max_size=3))
def test_what_is_plainly_valid_is_valid_for_jsonschema(schema):
    if is_plainly_valid(schema):
        checked_by_jsonschema(schema)


@pytest.mark.parametrize("keyword", KEYWORDS)
@pytest.mark.parametrize("value", [None, True, -1, 0, 1.5, "a", [], ["a", "a"], [[]], {}, {"a": 1}, {"a": ["b", "b"]}])
def test_no_invalid_value_of_a_keyword_is_accepted(keyword, value):
    schema = {keyword: value}
    try:
        checked_by_jsonschema(schema)
    except SchemaError:
        assert not is_plainly_valid(schema)


@pytest.mark.parametrize("schema", [USUAL, {**USUAL, "$schema": f"{BASE}schema"}])
def test_the_usual_schemas_of_tools_are_plainly_valid(schema):
    assert is_plainly_valid(schema)


@pytest.mark.parametrize("schema", [True, None, "a", [], {"$schema": "http://json-schema.org/draft-07/schema#"}])
def test_what_is_no_schema_of_the_newest_draft_is_left_to_jsonschema(schema):
    assert not is_plainly_valid(schema)
