"""Contract, section 2: the three stages of validation, JSON Schema tools, and errors that constraints carry."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

import pytest
from pydantic import BaseModel, Field

from failsoft import (
    BaseTool,
    DocumentNotFound,
    Fault,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    Reference,
    Runtime,
    Settings,
    operation,
)
from tests.contract.surroundings import runtime
from tests.doors import Reason
from tests.each import each

pytestmark = pytest.mark.anyio

REASONS = {
    *("missing", "unexpected", "type", "enum", "range", "length"),
    *("pattern", "format", "value", "reference", "unknown_tool"),
}


class InvalidLimit(InvalidArgument):
    """The limit cannot be used.

    Raised when: it is out of range.
    Caller: give one between 1 and 10.
    Operator: nothing to do.
    """

    code = "TEST_CONTRACT_INVALID_LIMIT"
    message = "The limit cannot be used."


class Edit(BaseModel):
    """One edit."""

    old: str
    limit: int = 1


def lookup(path: str) -> None:
    if path.startswith("gone"):
        raise DocumentNotFound(path=path)


async def lookup_person(name: str) -> None:
    if name == "nobody":
        raise NotFound(message="There is no such person.")


Limit = Annotated[int, Field(ge=1, le=10), Fault(InvalidLimit)]


class Desk(BaseTool):
    """A desk with all kinds of parameters."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.stages: list[str] = []

    @operation(read_only=True)
    async def find(
        self,
        path: Annotated[str, Reference(lookup)],
        limit: Limit = 5,
        mode: Literal["lexical", "semantic"] = "lexical",
        edits: list[Edit] | None = None,
        code: Annotated[str, Field(pattern="^[a-z]+$", max_length=3)] = "abc",
        ratio: float = 0.5,
        name: Annotated[str, Reference(lookup_person)] = "someone",
    ) -> str:
        """Find something."""
        self.stages.append("handler")
        return f"{path} {limit} {mode} {edits} {code} {ratio} {name}"

    @find.check
    def is_allowed(self, path: str, limit: int) -> None:
        self.stages.append("check")
        if path == "secret.md":
            raise PermissionDenied(message=f"Not even {limit} of them.")

    @find.plausibility
    def looks_odd(self, result: str) -> list[str]:
        return ["This looks odd."] if "odd" in result else []

    @operation(
        read_only=True,
        input_schema={
            "type": "object",
            "properties": {"count": {"type": "integer", "minimum": 1}, "kind": {"enum": ["a", "b"]}},
            "required": ["count"],
        },
    )
    async def proxy(self, **arguments: Any) -> dict[str, Any]:
        """Pass on."""
        return arguments


async def violations(**arguments: Any) -> dict[str, Any]:
    response = await Desk().execute_with_error_handling("find", arguments)
    assert response.error is not None
    return {item.path: item for item in response.error.violations}


def test_the_reasons_are_those_of_the_contract() -> None:
    assert set(get_args(Reason)) == REASONS


# Stage 1.


async def test_all_faults_come_in_one_answer() -> None:
    desk = Desk()
    response = await desk.execute_with_error_handling(
        "find", {"limit": "5", "mode": "fuzzy", "edits": [{"old": "a", "limit": "x"}], "code": "A", "flavour": 1}
    )
    assert response.error is not None
    assert {(item.path, item.reason) for item in response.error.violations} == {
        ("path", "missing"),
        ("limit", "type"),
        ("mode", "enum"),
        ("edits.0.limit", "type"),
        ("code", "pattern"),
        ("flavour", "unexpected"),
    }
    for name in ("path", "limit", "mode"):  # the first three; `violations` has them all
        assert f"`{name}`" in response.error.message
    assert "and 3 more" in response.error.message
    assert desk.stages == []


@each(
    ("arguments", "path", "reason"),
    [
        ({}, "path", "missing"),
        ({"path": 5}, "path", "type"),
        ({"path": None}, "path", "type"),
        ({"path": "a", "limit": True}, "limit", "type"),
        ({"path": "a", "limit": "5"}, "limit", "type"),
        ({"path": "a", "limit": 1.5}, "limit", "type"),
        ({"path": "a", "limit": 11}, "limit", "range"),
        ({"path": "a", "mode": "fuzzy"}, "mode", "enum"),
        ({"path": "a", "code": "abcd"}, "code", "length"),
        ({"path": "a", "code": "A"}, "code", "pattern"),
        ({"path": "a", "edits": [{"old": "b", "new": "c"}]}, "edits.0.new", "unexpected"),
        ({"path": "a", "edits": [{}]}, "edits.0.old", "missing"),
        ({"path": "a", "ratio": "0.5"}, "ratio", "type"),
    ],
)
async def test_each_fault_has_its_path_and_reason(arguments: dict[str, Any], path: str, reason: str) -> None:
    found = await violations(**arguments)
    assert {name: item.reason for name, item in found.items()} == {path: reason}


async def test_an_integer_is_a_number() -> None:
    response = await Desk().find(path="a", ratio=1)
    assert response.success


async def test_a_violation_names_what_is_expected_and_what_is_closest() -> None:
    found = await violations(path="a", mode="lexica", limits=3)
    assert found["mode"].expected
    assert found["mode"].allowed == ("lexical", "semantic")
    assert found["mode"].suggestion == "lexical"
    assert found["limits"].suggestion == "limit"


async def test_one_wrong_type_is_reported_as_expected_string() -> None:
    response = await Desk().execute_with_error_handling("find", {"path": 123})
    assert response.error is not None
    assert response.error.code == "INVALID_PARAM"
    assert "expected string" in response.error.message


