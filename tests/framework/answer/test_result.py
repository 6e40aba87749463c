"""A handler's value: held to its declared type, and of the published shape whatever it holds."""

from __future__ import annotations

import datetime as dt
import enum
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, NamedTuple, NoReturn

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr, computed_field
from typing_extensions import TypedDict

from failsoft import BaseTool, operation
from tests.doors import CallScope, Result
from tests.each import each
from tests.framework.recording import quiet_runtime
from tests.framework.wellformed import check_wellformed

pytestmark = pytest.mark.anyio


class Color(enum.Enum):
    RED = "red"


class Page(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    page_title: str = Field(alias="pageTitle")
    score: float = 0.0
    day: dt.date | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def length(self) -> int:
        return len(self.page_title)


class Tree(BaseModel):
    name: str
    below: list[Tree] = []


class Part(TypedDict):
    first_name: str
    label: Annotated[str, Field(title="Shown to people")]


class Row(TypedDict):
    name: str
    score: float


@dataclass
class Plain:
    name: str
    color: Color = Color.RED


class Pair(NamedTuple):
    left: int
    right: str


def serving(annotation: Any, value: Any) -> BaseTool:
    async def take(self: Any) -> Any:
        return value

    take.__annotations__ = {"return": annotation}
    return type("Serving", (BaseTool,), {"take": operation(read_only=True)(take)})(runtime=quiet_runtime())  # type: ignore[no-any-return]


GOOD: list[tuple[Any, Any, Any]] = [
    (int, 5, 5),
    (float, 5, 5.0),
    (float, math.nan, None),
    (list[float], [1.5, math.inf], [1.5, None]),
    (Row, {"name": "a", "score": math.nan}, {"name": "a", "score": None}),
    (dict[str, float], {"a": -math.inf}, {"a": None}),
    (str, "a\udcff", "a\ufffd"),
    (list[str], ["\ud800"], ["\ufffd"]),
    (None, None, None),
    (bool, True, True),
    (Page, Page(page_title="ab"), {"pageTitle": "ab", "score": 0.0, "day": None, "length": 2}),
    (
        Page,
        {"pageTitle": "ab", "day": "2026-01-31"},
        {"pageTitle": "ab", "score": 0.0, "day": "2026-01-31", "length": 2},
    ),
    (list[Page], [Page(page_title="a")], [{"pageTitle": "a", "score": 0.0, "day": None, "length": 1}]),
    (Page, Page(page_title="a", score=math.nan), {"pageTitle": "a", "score": None, "day": None, "length": 1}),
    (Tree, Tree(name="a", below=[Tree(name="b")]), {"name": "a", "below": [{"name": "b", "below": []}]}),
    (Plain, Plain("a"), {"name": "a", "color": "red"}),
    (list[Plain], [Plain("a")], [{"name": "a", "color": "red"}]),
    (Pair, Pair(1, "a"), [1, "a"]),
    (set[int], {3, 1, 2}, [1, 2, 3]),
    (tuple[int, ...], (1, 2), [1, 2]),
    (dict[int, str], {1: "a"}, {"1": "a"}),
    (dt.datetime, dt.datetime(2026, 1, 31, tzinfo=dt.UTC), "2026-01-31T00:00:00Z"),
    (dt.timedelta, dt.timedelta(minutes=1), "PT1M"),
    (Decimal, Decimal("1.50"), "1.50"),
    (PurePosixPath, PurePosixPath("a/b"), "a/b"),
    (bytes, b"abc", "abc"),
    (Color, Color.RED, "red"),
    (Literal["a", 1], 1, 1),
    (SecretStr, SecretStr("hidden"), "**********"),
    (int | None, None, None),
    (Annotated[int, Field(ge=1)], 1, 1),
    (Any, {"a": math.nan}, {"a": None}),
    (NoReturn, "x", "x"),
    (object, [1], [1]),
]


@each(("annotation", "value", "data"), GOOD)
@each("scope", [CallScope(), CallScope(max_response_bytes=100_000)])
async def test_a_value_that_fits_is_sent_and_fits_the_published_schema(
    annotation: Any, value: Any, data: Any, scope: CallScope
) -> None:
    bound = serving(annotation, value).operations["take"]
    response = await bound.call({}, scope)
    wire = check_wellformed(response, bound)
    assert response.success, wire
    assert wire["data"] == data


BAD: list[tuple[Any, Any]] = [
    (int, "five"),
    (int, None),
    (int, 5.5),
    (str, 5),
    (list[int], [1, "x"]),
    (Page, {"title": "x"}),
    (Page, 5),
    (Row, {"name": "a"}),
    (Color, "blue"),
    (float, "\ud800"),
    (list[int], ["\ud800"]),
    (None, 5),
    (Literal["a"], "b"),
    (Annotated[int, Field(ge=1)], 0),
]


@each(("annotation", "value"), BAD)
async def test_a_value_that_does_not_fit_is_bad_output(annotation: Any, value: Any) -> None:
    bound = serving(annotation, value).operations["take"]
    response = await bound.call({})
    check_wellformed(response, bound)
    assert response.error is not None
    assert (response.error.code, response.error.retry.when) == ("BAD_OUTPUT", "never")
    assert "five" not in response.encode().text


async def test_bad_output_of_a_change_says_that_it_was_made() -> None:
    class Changing(BaseTool):
        @operation()
        async def change(self) -> int:
            """Change something, and say nonsense."""
            return "nonsense"  # type: ignore[return-value]

    response = await Changing(runtime=quiet_runtime()).change()
    assert response.error is not None
    assert (response.error.code, response.error.effect) == ("BAD_OUTPUT", "applied")


deep: Any = []
for _ in range(200):
    deep = [deep]


@pytest.mark.parametrize(
    ("annotation", "value", "fits"),
    [
        (dict[str, Any], {"a": object()}, True),
        (Any, object(), True),
        (Any, deep, True),
        (int, 10**5_000, False),
        (dict[str, int], {"a": 10**5_000}, False),
    ],
    ids=range(5),
)
async def test_what_json_cannot_say_is_named_where_the_schema_allows_it(
    annotation: Any, value: Any, *, fits: bool
) -> None:
    bound = serving(annotation, value).operations["take"]
    response = await bound.call({}, CallScope(max_response_bytes=100_000))
    check_wellformed(response, bound)
    assert response.success is fits
    if response.error is not None:
        assert response.error.code == "BAD_OUTPUT"


async def test_a_result_that_is_too_large_comes_with_a_way_to_narrow_it() -> None:
    class Large(BaseTool):
        @operation(read_only=True)
        async def search(self, query: str, limit: int = 100) -> list[str]:
            """Return many lines."""
            return [query * 100] * limit

    bound = Large(runtime=quiet_runtime()).operations["search"]
    scope = CallScope(max_response_bytes=5_000)
    response = await bound.call({"query": "ab"}, scope)
    wire = check_wellformed(response, bound)
    assert response.error is not None
    assert (response.error.code, response.error.category) == ("RESULT_TOO_LARGE", "infeasible")
    assert response.error.next_step is not None
    assert len(str(wire)) < 2_000
    narrowed = await bound.call(response.error.next_step.arguments, scope)
    assert narrowed.success


@pytest.mark.parametrize("annotation", [list[int], tuple[int, ...], Iterable[int], dict[str, list[int]]])
async def test_a_result_without_an_end_is_answered(annotation: Any) -> None:
    """Pydantic draws on an iterator until memory is used up."""
    value = {"numbers": itertools.count()} if "dict" in str(annotation) else itertools.count()
    bound = serving(annotation, value).operations["take"]
    response = await bound.call({}, CallScope())
    check_wellformed(response, bound)
    assert response.error is not None
    assert response.error.code == "BAD_OUTPUT"


@pytest.mark.parametrize("annotation", [list[int], Iterable[int]])
async def test_the_items_of_a_generator_are_the_result(annotation: Any) -> None:
    bound = serving(annotation, (number for number in (1, 2))).operations["take"]
    response = await bound.call({}, CallScope(max_response_bytes=100_000))
    check_wellformed(response, bound)
    assert response.data == [1, 2]


async def test_a_generator_that_breaks_is_a_failure_like_any_other() -> None:
    bound = serving(list[int], (1 // number for number in (1, 0))).operations["take"]
    response = await bound.call({}, CallScope(max_response_bytes=100_000))
    check_wellformed(response, bound)
    assert response.error is not None
    assert response.error.code == "UNKNOWN_ERROR"


@pytest.mark.parametrize("annotation", [Any, object, NoReturn, Result])
def test_a_type_that_json_cannot_describe_is_described_as_any(annotation: Any) -> None:
    assert Result(annotation).schema == {}


def test_a_schema_has_no_title_that_repeats_a_name() -> None:
    schema = Result(list[Part]).schema
    part = schema["$defs"]["Part"]
    assert "title" not in schema
    assert "title" not in part
    assert "title" not in part["properties"]["first_name"]
    assert part["properties"]["label"]["title"] == "Shown to people"


async def test_a_declared_type_is_read_at_its_first_use() -> None:
    read = []

    class Read:
        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
            read.append(source)
            return handler(int)

    class Tools(BaseTool):
        @operation
        async def count(self) -> Read:
            """Count."""
            return 1

    tools = Tools(runtime=quiet_runtime())
    assert (tools.operations["count"].output_schema() is not None, read) == (True, [])
    assert [(await tools.count()).data for _ in range(2)] == [1, 1]
    assert read == [Read]
    assert tools.operations["count"].result.schema == {"type": "integer"}
