"""Stage 1: strict JSON types, unknown names refused, all faults at once, and error classes for single parameters."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import uuid
from typing import Annotated, Any, ClassVar, Literal, NotRequired

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from failsoft import BaseTool, Fault, InvalidArgument, operation
from tests.each import each
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Edit(BaseModel):
    old: str
    count: int = 1
    when: dt.date | None = None


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    known: int = 0


class Point(TypedDict):
    x: float
    y: NotRequired[float]


class InvalidLimit(InvalidArgument):
    """A limit of a test."""

    code: ClassVar[str] = "TEST_INVALID_LIMIT"


class EmptyName(InvalidArgument):
    """A name of a test."""

    code: ClassVar[str] = "TEST_EMPTY_NAME"


def even(number: int) -> int:
    if number % 2:
        msg = "must be even"
        raise ValueError(msg)
    return number


class Forms(BaseTool):
    """One parameter of each kind."""

    @operation(read_only=True)
    async def take(  # noqa: PLR0913, PLR0917 - one of each kind
        self,
        integer: int = 0,
        number: float = 0.0,
        flag: bool = False,
        text: str = "",
        bounded: Annotated[int, Field(ge=1, le=9)] = 1,
        short: Annotated[str, Field(max_length=3)] = "",
        shaped: Annotated[str, Field(pattern="^[a-z]+$")] = "a",
        literal: Literal["one", "two"] = "one",
        color: Color = Color.RED,
        day: dt.date | None = None,
        moment: dt.datetime | None = None,
        handle: uuid.UUID | None = None,
        price: decimal.Decimal | None = None,
        edits: list[Edit] | None = None,
        point: Point | None = None,
        names: dict[str, int] | None = None,
        unique: set[int] | None = None,
        pair: tuple[int, str] | None = None,
        checked: Annotated[int, AfterValidator(even)] = 0,
    ) -> Any:
        """Return what was received."""
        return {name: value for name, value in locals().items() if name != "self"}

    @operation(read_only=True)
    async def open(self, item: Open) -> Any:
        """Return the names that were received."""
        return sorted(item.model_dump())

    @operation(read_only=True)
    async def limited(
        self,
        name: Annotated[str, Field(min_length=1), Fault(EmptyName, "length")],
        limit: Annotated[int, Field(ge=1), Fault(InvalidLimit)] = 1,
        other: int = 0,
    ) -> str:
        """Return the name."""
        return f"{name}{limit}{other}"


@pytest.fixture
def forms() -> Forms:
    return Forms(runtime=quiet_runtime())


ACCEPTED = [
    ("integer", 5, 5),
    ("number", 5, 5.0),
    ("integer", 5.0, 5),
    ("number", 5.5, 5.5),
    ("flag", True, True),
    ("literal", "two", "two"),
    ("color", "green", Color.GREEN),
    ("day", "2026-01-31", dt.date(2026, 1, 31)),
    ("moment", "2026-01-31T10:00:00Z", dt.datetime(2026, 1, 31, 10, tzinfo=dt.UTC)),
    ("handle", "12345678-1234-5678-1234-567812345678", uuid.UUID("12345678-1234-5678-1234-567812345678")),
    ("price", "1.50", decimal.Decimal("1.50")),
    ("edits", [{"old": "a", "when": "2026-01-31"}], [Edit(old="a", when=dt.date(2026, 1, 31))]),
    ("point", {"x": 1}, {"x": 1.0}),
    ("names", {"a": 1}, {"a": 1}),
    ("unique", [1, 2], {1, 2}),
    ("unique", [1, 1], {1}),
    ("pair", [1, "a"], (1, "a")),
    ("day", None, None),
]


@each(("name", "given", "received"), ACCEPTED)
async def test_values_arrive_as_the_declared_type(forms: Forms, name: str, given: Any, received: Any) -> None:
    response = await forms.execute_with_error_handling("take", {name: given})
    assert response.data is not None
    assert response.data[name] == received
    assert type(response.data[name]) is type(received)


REFUSED = [
    ("integer", "5", "type", "integer"),
    ("integer", 5.5, "type", "integer"),
    ("integer", True, "type", "integer"),
    ("integer", None, "type", "integer"),
    ("number", "5.5", "type", "number"),
    ("number", True, "type", "number"),
    ("number", float("nan"), "value", "number"),
    ("number", float("inf"), "value", "number"),
    ("flag", 1, "type", "flag"),
    ("flag", "true", "type", "flag"),
    ("text", 5, "type", "text"),
    ("bounded", 0, "range", "bounded"),
    ("bounded", 10, "range", "bounded"),
    ("short", "long", "length", "short"),
    ("shaped", "A1", "pattern", "shaped"),
    ("literal", "three", "enum", "literal"),
    ("color", "blue", "enum", "color"),
    ("day", "31.1.2026", "format", "day"),
    ("day", 5, "type", "day"),
    ("handle", "nope", "format", "handle"),
    ("edits", [{"old": 1}], "type", "edits.0.old"),
    ("edits", [{"old": "a", "count": "1"}], "type", "edits.0.count"),
    ("edits", [{"old": "a", "oldd": "b"}], "unexpected", "edits.0.oldd"),
    ("edits", [{}], "missing", "edits.0.old"),
    ("edits", {"old": "a"}, "type", "edits"),
    ("point", {"x": "1"}, "type", "point.x"),
    ("point", {"x": 1, "z": 1}, "unexpected", "point.z"),
    ("names", {"a": "1"}, "type", "names.a"),
    ("pair", [1], "length", "pair"),
    ("checked", 3, "value", "checked"),
]


@each(("name", "given", "reason", "path"), REFUSED)
async def test_values_that_do_not_fit_are_refused_with_their_path(
    forms: Forms, name: str, given: Any, reason: str, path: str
) -> None:
    response = await forms.execute_with_error_handling("take", {name: given})
    assert response.error is not None
    assert response.error.code == "INVALID_PARAM"
    (violation,) = response.error.violations
    assert violation.path.startswith(name)
    if path != name and "." in path:
        assert violation.path == path
    assert violation.reason == reason or (reason == "value" and violation.reason in {"value", "range", "type"})


async def test_all_faults_come_in_one_answer(forms: Forms) -> None:
    params = {"integer": "x", "bounded": 0, "literal": "three", "tekst": "a", "edits": [{}, {"old": 2}]}
    response = await forms.execute_with_error_handling("take", params)
    assert response.error is not None
    found = {(violation.path, violation.reason) for violation in response.error.violations}
    assert found == {
        ("integer", "type"),
        ("bounded", "range"),
        ("literal", "enum"),
        ("tekst", "unexpected"),
        ("edits.0.old", "missing"),
        ("edits.1.old", "type"),
    }
    assert response.error.effect == "none"
    assert response.error.rejected


async def test_an_unknown_name_is_answered_with_the_closest_one(forms: Forms) -> None:
    response = await forms.execute_with_error_handling("take", {"Text": "a"})
    assert response.error is not None
    (violation,) = response.error.violations
    assert (violation.path, violation.reason, violation.suggestion) == ("Text", "unexpected", "text")
    assert response.error.next_step is not None
    assert response.error.next_step.to_dict() == {"tool": "take", "arguments": {"text": "a"}}


async def test_an_enum_is_answered_with_what_is_allowed(forms: Forms) -> None:
    response = await forms.execute_with_error_handling("take", {"color": "gren"})
    assert response.error is not None
    (violation,) = response.error.violations
    assert violation.allowed == ("red", "green")
    assert violation.suggestion == "green"


@pytest.mark.parametrize("name", ["day", "moment", "handle"])
async def test_a_number_is_not_suggested_as_text_where_a_format_is_asked_for(forms: Forms, name: str) -> None:
    response = await forms.execute_with_error_handling("take", {name: 5})
    assert response.error is not None
    (violation,) = response.error.violations
    assert violation.suggestion is None
    assert response.error.next_step is None


async def test_a_model_that_is_open_stays_open(forms: Forms) -> None:
    response = await forms.execute_with_error_handling("open", {"item": {"known": 1, "more": 2}})
    assert response.data == ["known", "more"]


def test_the_schema_says_what_is_enforced(forms: Forms) -> None:
    schema = forms.operations["take"].input_schema
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Edit"]["additionalProperties"] is False
    assert schema["$defs"]["Point"]["additionalProperties"] is False
    assert schema["properties"]["integer"] == {"type": "integer", "default": 0}
    assert "required" not in schema
    assert forms.operations["open"].input_schema["$defs"]["Open"]["additionalProperties"] is True
    assert forms.operations["limited"].input_schema["required"] == ["name"]


def test_the_schema_of_a_set_admits_what_is_given_twice(forms: Forms) -> None:
    (as_list, _null) = forms.operations["take"].input_schema["properties"]["unique"]["anyOf"]
    assert as_list == {"type": "array", "items": {"type": "integer"}}


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"name": "a", "limit": 0}, "TEST_INVALID_LIMIT"),
        ({"name": "a", "limit": "x"}, "TEST_INVALID_LIMIT"),
        ({"name": "", "limit": 0}, "TEST_EMPTY_NAME"),
        ({"name": 1, "limit": 0}, "TEST_INVALID_LIMIT"),
        ({"name": 1}, "INVALID_PARAM"),
        ({"limit": 1}, "INVALID_PARAM"),
        ({"name": "a", "other": "x"}, "INVALID_PARAM"),
        ({"name": "a", "other": "x", "unknown": 1, "limit": -1}, "TEST_INVALID_LIMIT"),
    ],
)
async def test_the_first_constraint_with_an_error_class_decides_the_code(
    forms: Forms, params: dict[str, Any], code: str
) -> None:
    response = await forms.execute_with_error_handling("limited", params)
    assert response.error is not None
    assert response.error.code == code


async def test_an_error_class_of_a_parameter_still_lists_all_violations(forms: Forms) -> None:
    response = await forms.execute_with_error_handling("limited", {"name": "a", "limit": 0, "other": "x", "nope": 1})
    assert response.error is not None
    assert response.error.code == "TEST_INVALID_LIMIT"
    assert {violation.path for violation in response.error.violations} == {"limit", "other", "nope"}


@pytest.mark.parametrize("params", [None, {}])
async def test_no_arguments_are_an_empty_object(forms: Forms, params: Any) -> None:
    assert (await forms.execute_with_error_handling("take", params)).success


CYCLE: dict[str, Any] = {}
CYCLE["names"] = CYCLE
HOSTILE: list[Any] = [
    [1, 2],
    5,
    "text",
    {1: 2},
    {b"intege": 1},
    {"\ud800": 1},
    CYCLE,
    {"integer": object()},
    {"edits": [{"old": float("nan")}]},
    {"a" * 10_000: 1},
]


@each("params", HOSTILE)
async def test_anything_else_is_refused_and_not_raised(forms: Forms, params: Any) -> None:
    response = await forms.execute_with_error_handling("take", params)
    assert response.error is not None
    assert response.error.code == "INVALID_PARAM"
    assert response.error.violations
    assert len(response.encode().text) < 100_000


@pytest.mark.parametrize("params", [{"text": "\ud800"}, {"names": {"\ud800": 1}}, {"edits": [{"old": "a\udfff"}]}])
async def test_odd_text_from_this_process_passes_and_is_sanitized_on_its_way_out(forms: Forms, params: Any) -> None:
    response = await forms.execute_with_error_handling("take", params)
    assert response.success
    assert "\ufffd" in response.encode().text
