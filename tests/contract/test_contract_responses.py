"""Contract, section 4: the two shapes of `tool_response`, detail by environment, redaction, and the limit of size."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from pydantic import BaseModel

from failsoft import (
    BaseTool,
    CallContext,
    Conflict,
    NotFound,
    Public,
    RecoveryManager,
    RecoveryResult,
    Runtime,
    Settings,
    ToolError,
    operation,
)
from tests.contract.surroundings import runtime

pytestmark = pytest.mark.anyio

ERROR_KEYS = {
    *("message", "code", "category", "tool", "operation", "retry", "effect", "stop_reason", "suggestions", "next_step"),
    *("details", "violations", "error_id", "timestamp"),
}
REQUIRED = ERROR_KEYS - {"stop_reason", "suggestions", "next_step", "details", "violations"}


class ShelfEmpty(NotFound):
    """The shelf is empty.

    Raised when: the tests say so.
    Caller: look at another one.
    Operator: fill it.
    """

    shelf: Public[str]
    keeper: str = "somebody"
    code = "TEST_CONTRACT_SHELF_EMPTY"
    message = "The shelf '{shelf}' is empty."


class Item(BaseModel):
    """Something on a shelf."""

    name: str
    count: int | None = None


class Other:
    """Looks at another shelf."""

    name = "other_shelf"

    async def attempt(self, error: ToolError, call: CallContext) -> RecoveryResult | None:
        if call.arguments["shelf"] != "moved":
            return None
        return RecoveryResult(await call.retry(shelf="full"), "Looked at the shelf 'full'.", {"shelf": "full"})


class Shelves(BaseTool):
    """Shelves with things on them."""

    def __init__(self, **settings: Any) -> None:
        manager = RecoveryManager({ShelfEmpty: Other()})
        super().__init__(runtime=Runtime(settings=Settings(**settings), recovery=manager))

    @operation(read_only=True)
    async def take(self, call: CallContext, shelf: str) -> Item:
        """Take something."""
        if shelf == "full":
            call.cache_hit = False
            call.documents_processed = 1
            return Item(name="box")
        if shelf == "broken":
            raise Conflict(message="The shelf is broken.") from OSError("/home/keeper/plan.txt is torn")
        step = {"tool": "list_shelves", "arguments": {}}
        raise ShelfEmpty(shelf=shelf, suggestions=["full"], next_step=step, details={"looked": 3})

    @operation(read_only=True)
    async def list_shelves(self) -> list[str]:
        """List them."""
        return ["full"]


async def wire_of(shelf: Any, **settings: Any) -> dict[str, Any]:
    return (await Shelves(**settings).execute_with_error_handling("take", {"shelf": shelf})).to_dict()


def has_null(tree: Any) -> bool:
    if isinstance(tree, dict):
        return any(has_null(item) for item in tree.values())
    return tree is None or (isinstance(tree, list) and any(map(has_null, tree)))


# The shapes.


async def test_a_success_has_the_shape_of_the_contract() -> None:
    wire = await wire_of("full")
    assert set(wire) == {"success", "data", "metadata"}
    assert wire["success"] is True
    assert wire["data"]["name"] == "box"
    assert wire["metadata"] == {"cache_hit": False, "documents_processed": 1}


async def test_a_recovered_success_names_what_was_changed() -> None:
    wire = await wire_of("moved")
    assert wire["success"] is True
    assert wire["metadata"]["recovery"] == {
        "strategy": "other_shelf",
        "message": "Looked at the shelf 'full'.",
        "attempts": 2,
        "changed": {"shelf": "full"},
    }


async def test_a_failure_has_the_shape_of_the_contract() -> None:
    wire = await wire_of("north", answer="full")
    assert set(wire) == {"success", "error", "metadata"}
    assert wire["success"] is False
    assert set(wire["error"]) <= ERROR_KEYS
    assert set(wire["error"]) >= REQUIRED
    error = wire["error"]
    assert (error["code"], error["category"]) == ("TEST_CONTRACT_SHELF_EMPTY", "not_found")
    assert (error["tool"], error["operation"]) == ("shelves", "take")
    assert (error["retry"], error["effect"]) == ({"when": "after_fix"}, "none")
    assert error["suggestions"] == ["full"]
    assert error["next_step"] == {"tool": "list_shelves", "arguments": {}}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", error["timestamp"])
    assert wire["metadata"]["execution_time_ms"] >= 0


@pytest.mark.parametrize("environment", ["production", "development"])
@pytest.mark.parametrize("shelf", ["north", "broken", 5])
async def test_what_is_absent_is_omitted_and_never_null(shelf: Any, environment: str) -> None:
    assert not has_null(await wire_of(shelf, environment=environment))


async def test_the_attributes_in_python_are_those_on_the_wire() -> None:
    response = await Shelves(answer="full").take(shelf="north")
    assert response.success is False
    assert response.data is None
    failure = response.error
    assert failure is not None
    wire = response.to_dict()["error"]
    for name in ("message", "code", "category", "tool", "operation", "effect", "error_id", "timestamp"):
        assert getattr(failure, name) == wire[name]
    assert failure.retry.when == wire["retry"]["when"]
    assert failure.retry.after_seconds is None
    assert list(failure.suggestions) == wire["suggestions"]
    assert failure.next_step is not None
    assert failure.next_step.tool == wire["next_step"]["tool"]
    recovered = await Shelves().take(shelf="moved")
    assert recovered.metadata.recovery is not None
    assert recovered.metadata.recovery.changed == {"shelf": "full"}
    assert recovered.metadata.recovery.attempts == 2
    assert recovered.metadata.execution_time_ms > 0


# Detail by environment.


async def test_production_is_the_default_and_sends_no_details_cause_or_stack() -> None:
    assert Settings().environment == "production"
    for shelf in ("north", "broken"):
        error = (await wire_of(shelf))["error"]
        assert not {"details", "cause", "stack_trace"} & set(error)
        assert "plan.txt" not in json.dumps(error)


@pytest.mark.parametrize("environment", ["staging", "development"])
async def test_staging_and_development_send_details(environment: str) -> None:
    error = (await wire_of("north", environment=environment))["error"]
    assert error["details"] == {"shelf": "north", "keeper": "somebody", "looked": 3}
    assert not {"cause", "stack_trace"} & set(error)


async def test_the_level_of_detail_overrides_the_environment() -> None:
    assert "details" in (await wire_of("north", detail="standard"))["error"]
    assert "details" not in (await wire_of("north", environment="development", detail="minimal"))["error"]
    error = (await wire_of("broken", detail="full"))["error"]
    assert error["cause"]
    assert "cause" not in (await wire_of("broken", detail="standard"))["error"]


@pytest.mark.parametrize("environment", ["production", "staging", "development"])
async def test_the_operator_may_ask_for_stacks_in_any_environment(environment: str) -> None:
    error = (await wire_of("broken", environment=environment, debug_stack=True))["error"]
    assert "Conflict" in error["stack_trace"]


@pytest.mark.parametrize("name", ["FAILSOFT_DEBUG_STACK", "DEBUG_STACK"])
def test_the_variable_for_stacks_has_the_seeds_name_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "true")
    assert Settings().debug_stack is True


@pytest.mark.parametrize(
    ("variable", "value", "name", "expected"),
    [
        ("FAILSOFT_ENVIRONMENT", "staging", "environment", "staging"),
        ("FAILSOFT_DETAIL", "full", "detail", "full"),
        ("FAILSOFT_WIRE_FORMAT", "problem", "wire_format", "problem"),
        ("FAILSOFT_MAX_RESPONSE_BYTES", "2000", "max_response_bytes", 2000),
        ("FAILSOFT_SLOW_CALL_S", "1.5", "slow_call_s", 1.5),
    ],
)
def test_a_setting_is_read_from_its_variable(
    variable: str, value: str, name: str, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    assert getattr(Settings(), name) == expected


@pytest.mark.parametrize(
    ("variable", "value"),
    [("FAILSOFT_ENVIRONMENT", "qa"), ("FAILSOFT_DETAIL", "lots"), ("FAILSOFT_MAX_RESPONSE_BYTES", "many")],
)
def test_a_bad_value_is_an_error_that_names_the_variable(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ToolError) as caught:
        Settings.load()
    assert caught.value.code == "CONFIG_ERROR"
    assert variable in str(caught.value)


async def test_suggestions_steps_and_violations_are_sent_at_every_level() -> None:
    for settings in ({"detail": "minimal"}, {"detail": "full"}, {"environment": "staging"}):
        error = (await wire_of("north", **settings))["error"]
        assert error["suggestions"] == ["full"]
        assert error["next_step"]["tool"] == "list_shelves"
        assert (await wire_of(5, **settings))["error"]["violations"][0]["path"] == "shelf"


async def test_a_new_runtime_reads_the_environment_as_it_is_then(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bare(BaseTool):
        """Nothing given."""

        @operation(read_only=True)
        async def fail(self) -> int:
            """Fail."""
            raise NotFound(message="There is nothing.", details={"looked": 3})

    assert "details" not in (await Bare().fail()).to_dict()["error"]
    monkeypatch.setenv("FAILSOFT_ENVIRONMENT", "development")
    assert Runtime().settings.environment == "development"
    assert "details" in (await Bare().fail()).to_dict()["error"]


# Data.


async def test_data_is_what_the_handler_returned() -> None:
    response = await Shelves().take(shelf="full")
    assert response.data == Item(name="box")


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), "\ud800", b"\xff\xfe", {1: 2}, object(), 10**5_000],
    ids=["nan", "inf", "surrogate", "bytes", "keys", "object", "digits"],
)
async def test_a_response_is_always_json(value: Any) -> None:
    class Odd(BaseTool):
        """Odd values."""

        @operation(read_only=True)
        async def get(self) -> Any:
            """Get."""
            return value

    wire = (await Odd(runtime=runtime()).get()).to_dict()
    assert json.loads(json.dumps(wire, allow_nan=False)) == wire
    json.dumps(wire, ensure_ascii=False).encode()
