"""The arguments' faults: all of them, one a place, in JSON's terms, and no value in a sentence."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import json
import typing
from typing import Annotated, Any, Literal
from uuid import UUID

import pydantic_core
import pytest
from hypothesis import given, strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic_core import PydanticCustomError, core_schema

from failsoft import InvalidArgument, Violation
from tests.doors import (
    QUOTED_AT_MOST,
    VIOLATIONS_AT_MOST,
    JsonSchema,
    json_type,
    reason_of,
    violations_from_pydantic,
)
from tests.each import each


class Cat(BaseModel, extra="forbid"):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel, extra="forbid"):
    kind: Literal["dog"]
    name: str


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


def faults(annotation: Any, value: Any, name: str = "value", **others: Any) -> list[Violation]:
    """Return the violations of a call whose only parameter has this type."""
    arguments = {name: value, **others}
    model = create_model("Arguments", __config__=ConfigDict(extra="forbid", strict=True), **{name: (annotation, ...)})
    adapter = TypeAdapter(model)
    try:
        adapter.validate_json(json.dumps(arguments))
    except pydantic_core.ValidationError as error:
        return violations_from_pydantic(error, adapter.json_schema(), arguments)
    return []


def fault(annotation: Any, value: Any, name: str = "value") -> Violation:
    (only,) = faults(annotation, value, name)
    return only


def schema_faults(schema: dict[str, Any], arguments: Any) -> list[Violation]:
    return JsonSchema("t", schema).violations(arguments)


ERROR_TYPES = typing.get_args(core_schema.ErrorType)

CONTEXT = {
    "actual_length": 3,
    "attribute": "a",
    "class": "C",
    "class_name": "C",
    "decimal_places": 2,
    "discriminator": "'kind'",
    "encoding": "utf-8",
    "encoding_error": "e",
    "error": "e",
    "expected": "'a' or 'b'",
    "expected_schemes": "'https'",
    "expected_tags": "'a', 'b'",
    "expected_version": 4,
    "field_type": "List",
    "ge": 1,
    "gt": 1,
    "le": 1,
    "lt": 1,
    "max_digits": 1,
    "max_length": 2,
    "method_name": "m",
    "min_length": 1,
    "multiple_of": 2,
    "pattern": "^a$",
    "tag": "t",
    "tz_actual": 2,
    "tz_expected": 1,
    "whole_digits": 3,
}


def test_every_error_type_of_pydantic_has_a_reason():
    assert [kind for kind in ERROR_TYPES if reason_of(kind) is None] == []


@each("kind", ERROR_TYPES)
def test_every_error_type_of_pydantic_becomes_a_violation(kind):
    line = {"type": kind, "loc": ("field",), "input": "x", "ctx": CONTEXT}
    error = pydantic_core.ValidationError.from_exception_data("t", [line])
    (seen,) = violations_from_pydantic(error, {}, {"field": "x"})
    assert seen.reason == reason_of(kind)
    assert seen.path.startswith("field")
    assert "{" not in seen.message
    assert "the accepted one" not in seen.message


@each(
    ("annotation", "value", "expected"),
    [
        (str, 5, "string"),
        (int, "x", "integer"),
        (int, 1.5, "integer"),
        (float, "x", "number"),
        (bool, 1, "boolean"),
        (list[str], 5, "array of string"),
        (list[list[int]], 5, "array of array of integer"),
        (dict[str, int], [], "object"),
        (Cat, 5, "object"),
        (str | None, 5, "string or null"),
        (int | str, [], "integer or string"),
        (list[int] | None, "x", "array of integer or null"),
        (dt.date, 5, "string: a date as YYYY-MM-DD"),
        (UUID, 5, "string: a UUID"),
    ],
)
def test_a_type_fault_says_what_was_expected_in_json_terms(annotation, value, expected):
    seen = fault(annotation, value)
    assert (seen.path, seen.reason, seen.expected) == ("value", "type", expected)
    assert f"expected {expected}" in seen.message


@each(
    ("annotation", "value", "reason", "expected"),
    [
        (Annotated[int, Field(ge=1)], 0, "range", "at least 1"),
        (Annotated[int, Field(gt=1)], 0, "range", "more than 1"),
        (Annotated[float, Field(le=2.5)], 3.0, "range", "at most 2.5"),
        (Annotated[int, Field(multiple_of=5)], 3, "range", "a multiple of 5"),
        (Annotated[str, Field(min_length=1)], "", "length", "at least 1 character"),
        (Annotated[str, Field(max_length=2)], "abc", "length", "at most 2 characters"),
        (Annotated[list[int], Field(min_length=2)], [1], "length", "at least 2 items"),
        (Annotated[str, Field(pattern="^a+$")], "b", "pattern", 'text that matches the pattern "^a+$"'),
        (Annotated[str, Field(pattern="^/")], "b", "pattern", 'text that begins with "/"'),
        (dt.date, "tomorrow", "format", "a date as YYYY-MM-DD"),
        (dt.datetime, "now", "format", "a date and time as YYYY-MM-DDThh:mm:ssZ"),
        (UUID, "x", "format", "a UUID"),
        (decimal.Decimal, "x", "format", "a decimal number"),
        (Literal["a"], "b", "enum", '"a"'),
        (Literal["a", 5], "b", "enum", 'one of "a", 5'),
        (Color, "blue", "enum", 'one of "red", "green"'),
        (int | Literal["auto"], "never", "enum", '"auto" or integer'),
    ],
)
def test_a_fault_has_its_reason_and_says_what_would_be_accepted(annotation, value, reason, expected):
    seen = fault(annotation, value)
    assert (seen.reason, seen.expected) == (reason, expected)


def test_all_faults_are_reported_at_once():
    model = create_model("Arguments", a=(int, ...), b=(str, ...), c=(list[int], ...), __config__={"extra": "forbid"})
    arguments = {"a": "x", "c": [1, "y", 2, "z"], "d": 1}
    with pytest.raises(pydantic_core.ValidationError) as caught:
        model.model_validate(arguments)
    seen = violations_from_pydantic(caught.value, model.model_json_schema(), arguments)
    assert [(one.path, one.reason) for one in seen] == [
        ("a", "type"),
        ("b", "missing"),
        ("c.1", "type"),
        ("c.3", "type"),
        ("d", "unexpected"),
    ]


def test_a_missing_parameter_says_what_is_expected():
    (seen,) = [one for one in faults(list[str], 1, name="b", c=2) if one.reason == "unexpected"]
    assert seen.path == "c"
    (seen,) = schema_faults({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {})
    assert (seen.path, seen.reason, seen.expected) == ("a", "missing", "string")


def test_a_path_goes_down_with_dots_and_positions():
    class Edit(BaseModel):
        limit: int

    seen = fault(list[Edit], [{"limit": 1}, {"limit": "x"}], name="edits")
    assert seen.path == "edits.1.limit"


def test_an_unexpected_name_is_corrected_to_the_closest_accepted_one():
    model = create_model("Arguments", max_results=(int, 1), path=(str, "a"), __config__={"extra": "forbid"})
    with pytest.raises(pydantic_core.ValidationError) as caught:
        model.model_validate({"maxResults": 5})
    (seen,) = violations_from_pydantic(caught.value, model.model_json_schema(), {"maxResults": 5})
    assert (seen.reason, seen.suggestion, seen.allowed) == ("unexpected", "max_results", ("max_results", "path"))


def test_a_name_that_was_given_already_is_not_suggested():
    model = create_model("Arguments", path=(str, "a"), __config__={"extra": "forbid"})
    arguments = {"path": "x", "pat": "y"}
    with pytest.raises(pydantic_core.ValidationError) as caught:
        model.model_validate(arguments)
    (seen,) = violations_from_pydantic(caught.value, model.model_json_schema(), arguments)
    assert seen.suggestion is None


@each(
    ("annotation", "value", "suggestion"),
    [
        (int, "5", 5),
        (int, 5.0, 5),
        (int, "5.5", None),
        (float, "1.5", 1.5),
        (bool, "true", True),
        (str, 5, None),
        (list[str], "a", ["a"]),
        (list[str], '["a", "b"]', ["a", "b"]),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (Literal["fast", "slow"], "Fast", "fast"),
        (Literal["quick", "slow"], "qiuck", "quick"),
        (Literal["fast", "slow"], "fats", None),
        (Literal["fast", "slow"], "purple", None),
        (Literal[1, 2], "2", 2),
        (int, "9" * 100, None),
        (list[str], "a" * 100, None),
    ],
)
def test_a_value_that_only_looks_different_is_suggested(annotation, value, suggestion):
    seen = fault(annotation, value)
    assert seen.suggestion == suggestion
    assert type(seen.suggestion) is type(suggestion)


def test_null_for_an_optional_parameter_may_be_left_out():
    model = create_model("Arguments", a=(str, ...), b=(str, "x"), c=(list[str], ["x"]))
    arguments = {"a": None, "b": None, "c": [None]}
    with pytest.raises(pydantic_core.ValidationError) as caught:
        model.model_validate(arguments)
    seen = violations_from_pydantic(caught.value, model.model_json_schema(), arguments)
    assert [(one.path, "leave it out" in one.message) for one in seen] == [("a", False), ("b", True), ("c.0", False)]


def test_the_accepted_values_are_listed_up_to_twenty():
    seen = fault(Literal[tuple(f"v{number}" for number in range(30))], "x")
    assert len(seen.allowed) == 20


@pytest.mark.parametrize(("value", "received"), [("x" * 60, "x" * 60), ("x" * 61, None), (True, True), ([1], None)])
def test_a_value_is_echoed_only_if_it_is_short(value, received):
    assert fault(int, value).received == received


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("password", "hunter2"),
        ("apiKey", "12345"),
        ("note", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
        ("content", "first line of a file"),
    ],
)
def test_a_secret_or_a_file_content_is_neither_echoed_nor_suggested(name, value):
    seen = fault(list[int], value, name=name)
    assert (seen.received, seen.suggestion) == (None, None)
    assert value not in json.dumps(seen.to_dict())


def test_a_value_that_cannot_be_read_as_it_is_is_not_echoed():
    for value in ("a\x00b", "a\u202eb", "\ud800"):
        assert fault(int, value).received is None


def test_a_union_is_reported_by_the_branch_that_the_value_was_meant_for():
    assert [one.path for one in faults(int | list[int], ["x"])] == ["value.0"]
    seen = faults(Cat | Dog, {"kind": "dog", "Name": "Rex"}, name="pet")
    assert [(one.path, one.reason, one.suggestion) for one in seen] == [
        ("pet.name", "missing", None),
        ("pet.Name", "unexpected", "name"),
    ]


def test_a_union_that_no_branch_fits_is_one_fault():
    seen = fault(int | list[int] | Cat, "x")
    assert (seen.path, seen.reason, seen.expected) == ("value", "type", "integer or array of integer or object")


@pytest.mark.parametrize("pet", [Cat | Dog, Annotated[Cat | Dog, Field(discriminator="kind")]])
def test_a_wrong_tag_is_one_fault_of_the_tag(pet):
    seen = fault(pet, {"kind": "cow"}, name="pet")
    assert (seen.path, seen.reason, seen.allowed) == ("pet.kind", "enum", ("cat", "dog"))


def test_a_missing_tag_is_a_missing_field():
    seen = fault(Annotated[Cat | Dog, Field(discriminator="kind")], {}, name="pet")
    assert (seen.path, seen.reason) == ("pet.kind", "missing")


def test_a_name_of_a_mapping_that_is_not_accepted_is_reported_as_such():
    seen = fault(dict[int, str], {"x": "y"})
    assert (seen.path, seen.reason) == ("value.x", "value")


def test_the_sentence_of_an_authors_check_is_reported():
    def check(_value: str) -> str:
        msg = "must not be longer than the title."
        raise ValueError(msg)

    assert fault(Annotated[str, AfterValidator(check)], "abc").message == "must not be longer than the title"


def test_the_sentence_of_an_authors_check_is_not_reported_if_it_repeats_the_value():
    def check(_value: str) -> str:
        msg = f"{_value} is too weak"
        raise ValueError(msg)

    assert "hunter2" not in fault(Annotated[str, AfterValidator(check)], "hunter2").message


def test_a_custom_error_of_pydantic_is_reported_with_its_sentence():
    def check(_value: str) -> str:
        kind = "my_own"
        raise PydanticCustomError(kind, "needs {count} dots", {"count": 2})

    seen = fault(Annotated[str, AfterValidator(check)], "abc")
    assert (seen.reason, seen.message) == ("value", "needs 2 dots")


def test_the_text_of_a_typed_error_that_a_check_raises_is_the_violation():
    typed = InvalidArgument(message="The uptake is negative.")

    def check(_value: str) -> str:
        raise typed

    model = create_model("Arguments", a=(int, ...), b=(Annotated[str, AfterValidator(check)], ...))
    with pytest.raises(pydantic_core.ValidationError) as caught:
        model.model_validate({"a": "x", "b": "y"})
    seen = violations_from_pydantic(caught.value, model.model_json_schema(), {"a": "x", "b": "y"})
    assert [(one.path, one.message) for one in seen][1:] == [("b", "The uptake is negative")]


def test_a_million_faults_are_reported_in_one_sentence():
    arguments = {"value": ["x"] * 100_000}
    seen = faults(list[int], arguments["value"])
    assert [(one.path, one.reason) for one in seen] == [("", "value")]


def test_the_list_of_violations_is_bounded():
    assert len(faults(list[int], ["x"] * 1_000)) == VIOLATIONS_AT_MOST
    schema = {"type": "object", "properties": {"value": {"items": {"type": "integer"}}}}
    assert len(schema_faults(schema, {"value": ["x"] * 1_000})) == VIOLATIONS_AT_MOST


@each(
    ("schema", "value", "reason", "expected"),
    [
        ({"type": "string"}, 5, "type", "string"),
        ({"type": ["string", "null"]}, 5, "type", "string or null"),
        ({"type": "array", "items": {"type": "string"}}, 5, "type", "array of string"),
        ({"minimum": 1}, 0, "range", "at least 1"),
        ({"exclusiveMaximum": 1}, 1, "range", "less than 1"),
        ({"multipleOf": 2}, 1, "range", "a multiple of 2"),
        ({"minLength": 1}, "", "length", "at least 1 character"),
        ({"maxItems": 1}, [1, 2], "length", "at most 1 item"),
        ({"prefixItems": [{}], "items": False}, [1, 2], "length", "at most 1 item"),
        ({"minProperties": 2}, {}, "length", "at least 2 names"),
        ({"pattern": "^a$"}, "b", "pattern", 'text that matches the pattern "^a$"'),
        ({"pattern": "^/"}, "b", "pattern", 'text that begins with "/"'),
        ({"uniqueItems": True}, [1, 1], "value", "items that all differ"),
        ({"enum": ["a", "b"]}, "c", "enum", 'one of "a", "b"'),
        ({"const": 5}, 6, "enum", "5"),
        ({"not": {"type": "string"}}, "x", "value", ""),
        ({"anyOf": [{"type": "integer"}, {"type": "array", "items": {}}]}, "x", "type", "integer or array"),
        ({"anyOf": [{"const": "auto"}, {"type": "integer"}]}, "atuo", "enum", '"auto" or integer'),
        ({"oneOf": [{"type": "integer"}, {"minimum": 1}]}, 5, "value", ""),
    ],
)
def test_a_json_schema_has_the_same_words(schema, value, reason, expected):
    (seen,) = schema_faults({"type": "object", "properties": {"value": schema}}, {"value": value})
    assert (seen.path, seen.reason, seen.expected) == ("value", reason, expected)


def test_a_json_schema_reports_all_faults_at_once():
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {},
            "c": {"$ref": "#/$defs/Pet"},
            "d": {"enum": [1], "type": "integer"},
        },
        "required": ["a", "b"],
        "dependentRequired": {"c": ["e"]},
        "additionalProperties": False,
        "$defs": {"Pet": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    }
    seen = schema_faults(schema, {"c": {"name": 5}, "A": 1, "d": "1"})
    assert {(one.path, one.reason, one.suggestion) for one in seen} == {
        ("a", "missing", None),
        ("b", "missing", None),
        ("e", "missing", None),
        ("c.name", "type", None),
        ("A", "unexpected", "a"),
        ("d", "enum", 1),
    }


def test_a_pattern_for_names_is_reported_at_the_name():
    schema = {"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}}
    assert [(one.path, one.reason) for one in schema_faults(schema, {"A": 1, "b": 1})] == [("A", "unexpected")]


def test_a_property_that_must_not_be_there_is_unexpected():
    schema = {"type": "object", "properties": {"old": False}}
    assert [one.reason for one in schema_faults(schema, {"old": 1})] == ["unexpected"]  # jsonschema does not say where


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
LIKELY = st.dictionaries(st.sampled_from(["a", "b", "c", "d", "e", "password", "kind", "x" * 400]), JSON, max_size=6)


class Everything(BaseModel, extra="forbid", strict=True):
    a: int | list[int] | Cat
    b: Literal["one", "two"] | None = None
    c: Annotated[Cat | Dog, Field(discriminator="kind")]
    d: dict[Annotated[str, Field(pattern="^[a-z]$")], list[Dog | Color]]
    e: tuple[dt.date, Annotated[str, Field(max_length=3)]]
    password: int = 0


SCHEMA = Everything.model_json_schema()


def hold(seen: list[Violation]) -> None:
    json.dumps([one.to_dict() for one in seen], allow_nan=False).encode()
    for one in seen:
        assert one.message
        assert len(one.message) <= QUOTED_AT_MOST
        assert len(one.path) <= QUOTED_AT_MOST
        assert len(one.expected) <= QUOTED_AT_MOST
        assert len(one.allowed) <= 20
        if one.path.startswith("password") and one.reason != "unexpected":
            assert (one.received, one.suggestion) == (None, None)
        if one.received is not None:
            assert json_type(one.received) in {"string", "integer", "number", "boolean"}


@given(arguments=LIKELY)
def test_whatever_the_arguments_are_the_violations_of_pydantic_can_be_sent(arguments):
    def judge() -> list[Violation]:
        try:
            Everything.model_validate(arguments)
        except pydantic_core.ValidationError as error:
            return violations_from_pydantic(error, SCHEMA, arguments)
        return []

    seen = judge()
    hold(seen)
    assert judge() == seen


@given(arguments=LIKELY)
def test_whatever_the_arguments_are_the_violations_of_a_json_schema_can_be_sent(arguments):
    seen = schema_faults(SCHEMA, arguments)
    hold(seen)
    assert schema_faults(SCHEMA, arguments) == seen


@given(value=st.text(min_size=6), wanted=st.sampled_from([int, list[int], Cat, Literal["one"], dt.date, bool]))
def test_no_sentence_repeats_the_value(value, wanted):
    for seen in faults(wanted, value):
        if value.strip() not in "expected integer, got string array of object 'one' a date as YYYY-MM-DD boolean":
            assert value not in seen.message


@given(value=st.integers(), low=st.integers(-5, 5))
def test_both_validators_judge_alike(value, low):
    schema = {"type": "object", "properties": {"value": {"type": "integer", "minimum": low}}}
    one = faults(Annotated[int, Field(ge=low)], value)
    assert [item.to_dict() for item in one] == [item.to_dict() for item in schema_faults(schema, {"value": value})]
