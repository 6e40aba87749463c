"""What a schema accepts at a place is worked out once, and a caller cannot make it grow."""

from __future__ import annotations

from tests.doors import Accepted

TREE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"kind": {"enum": ["leaf", "branch"]}, "inner": {"$ref": "#/$defs/Node"}},
            "additionalProperties": {"type": "integer"},
        }
    },
}


def test_a_place_says_what_it_accepts() -> None:
    whole = Accepted.by(TREE)
    node = whole.below("children").below(0)
    assert whole.names == ("name", "children")
    assert whole.below("children").words == "array of object"
    assert node.names == ("kind", "inner")
    assert node.below("kind").values == ("leaf", "branch")
    assert (node.below("kind").words, node.below("kind").words_of_type) == ('one of "leaf", "branch"', "string")
    assert node.below("something").kinds == {"integer"}


def test_positions_at_the_head_of_a_list_have_their_own_place() -> None:
    pair = Accepted.by({"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": {"type": "null"}})
    assert [pair.below(number).words for number in (0, 1, 2, 9)] == ["string", "integer", "null", "null"]


def test_a_place_is_the_same_however_it_is_reached() -> None:
    node = Accepted.by(TREE).below("children").below(0)
    assert node.below("inner").below("inner") is node
    assert node.below("one name") is node.below("another")


def test_names_that_a_caller_makes_up_are_not_kept() -> None:
    node = Accepted.by(TREE).below("children").below(0)
    for number in range(1_000):
        node.below(f"name{number}").below(number).below(f"name{number}")
    assert len(node._below) <= 2
    assert len(node._places) <= 10


def test_a_place_that_no_schema_speaks_of_accepts_nothing_in_particular() -> None:
    nowhere = Accepted.by({}).below("a").below(5)
    assert (nowhere.names, nowhere.values, nowhere.words, nowhere.kinds) == ((), (), "", frozenset())
