"""What leaves is JSON, whatever a tool returned, and ordinary data leaves as it is."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from collections import OrderedDict, UserDict, deque
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, ConfigDict

from tests.doors import Rebuild, json_safe_module as json_safe
from tests.each import each


def written(value: Any) -> Any:
    """Return the tree, after the checks that every result has to pass."""
    encoded = json_safe.encode(value)
    tree, text = encoded.tree, encoded.text
    strict = json.dumps(tree, allow_nan=False)
    strict.encode("utf-8")
    text.encode("utf-8")
    assert json.loads(text) == json.loads(strict) == tree
    assert "\n" not in text
    return tree


def told(value: Any, **limits: Any) -> tuple[Any, str, bool]:
    encoded = json_safe.encode(value, **limits)
    return encoded.tree, encoded.text, encoded.is_faithful


def of_exact_types(tree: Any) -> bool:
    if type(tree) is dict:
        return all(type(key) is str and of_exact_types(item) for key, item in tree.items())
    if type(tree) is list:
        return all(of_exact_types(item) for item in tree)
    return type(tree) in {str, int, float, bool, type(None)}


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise SystemExit

    def encode(self, *_: Any, **__: Any) -> bytes:
        raise SystemExit


class Number(int):
    __slots__ = ()

    def __index__(self) -> int:
        raise SystemExit

    def __repr__(self) -> str:
        raise SystemExit


class Real(float):
    __slots__ = ()

    def __float__(self) -> float:
        raise SystemExit


class Table(dict[Any, Any]):
    def __iter__(self) -> Iterator[Any]:
        raise GeneratorExit

    def items(self) -> Any:
        raise KeyboardInterrupt


class Row(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        raise SystemExit

    def __len__(self) -> int:
        raise SystemExit


class LyingMeta(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise SystemExit


class Lying(metaclass=LyingMeta):
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise SystemExit

    def __getattr__(self, name: str) -> Any:
        raise SystemExit

    def __repr__(self) -> str:
        return "password=hunter2"


class Color(Enum):
    RED = "red"


class Mode(StrEnum):
    FAST = "fast"


class Level(IntEnum):
    HIGH = 3


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Order:
    number: int
    lines: list[Point]

    @property
    def secret(self) -> str:
        return "not a field"


@dataclasses.dataclass
class Half:
    here: int
    gone: int = dataclasses.field(init=False)


class Model(BaseModel):
    when: datetime
    raw: bytes = b""


class Holder(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    thing: Lying


class Box(BaseModel):
    value: Any


def nested(levels: int) -> list[Any]:
    tree: list[Any] = []
    for _ in range(levels):
        tree = [tree]
    return tree


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)
hostile = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=[]))
    | st.binary()
    | st.decimals()
    | st.datetimes()
    | st.timedeltas()
    | st.uuids()
    | st.complex_numbers()
    | st.fractions()
    | st.sampled_from([object(), Color.RED, Mode.FAST, Level.HIGH, ValueError("x")]),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.lists(inner).map(Row)
        | st.lists(inner).map(deque)
        | st.dictionaries(st.text(st.characters(exclude_categories=[])) | st.integers() | st.none(), inner).map(Table)
        | st.dictionaries(st.booleans() | st.floats() | st.binary(), inner)
        | st.frozensets(st.text() | st.integers() | st.binary())
    ),
    max_leaves=20,
)


@given(plain)
def test_ordinary_data_comes_back_equal_and_is_a_copy(tree: Any) -> None:
    copy = written(tree)
    assert copy == tree
    assert copy is not tree or not isinstance(tree, (dict, list))


@given(plain)
def test_both_paths_agree_on_ordinary_data(tree: Any) -> None:
    assert Rebuild(max_depth=json_safe.MAX_DEPTH, max_items=json_safe.MAX_ITEMS).run(tree) == json_safe.json_safe(tree)


@given(hostile)
def test_whatever_is_returned_leaves_as_json_of_exact_builtin_types(value: Any) -> None:
    assert of_exact_types(written(value))


@given(hostile)
def test_what_was_made_safe_stays_as_it_is(value: Any) -> None:
    tree = json_safe.json_safe(value)
    assert json_safe.json_safe(tree) == tree


@each(
    ("value", "expected"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "\N{GRINNING FACE}"),
        ({"\udcff": 1}, {"\ufffd": 1}),
        (math.nan, None),
        ([math.inf, -math.inf, -0.0], [None, None, -0.0]),
        (b"text", "text"),
        (bytearray(b"\xff\xfe"), "//4="),
        (memoryview(b"ab"), "ab"),
        ((1, 2), [1, 2]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({"a": 1}.keys(), ["a"]),
        (range(3), [0, 1, 2]),
        (deque([1]), [1]),
        (OrderedDict(a=1), {"a": 1}),
        (UserDict(a=1), {"a": 1}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        ({None: 1, True: 2, 1.5: 3, (1, 2): 4, Color.RED: 5}, {"null": 1, "true": 2, "1.5": 3, "[1,2]": 4, "red": 5}),
        ({1: "a", "1": "b"}, {"1": "a", "1~2": "b"}),
        (PurePosixPath("a/b"), "a/b"),
        (datetime(2026, 1, 19, 15, 32, 10, tzinfo=UTC), "2026-01-19T15:32:10Z"),
        (date(2026, 1, 19), "2026-01-19"),
        (timedelta(seconds=1.5), "PT1.5S"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.50"), "1.50"),
        (Decimal("NaN"), "NaN"),
        (Fraction(1, 2), 0.5),
        (Color.RED, "red"),
        (Mode.FAST, "fast"),
        (Level.HIGH, 3),
        (Point(1, 2), [1, 2]),
        (Order(7, [Point(1, 2)]), {"number": 7, "lines": [[1, 2]]}),
        (Half(1), "<Half>"),
        (Model(when=datetime(2026, 1, 1, tzinfo=UTC)), {"when": "2026-01-01T00:00:00Z", "raw": ""}),
        (Model(when=datetime(2026, 1, 1, tzinfo=UTC), raw=b"\xff"), {"when": "2026-01-01T00:00:00Z", "raw": "/w=="}),
        (10**4000, 10**4000),
        (10**5000, "<integer of 16610 bits>"),
        (-(10**5000), "<integer of 16610 bits>"),
        (1j, "<complex>"),
        (object(), "<object>"),
        (Order, "<type>"),
        (len, "<builtin_function_or_method>"),
        (ValueError("password=hunter2"), "<ValueError>"),
        ((item for item in [1]), "<generator>"),
    ],
)
def test_what_json_cannot_say_is_replaced(value: Any, expected: Any) -> None:
    tree = written({"data": value})["data"]
    assert tree == expected
    assert of_exact_types(tree)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Text("plain"), "plain"),
        (lambda: Number(5), 5),
        (lambda: Real(1.5), 1.5),
        (lambda: Table({"a": Row([1])}), {"a": [1]}),
        (Lying, "<Lying>"),
    ],
    ids=["str", "int", "float", "dict", "object"],
)
def test_a_subclass_that_overrides_everything_is_read_past_its_own_methods(make: Any, expected: Any) -> None:
    tree = written({"data": make()})["data"]
    assert tree == expected
    assert of_exact_types(tree)


def test_a_cycle_ends_where_it_closes() -> None:
    row: list[Any] = [1]
    row.append({"back": row})
    assert written(row) == [1, {"back": "<cycle>"}]


def test_a_value_that_is_shared_is_no_cycle() -> None:
    shared = {"a": {1}}
    assert written([shared, shared]) == [{"a": [1]}, {"a": [1]}]


def test_nesting_ends_at_the_limit_without_exhausting_the_stack() -> None:
    tree = written(nested(100_000))
    depth = 0
    while isinstance(tree, list) and tree:
        tree = tree[0]
        depth += 1
    assert tree == "<too deep>"
    assert depth == json_safe.MAX_DEPTH


def test_a_bomb_of_shared_lists_is_cut_at_the_limit_and_says_so() -> None:
    bomb: Any = "x"
    for _ in range(12):
        bomb = [bomb] * 10
    tree = json_safe.json_safe(bomb, max_items=1_000)
    text = json.dumps(tree)
    assert "<more>" in text
    assert len(text) < 20_000


def test_a_long_list_is_cut_at_the_limit_on_either_path() -> None:
    assert json_safe.json_safe(list(range(10)), max_items=4) == [0, 1, 2, "<more>"]
    assert json_safe.json_safe(deque(range(10)), max_items=4) == [0, 1, 2, "<more>"]


@pytest.mark.parametrize("limits", [{}, {"max_items": 8}, {"max_items": 120}])
def test_the_limits_hold_for_what_is_in_a_model_whether_its_text_or_its_values_are_counted(
    limits: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = [[], *([0] * count for count in range(5, 10)), *map(nested, (3, 60, *range(95, 103)))]
    boxes = [{"value": Box(value=value)} for value in (*lists, "a" * 200, "[" * 200, [[]] * 99)]
    found = [told(box, **limits) for box in boxes]
    monkeypatch.setattr(json_safe, "_is_small", lambda *_: False)
    assert found == [told(box, **limits) for box in boxes]


def test_a_model_that_holds_a_foreign_object_becomes_its_name() -> None:
    assert written(Holder.model_construct(thing=Lying())) in ("<Holder>", {"thing": "<Lying>"})


def test_dumps_is_compact() -> None:
    assert json_safe.dumps({"a": [1, "é"]}) == '{"a":[1,"é"]}'


def test_sets_are_written_in_the_same_order_by_every_process() -> None:
    program = "from tests.doors import dumps; print(dumps({'b', 'a', 'c', 'd', 1, None}))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert texts == {'["a","b","c","d",1,null]\n'}