async def test_a_value_is_echoed_only_if_it_is_short_and_no_secret() -> None:
    found = await violations(path="a", mode="x" * 500)
    assert "received" not in found["mode"].to_dict()
    found = await violations(path="a", mode="xyz")
    assert found["mode"].to_dict()["received"] == "xyz"

    class Vault(BaseTool):
        """A vault."""

        @operation(read_only=True)
        async def enter(self, password: int) -> int:
            """Enter."""
            return password

    response = await Vault().execute_with_error_handling("enter", {"password": "hunter2"})
    assert "hunter2" not in str(response.to_dict())


async def test_the_wire_form_of_a_violation_has_the_keys_of_the_contract() -> None:
    desk = Desk(runtime=Runtime(settings=Settings(answer="full")))
    response = await desk.execute_with_error_handling("find", {"path": "a", "mode": "lexica"})
    (violation,) = response.to_dict()["error"]["violations"]
    modes = ["lexical", "semantic"]
    assert violation == {
        "path": "mode", "reason": "enum", "allowed": modes, "suggestion": "lexical",
    }  # fmt: skip


# A constraint that carries its error class.


async def test_a_fault_raises_the_class_that_its_constraint_carries_and_lists_all() -> None:
    response = await Desk().execute_with_error_handling("find", {"limit": 0, "mode": "fuzzy"})
    assert response.error is not None
    assert response.error.code == "TEST_CONTRACT_INVALID_LIMIT"
    assert {item.path for item in response.error.violations} == {"path", "limit", "mode"}


async def test_a_class_that_is_carried_is_not_raised_for_other_faults() -> None:
    response = await Desk().execute_with_error_handling("find", {"mode": "fuzzy"})
    assert response.error is not None
    assert response.error.code == "INVALID_PARAM"


# Stage 2.


async def test_a_reference_that_leads_nowhere_raises_its_own_error_before_the_handler() -> None:
    desk = Desk()
    response = await desk.find(path="gone.md")
    assert response.error is not None
    assert response.error.code == "DOC_NOT_FOUND"
    assert response.error.effect == "none"
    assert "handler" not in desk.stages


async def test_a_lookup_may_be_async() -> None:
    response = await Desk().find(path="a", name="nobody")
    assert response.error is not None
    assert response.error.code == "NOT_FOUND"


async def test_a_lookup_that_returns_false_leads_nowhere_too() -> None:
    class Rooms(BaseTool):
        """Rooms."""

        @operation(read_only=True)
        async def enter(self, rooms: list[Annotated[int, Reference(lambda room: room < 10)]]) -> int:
            """Enter."""
            return len(rooms)

    assert (await Rooms().enter(rooms=[1, 2])).data == 2
    response = await Rooms().enter(rooms=[1, 12])
    assert response.error is not None
    assert response.error.code == "INVALID_PARAM"
    assert [(item.path, item.reason) for item in response.error.violations] == [("rooms.1", "reference")]


async def test_references_are_looked_up_only_after_stage_1() -> None:
    response = await Desk().execute_with_error_handling("find", {"path": "gone.md", "limit": "x"})
    assert response.error is not None
    assert response.error.code == "TEST_CONTRACT_INVALID_LIMIT"


async def test_a_check_raises_a_typed_error_before_the_handler() -> None:
    desk = Desk()
    response = await desk.find(path="secret.md")
    assert response.error is not None
    assert response.error.code == "PERMISSION_DENIED"
    assert response.error.message.startswith("Not even 5 of them.")
    assert desk.stages == ["check"]


# Stage 3.


async def test_plausibility_warns_and_never_fails() -> None:
    response = await Desk().find(path="odd.md")
    assert response.success
    assert response.to_dict()["metadata"]["warnings"] == ["This looks odd."]


# JSON Schema tools.


async def test_a_json_schema_tool_is_checked_in_the_same_way() -> None:
    response = await Desk().execute_with_error_handling("proxy", {"count": "5", "kind": "c", "surplus": 1})
    assert response.error is not None
    assert response.error.code == "INVALID_PARAM"
    assert {(item.path, item.reason) for item in response.error.violations} == {
        ("count", "type"),
        ("kind", "enum"),
        ("surplus", "unexpected"),
    }
    response = await Desk().execute_with_error_handling("proxy", {})
    assert response.error is not None
    assert [(item.path, item.reason) for item in response.error.violations] == [("count", "missing")]


async def test_a_json_schema_tool_is_given_its_arguments() -> None:
    response = await Desk().execute_with_error_handling("proxy", {"count": 2, "kind": "a"})
    assert response.data == {"count": 2, "kind": "a"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"properties": {"a": {}}},
        {"type": "object", "properties": {"a": {"$ref": "https://example.org/a.json"}}},
        {"type": "object", "properties": {"a": {"type": "nonsense"}}},
    ],
    ids=["no object", "no root type", "remote reference", "no schema"],
)
def test_a_schema_that_breaks_clients_is_refused_at_registration(schema: dict[str, Any]) -> None:
    class Broken(BaseTool):
        """Broken."""

        @operation(input_schema=schema)
        async def never(self, **arguments: Any) -> int:
            """Never."""
            return 1

    with pytest.raises(TypeError):
        Broken(runtime=runtime())


# Violations are only on invalid arguments.


async def test_other_failures_have_no_violations() -> None:
    response = await Desk().find(path="gone.md")
    assert "violations" not in response.to_dict()["error"]
