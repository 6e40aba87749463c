"""For any arguments the answer is well-formed, all faults are reported, and what is accepted fits the schema."""

from __future__ import annotations

import asyncio
import datetime as dt
import enum
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal
from uuid import UUID

import jsonschema
import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import BaseModel, Field

from failsoft import BaseTool, operation
from tests.doors import BoundOperation, CallScope, json_safe, lint_failure
from tests.framework.recording import quiet_runtime
from tests.framework.wellformed import check_wellformed
from tests.laws.hostile import arguments, json_trees, odd_trees
from tests.thorough import examples


class Mode(enum.Enum):
    FAST = "fast"
    EXACT = "exact"


class Edit(BaseModel):
    old_string: Annotated[str, Field(min_length=1, max_length=100)]
    new_string: str = ""
    replace_all: bool = False
    below: list[Edit] = []


class Circle(BaseModel):
    kind: Literal["circle"]
    radius: float


class Square(BaseModel):
    kind: Literal["square"]
    side: int


class Target(BaseTool):
    """Operations with parameters of every kind."""

    @operation(read_only=True)
    async def plain(self, word: str, number: int = 0, ratio: float = 0.5, *, flag: bool = False) -> Any:
        """Return scalars."""
        return [word, number, ratio, flag]

    @operation()
    async def bounded(
        self,
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        name: Annotated[str, Field(min_length=1, max_length=10, pattern=r"^[a-z]+$")] = "a",
        mode: Mode = Mode.FAST,
        kind: Literal["one", "two"] = "one",
    ) -> Any:
        """Return bounded values."""
        return [limit, name, mode, kind]

    @operation(idempotent=True)
    async def nested(
        self, edits: list[Edit], table: dict[str, list[int]] | None = None, shape: Circle | Square | None = None
    ) -> Any:
        """Return nested values."""
        return [edits, table, shape]

    @operation(read_only=True)
    def written(self, day: dt.date | None = None, handle: UUID | None = None, numbers: set[int] | None = None) -> Any:
        """Return values that JSON writes as text."""
        return [day, handle, numbers]

    @operation(read_only=True)
    async def anything(self, value: Any = None, either: int | str | list[str] | None = None) -> Any:
        """Return anything."""
        return [value, either]

    @operation(read_only=True)
    async def nothing(self) -> None:
        """Return nothing."""

    @operation(
        read_only=True,
        input_schema={
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1},
                "filters": {"type": "object", "additionalProperties": {"type": ["string", "integer"]}},
                "sort": {"anyOf": [{"const": "up"}, {"type": "object", "properties": {"by": {"type": "string"}}}]},
            },
            "required": ["query"],
        },
    )
    async def proxy(self, **arguments: Any) -> Any:
        """Return the arguments of a schema."""
        return arguments


FITTING: dict[str, dict[str, SearchStrategy[Any]]] = {
    "plain": {"word": st.text(), "number": st.integers(), "ratio": st.floats(-1e9, 1e9), "flag": st.booleans()},
    "bounded": {
        "limit": st.integers(1, 100),
        "name": st.from_regex(r"[a-z]{1,10}", fullmatch=True),
        "mode": st.sampled_from(["fast", "exact"]),
        "kind": st.sampled_from(["one", "two"]),
    },
    "nested": {
        "edits": st.lists(st.fixed_dictionaries({"old_string": st.text(min_size=1, max_size=9)}), max_size=3),
        "table": st.dictionaries(st.text(max_size=3), st.lists(st.integers(), max_size=3), max_size=3),
        "shape": st.fixed_dictionaries({"kind": st.sampled_from(["circle", "square"]), "side": st.integers()}),
    },
    "written": {
        "day": st.dates().map(str),
        "handle": st.uuids().map(str),
        "numbers": st.lists(st.integers(), unique=True, max_size=4),
    },
    "anything": {"value": json_trees, "either": st.one_of(st.integers(), st.text(), st.lists(st.text(), max_size=2))},
    "nothing": {},
    "proxy": {"query": st.text(min_size=1), "filters": st.dictionaries(st.text(), st.text()), "sort": st.just("up")},
}


@pytest.fixture(scope="module")
def target() -> Target:
    return Target(runtime=quiet_runtime(detail="full"))


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def calls(trees: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.one_of(
        [st.tuples(st.just(name), arguments(list(fitting), fitting, trees)) for name, fitting in FITTING.items()]
    )


FORMATS = jsonschema.FormatChecker(["date", "uuid"])


@cache
def validator(bound: BoundOperation) -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(bound.input_schema)
    return jsonschema.Draft202012Validator(bound.input_schema)


MANY = settings(max_examples=examples(1_500), suppress_health_check=list(HealthCheck))


@MANY
@given(call=calls(json_trees))
@example(call=("written", {"numbers": [0, 0]}))
def test_json_of_any_kind_gets_a_wellformed_answer(target: Target, runner: asyncio.Runner, call: Any) -> None:
    name, params = call
    bound = target.operations[name]
    response = runner.run(answer(target, name, params))
    check_wellformed(response, bound)
    given_object = {} if params is None else params
    schema = validator(bound)
    if response.success:
        schema.validate(given_object)
        return
    assert response.error is not None
    assert response.error.code == "INVALID_PARAM"
    assert response.error.violations
    assert (response.error.effect, response.error.rejected) == ("none", True)
    assert lint_failure(response.error, target.toolbox) == []
    assert not schema.evolve(format_checker=FORMATS).is_valid(given_object) or has_integral_floats(params)


@MANY
@given(call=calls(odd_trees))
@example(call=("plain", {":$ A": None}))
def test_what_is_no_json_gets_a_wellformed_answer(target: Target, runner: asyncio.Runner, call: Any) -> None:
    name, params = call
    response = runner.run(answer(target, name, params))
    check_wellformed(response, target.operations[name])
    if response.error is not None:
        assert response.error.code in {"INVALID_PARAM", "RESULT_TOO_LARGE"}
        found = [each for each in lint_failure(response.error, target.toolbox) if each.name != "path"]
        assert found == []


@given(name=st.one_of(st.text(), st.sampled_from(list(FITTING)).map(lambda name: name[1:])), params=odd_trees)
def test_any_name_gets_a_wellformed_answer(target: Target, runner: asyncio.Runner, name: str, params: Any) -> None:
    response = runner.run(target.execute_with_error_handling(name, params))
    assert response.error is not None or name in target.operations
    assert len(response.encode().text) < 5_000 or response.success


async def answer(target: Target, name: str, params: Any) -> Any:
    return await target.operations[name].call(params, CallScope(max_response_bytes=1_000_000))


def has_integral_floats(tree: Any) -> bool:
    """Return whether JSON Schema would take a float here for an integer (`5.0`); we are stricter."""
    if isinstance(tree, float):
        return tree.is_integer()
    if isinstance(tree, dict):
        return any(map(has_integral_floats, tree.values()))
    return isinstance(tree, list) and any(map(has_integral_floats, tree))


@given(value=json_trees)
def test_what_passes_unchanged_comes_back_unchanged(target: Target, runner: asyncio.Runner, value: Any) -> None:
    response = runner.run(target.anything(value=value))
    assert response.to_dict()["data"][0] == json_safe(value)
