"""True of every wire format: it says what the others say, in its own published shape, of any data and any error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from failsoft import BaseTool, Failure, NextStep, ToolError, ToolResponse, Violation, operation
from tests.catalogue import ERRORS
from tests.doors import FORMATS as KINDS, CallScope
from tests.framework.recording import quiet_runtime
from tests.framework.wellformed import SCHEMAS, check_wellformed
from tests.laws.hostile import json_trees, odd_trees

FORMATS = tuple(KINDS)
FLAT = {"edit_envelope", "coded_error"}
"""Formats that put the fields of the data beside `success`, and the code under `error_code`."""
STYLES = ("lean", "json", "full")
REASONS = ["missing", "unexpected", "type", "enum", "range", "length", "pattern", "format", "value", "reference"]


class Answering(BaseTool):
    """Returns a configured value."""

    value: Any = None
    raised: BaseException | None = None

    @operation()
    async def take(self, key: str = "") -> Any:
        """Return or raise."""
        if self.raised is not None:
            raise self.raised
        return self.value


TOOLS = {
    (name, level, style): Answering(runtime=quiet_runtime(wire_format=name, detail=level, answer=style))
    for name in FORMATS
    for level in ("minimal", "full")
    for style in STYLES
}


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def answer(runner: asyncio.Runner, tool: Answering, *, value: Any = None, raised: Any = None) -> ToolResponse[Any]:
    tool.value, tool.raised = value, raised

    async def call() -> ToolResponse[Any]:
        return await tool.operations["take"].call({"key": "a"}, CallScope(max_response_bytes=200_000))

    return runner.run(call())


@given(value=odd_trees)
def test_data_of_any_kind_is_the_same_in_every_format(runner: asyncio.Runner, value: Any) -> None:
    reported = []
    for name in FORMATS:
        tool = TOOLS[name, "minimal", "lean"]
        response = answer(runner, tool, value=value)
        wire = check_wellformed(response, tool.operations["take"])
        reported.append(data_in(name, wire) if response.success else response.error.code)  # type: ignore[union-attr]
    assert all(one == reported[0] for one in reported)


def data_in(name: str, wire: dict[str, Any]) -> Any:
    """Return the data of a success, from wherever the format has it."""
    if name not in FLAT or "data" in wire:
        return wire["data"]
    return {field: value for field, value in wire.items() if field not in {"success", "metadata"}}


violations = st.lists(
    st.builds(
        Violation,
        path=st.text(max_size=30),
        reason=st.sampled_from(REASONS),
        message=st.text(min_size=1, max_size=60),
        expected=st.text(max_size=20),
        allowed=st.lists(json_trees, max_size=3).map(tuple),
        suggestion=json_trees,
        received=json_trees,
    ),
    max_size=4,
)


@given(
    kind=st.sampled_from(ERRORS),
    level=st.sampled_from(["minimal", "full"]),
    style=st.sampled_from(STYLES),
    facts=st.fixed_dictionaries(
        {"message": st.text(max_size=400)},
        optional={
            "suggestions": st.lists(st.text(max_size=60), max_size=9),
            "details": st.dictionaries(st.text(max_size=9), odd_trees, max_size=3),
            "violations": violations,
            "effect": st.sampled_from(["none", "unknown", "applied"]),
            "next_step": st.just(NextStep("take", {"key": "b"})),
            "retry_after_seconds": st.floats(0, 100),
            "operator_hint": st.text(max_size=20),
        },
    ),
)
def test_an_error_of_any_kind_says_the_same_in_every_format(
    runner: asyncio.Runner, kind: type[ToolError], level: str, style: str, facts: dict[str, Any]
) -> None:
    for name in FORMATS:
        tool = TOOLS[name, level, style]
        response = answer(runner, tool, raised=kind(**facts))
        wire = check_wellformed(response, tool.operations["take"])
        assert response.error is not None
        same_facts(name, wire, response.error, is_full=style == "full")


def same_facts(name: str, wire: dict[str, Any], failure: Failure, *, is_full: bool) -> None:
    """Hold one rendering to the record it was made from."""
    body = wire["error"] if name == "tool_response" else wire
    code = body["code"] if "code" in body else body["error_code"]
    assert code == (failure.code if name == "problem" else failure.exception.code_in(name))
    assert (body["effect"], body["error_id"]) == (failure.effect, failure.error_id)
    assert body.get("next_step") == (failure.next_step.to_dict() if failure.next_step else None)
    listed = body.get("errors" if name == "problem" else "violations", [])
    is_left_out = name != "problem" and failure.is_corrected and not is_full
    assert len(listed) == (0 if is_left_out else len(failure.violations))
    assert ("stack_trace" in body) is (failure.stack_trace is not None)
    assert (body.get("cause") is not None) is (failure.cause is not None)
    assert wire.get("success", not wire.get("error", True)) is False
    if name == "edit_envelope":
        assert body["retryable"] is failure.recoverable
        assert body["recovery_hints"][: len(failure.suggestions)] == list(failure.suggestions)
    elif name == "coded_error":
        assert body["suggestions"][: len(failure.suggestions)] == list(failure.suggestions)
        assert body["suggestions"]
    elif name == "system_error":
        assert body.get("suggestions", []) == list(failure.suggestions)
    elif name != "error_response":
        assert body["retry"] == failure.retry.to_dict()
        assert body.get("suggestions", []) == list(failure.suggestions)


def test_every_format_has_a_published_schema_with_the_keys_that_it_knows() -> None:
    of_no_answer = {"probe", "replay", "status", "status-change"}
    published = {path.name for path in SCHEMAS.glob("*.schema.json")} - {f"{name}.schema.json" for name in of_no_answer}
    assert published == {f"{name}.schema.json" for name in FORMATS}
    for name, kind in KINDS.items():
        schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
        Draft202012Validator.check_schema(schema)
        success, failure = schema["oneOf"]
        assert failure["additionalProperties"] is False
        assert success.get("additionalProperties", True) is (name in FLAT)
        assert set(failure["required"]) == set(kind.required)
        assert set(failure["properties"]) == {*kind.required, *kind.optional}
