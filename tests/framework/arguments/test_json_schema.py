"""Operations declared by a JSON Schema: the same checks and the same violations, and bad schemas refused at once."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft import BaseTool, CallContext, InvalidParameter, NotFound, operation
from tests.doors import JsonSchemaArguments, bounded
from tests.each import each
from tests.framework.recording import quiet_runtime
from tests.framework.wellformed import check_wellformed

pytestmark = pytest.mark.anyio

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 2, "maxLength": 40},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
        "ratio": {"type": "number"},
        "mode": {"enum": ["fast", "exact"]},
        "day": {"type": "string", "format": "date"},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "range": {"$ref": "#/$defs/range"},
    },
    "required": ["query"],
    "$defs": {
        "range": {
            "type": "object",
            "properties": {"low": {"type": "integer"}, "high": {"type": "integer"}},
            "required": ["low"],
            "additionalProperties": False,
        }
    },
}


NULLABLE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "note": {"type": ["string", "null"], "maxLength": 5},
        "lines": {"type": "array", "items": {"type": ["integer", "null"]}},
    },
    "additionalProperties": False,
}


class Proxy(BaseTool):
    """Passes on what it is given."""

    @operation(read_only=True, input_schema=SCHEMA)
    async def search(self, **arguments: Any) -> dict[str, Any]:
        """Return the arguments."""
        return arguments

    @operation(read_only=True, input_schema=NULLABLE)
    async def annotate(self, **arguments: Any) -> dict[str, Any]:
        """Return the arguments."""
        return arguments

    @operation(read_only=True, input_schema=SCHEMA)
    def search_in_thread(self, call: CallContext, **arguments: Any) -> Any:
        """Return the arguments, from a thread."""
        return {"attempt": call.attempt, **arguments}

    @operation(read_only=True, input_schema={"type": "object", "properties": {"self": {}, "a-b": {"type": "integer"}}})
    async def odd_names(self, /, **arguments: Any) -> Any:
        """Return the arguments, whatever their names."""
        return arguments

    @operation(read_only=True, input_schema={"type": "object", "additionalProperties": {"type": "integer"}})
    async def open(self, **arguments: Any) -> Any:
        """Return the arguments."""
        return arguments

    @operation(read_only=True, input_schema={"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}})
    async def named(self, a: int = 3, b: Any = None) -> Any:
        """Return both."""
        return [a, b]

    @search.check
    def is_allowed(self, query: str, limit: int, mode: str | None) -> None:
        if query == "forbidden":
            raise NotFound(message=f"There is nothing of that in {mode or 'any'} mode, limit {limit}.")


@pytest.fixture
def proxy() -> Proxy:
    return Proxy(runtime=quiet_runtime())


async def test_arguments_pass_unchanged(proxy: Proxy) -> None:
    params = {"query": "ab", "limit": 5, "range": {"low": 1}, "tags": ["a"], "day": "2026-01-31", "ratio": 10**400}
    response = await proxy.execute_with_error_handling("search", params)
    assert response.data == params
    assert (await proxy.search_in_thread(**params)).data == {"attempt": 1, **params}
    check_wellformed(response, proxy.operations["search"])


async def test_any_name_can_be_passed_on(proxy: Proxy) -> None:
    response = await proxy.execute_with_error_handling("odd_names", {"self": 1, "a-b": 2})
    assert response.data == {"self": 1, "a-b": 2}
    assert (await proxy.odd_names(**{"self": 1, "a-b": 2})).data == {"self": 1, "a-b": 2}
    assert (await proxy.execute_with_error_handling("open", {"x": 1, "y": 2})).data == {"x": 1, "y": 2}
    assert (await proxy.execute_with_error_handling("named", {"b": 1})).data == [3, 1]


REFUSED: list[tuple[dict[str, Any], set[tuple[str, str]]]] = [
    ({}, {("query", "missing")}),
    ({"query": 5}, {("query", "type")}),
    ({"query": "a"}, {("query", "length")}),
    ({"query": "ab", "limit": "5"}, {("limit", "type")}),
    ({"query": "ab", "limit": True}, {("limit", "type")}),
    ({"query": "ab", "limit": 0}, {("limit", "range")}),
    ({"query": "ab", "mode": "fats"}, {("mode", "enum")}),
    ({"query": "ab", "mode": 10**400}, {("mode", "enum")}),
    ({"query": "ab", "day": "31.1."}, {("day", "format")}),
    ({"query": "ab", "tags": ["a", 1]}, {("tags.1", "type")}),
    ({"query": "ab", "tags": ["a", "a"]}, {("tags", "value")}),
    ({"query": "ab", "range": {"high": "x", "lwo": 1}}, {
        ("range.low", "missing"), ("range.high", "type"), ("range.lwo", "unexpected"),
    }),
    ({"query": "ab", "limt": 5}, {("limt", "unexpected")}),
    ({"limt": 5, "mode": 5, "ratio": "x"}, {
        ("query", "missing"), ("limt", "unexpected"), ("mode", "enum"), ("ratio", "type"),
    }),
]  # fmt: skip


@each(("params", "faults"), REFUSED)
async def test_all_faults_come_at_once_as_from_a_signature(
    proxy: Proxy, params: dict[str, Any], faults: set[tuple[str, str]]
) -> None:
    response = await proxy.execute_with_error_handling("search", params)
    check_wellformed(response, proxy.operations["search"])
    assert response.error is not None
    assert response.error.code == "INVALID_PARAM"
    assert {(item.path, item.reason) for item in response.error.violations} == faults


async def test_a_misspelt_name_is_answered_with_the_right_one(proxy: Proxy) -> None:
    response = await proxy.execute_with_error_handling("search", {"query": "ab", "limt": 5})
    assert response.error is not None
    assert response.error.next_step is not None
    assert response.error.next_step.to_dict() == {"tool": "search", "arguments": {"query": "ab", "limit": 5}}


async def test_checks_run_with_what_is_there_and_the_defaults(proxy: Proxy) -> None:
    response = await proxy.execute_with_error_handling("search", {"query": "forbidden"})
    assert response.error is not None
    assert response.error.code == "NOT_FOUND"
    assert "any mode, limit 10" in response.error.message


cycle: dict[str, Any] = {"query": "ab"}
cycle["range"] = cycle


@pytest.mark.parametrize(
    "params", [[], [1], 5, "text", ["ab"], {1: 2}, cycle, {"query": "ab", "ratio": float("nan")}, {"query": "\ud800a"}]
)
async def test_what_is_no_json_object_is_answered(proxy: Proxy, params: Any) -> None:
    response = await proxy.execute_with_error_handling("search", params)
    check_wellformed(response, proxy.operations["search"])
    assert response.success or response.error.code == "INVALID_PARAM"  # type: ignore[union-attr]


async def test_what_is_no_number_in_json_is_refused(proxy: Proxy) -> None:
    for odd in (float("nan"), float("inf")):
        response = await proxy.execute_with_error_handling("search", {"query": "ab", "ratio": odd})
        assert response.error is not None
        assert [(item.path, item.reason) for item in response.error.violations] == [("ratio", "type")]


BAD_SCHEMAS: list[Any] = [
    {},
    {"type": "array"},
    {"properties": {}},
    {"type": "object", "properties": {"a": {"type": "nonsense"}}},
    {"type": "object", "properties": {"a": {"minimum": "x"}}},
    {"type": "object", "properties": {"a": {"pattern": "("}}},
    {"type": "object", "properties": {"a": {"$ref": "https://example.org/a.json"}}},
    {"type": "object", "properties": {"a": {"$ref": "other.json#/a"}}},
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}},
    {"type": "object", "properties": {"a": {"$dynamicRef": "https://example.org/a.json"}}},
    {"type": "object", "properties": {"self": {}}},
    {"type": "object", "properties": {"call": {}}},
    {"type": "object", "required": "a"},
    {"type": "object", "$ref": "#"},
    {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}},
    {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/b"}},
        "$defs": {"b": {"anyOf": [{}, {"$ref": "#/$defs/b"}]}},
    },
    {"type": "object", "allOf": [{"if": {"not": {"$dynamicRef": "#/allOf/0"}}}]},
]


@each("schema", BAD_SCHEMAS)
def test_a_schema_that_would_break_clients_is_refused_when_the_tool_is_made(schema: Any) -> None:
    class Bad(BaseTool):
        @operation(input_schema=schema)
        async def take(self, call: CallContext, **arguments: Any) -> Any:
            """Take anything."""
            return [call, arguments]

    with pytest.raises(TypeError):
        Bad(runtime=quiet_runtime())


@pytest.mark.parametrize(
    ("kind", "value", "is_accepted"),
    [
        ("date-time", "2026-01-01T00:00:00", True),
        ("date-time", "2026-01-01T00:00:00Z", True),
        ("time", "12:30", True),
        ("uuid", "123456781234567812345678123456ab", True),
        ("uuid", "12345678-1234-5678-1234-5678123456ab", True),
        ("uuid", "x", False),
        ("date", "2026-01-32", False),
    ],
)
def test_a_format_is_as_wide_as_tools_take_it(kind: str, value: str, is_accepted: bool) -> None:
    arguments = JsonSchemaArguments("t", {"type": "object", "properties": {"a": {"type": "string", "format": kind}}})
    if is_accepted:
        assert arguments.validate({"a": value}) == {"a": value}
    else:
        with pytest.raises(InvalidParameter):
            arguments.validate({"a": value})


async def test_a_schema_that_refers_to_itself_below_a_property_describes_a_tree() -> None:
    node = {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}

    class Tree(BaseTool):
        @operation(
            input_schema={"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
        )
        async def take(self, **arguments: Any) -> Any:
            """Take a tree."""
            return arguments

    tree = {"a": {"below": [{"below": []}]}}
    assert (await Tree(runtime=quiet_runtime()).execute_with_error_handling("take", tree)).data == tree


def test_a_schema_with_a_name_that_the_handler_does_not_take_is_refused() -> None:
    class Bad(BaseTool):
        @operation(input_schema={"type": "object", "properties": {"a": {}, "b": {}}})
        async def take(self, a: int) -> Any:
            """Take one."""
            return a

    with pytest.raises(TypeError, match="b"):
        Bad(runtime=quiet_runtime())


def test_the_schema_that_was_given_is_not_changed() -> None:
    before = {"type": "object", "properties": {"a": {}}}

    class Given(BaseTool):
        @operation(input_schema=before)
        async def take(self, **arguments: Any) -> Any:
            """Take one."""
            return arguments

    assert Given(runtime=quiet_runtime()).operations["take"].input_schema["additionalProperties"] is False
    assert before == {"type": "object", "properties": {"a": {}}}


@pytest.mark.parametrize("given", [{}, {"note": "short"}, {"note": None, "lines": [1, None]}])
async def test_several_types_of_one_value_are_accepted(given: dict[str, Any]) -> None:
    response = await Proxy(runtime=quiet_runtime()).execute_with_error_handling("annotate", given)
    assert response.data == given


async def test_several_types_of_one_value_are_checked() -> None:
    given = {"note": "too long", "lines": ["1", None]}
    response = await Proxy(runtime=quiet_runtime()).execute_with_error_handling("annotate", given)
    assert response.error is not None
    assert {(fault.path, fault.reason) for fault in response.error.violations} == {
        ("note", "length"),
        ("lines.0", "type"),
    }


@pytest.mark.parametrize(
    ("sent", "refused"),
    [
        ({"a": "x"}, {}),
        ({"b": 1}, {}),
        ({"b": "x"}, {"b": "type"}),
        ({"a": "x", "c": 1}, {"c": "unexpected"}),
    ],
)
def test_names_in_the_branches_of_the_whole_schema_are_known(sent: dict[str, Any], refused: dict[str, str]) -> None:
    branches = [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
    ]
    arguments = JsonSchemaArguments("t", {"type": "object", "oneOf": branches})
    assert {one.path: one.reason for one in arguments.violations(sent)} == refused


@pytest.mark.parametrize("name", ["plan\u202e", "pl\u200ban", "\x1b[31mplan", "plan" * 200])
def test_names_of_a_schema_that_hide_something_or_are_too_long_are_not_listed(name: str) -> None:
    schema = {"type": "object", "properties": {name: {}, "path": {}}}
    (fault,) = JsonSchemaArguments("t", schema).violations({"plan": 1})
    assert fault.allowed == ("path",)
    assert fault.suggestion is None
    assert bounded(fault.message) == fault.message
    assert bounded(fault.expected) == fault.expected
