"""KEY=VALUE, read by the schema."""

from __future__ import annotations

import pytest

from failsoft import InvalidParameter
from tests.doors import from_json, from_words

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "limit": {"type": "integer"},
        "ratio": {"type": "number"},
        "strict": {"type": "boolean"},
        "nick": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "filter": {"type": "object"},
        "level": {"enum": ["low", 3]},
        "either": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        "edit": {"$ref": "#/$defs/Count"},
        "anything": {},
    },
    "$defs": {"Count": {"type": "integer"}},
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("name=5", "5"),
        ("name=true", "true"),
        ("name=", ""),
        ("name=a=b", "a=b"),
        ("name={}", "{}"),
        ("limit=5", 5),
        ("limit=5.5", 5.5),
        ("limit=five", "five"),
        ("ratio=5", 5),
        ("ratio=0.5", 0.5),
        ("ratio=NaN", "NaN"),
        ("strict=true", True),
        ("strict=False", False),
        ("strict=1", 1),
        ("nick=null", "null"),
        ("maybe=null", None),
        ("maybe=7", 7),
        ("tags=a", ["a"]),
        ('tags=["a", "b"]', ["a", "b"]),
        ('filter={"a": 1}', {"a": 1}),
        ("level=low", "low"),
        ("either=a", "a"),
        ('either=["a"]', ["a"]),
        ("edit=12", 12),
        ("anything=12", "12"),
        ("unknown=12", "12"),
        ("limit=" + "[" * 100_000, "[" * 100_000),
    ],
)
def test_a_value_becomes_what_the_schema_says(word: str, value: object) -> None:
    assert from_words([word], SCHEMA) == {word.partition("=")[0]: value}


def test_a_key_that_is_given_again_makes_a_list_of_what_the_items_are() -> None:
    assert from_words(["tags=1", "sizes=1", "tags=2", "sizes=2"], SCHEMA) == {"tags": ["1", "2"], "sizes": [1, 2]}


@pytest.mark.parametrize("words", [["Dune"], ["=Dune"], ["name=a", "name=b"]])
def test_words_that_are_no_arguments_are_refused(words: list[str]) -> None:
    with pytest.raises(InvalidParameter):
        from_words(words, SCHEMA)


@pytest.mark.parametrize(("word", "meant"), [("Dune", "name=Dune"), ("limit", "limit=VALUE")])
def test_a_bare_word_is_offered_as_the_first_required_argument_or_is_a_name(word: str, meant: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        from_words([word], SCHEMA)
    assert caught.value.operator_hint == meant


def test_arguments_may_be_a_json_object() -> None:
    assert from_json('{"limit": 5}', "search") == {"limit": 5}


@pytest.mark.parametrize("text", ["", "{", "[1]", '"a"', "5", "[" * 100_000])
def test_json_that_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter):
        from_json(text, "search")
