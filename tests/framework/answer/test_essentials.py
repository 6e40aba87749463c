"""What an answer holds by default: what its caller acts on, each fact once."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

import pytest

from failsoft import (
    BaseTool,
    ConfigurationError,
    NotFound,
    PermissionDenied,
    RecoveryManager,
    RecoveryResult,
    Settings,
    ToolError,
    operation,
)
from tests.each import each
from tests.framework.recording import quiet_runtime
from tests.framework.wellformed import SCHEMAS

pytestmark = pytest.mark.anyio

META_KEY = "dev.failsoft/error"
ESSENTIAL = {"message", "code", "category", "retry", "effect", "error_id"}


class Elsewhere:
    """Finds a title on another shelf."""

    name = "elsewhere"

    async def attempt(self, error: ToolError, call: Any) -> RecoveryResult | None:
        return RecoveryResult("found", "Found on another shelf")


class Books(BaseTool):
    """Books by their titles."""

    @operation(read_only=True)
    async def get_book(self, title: str = "Dune", limit: int = 3) -> str:
        """Return a book."""
        if title == "gone":
            raise NotFound("It is gone.")
        return f"{title}{limit}"


def books(**settings: Any) -> Books:
    return Books(runtime=quiet_runtime(**settings))


async def test_a_failure_has_the_essentials_by_default() -> None:
    answer = (await books().get_book(title="gone")).to_dict()
    assert set(answer) == {"success", "error"}
    assert set(answer["error"]) == ESSENTIAL


async def test_the_meta_of_a_failure_says_which_call_it_was_and_when() -> None:
    meta = (await books().get_book(title="gone")).encode().meta
    if meta is None:
        pytest.fail("a failure has to have meta")
    assert {"code", "tool", "operation", "timestamp"} <= set(meta[META_KEY])
    assert "execution_time_ms" in json.dumps(meta)


async def test_a_success_without_anything_to_report_has_no_metadata() -> None:
    encoded = (await books().get_book()).encode()
    assert encoded.structured == {"success": True, "data": "Dune3"}
    assert "execution_time_ms" in json.dumps(encoded.meta)


async def test_the_text_of_a_failure_is_lean_by_default() -> None:
    text = (await books().get_book(title="gone")).encode().text
    assert text.splitlines()[0].startswith("get_book failed (NOT_FOUND): ")


async def test_the_setting_of_the_answer_makes_its_text_the_json_of_the_essentials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAILSOFT_ANSWER", "json")
    encoded = (await books().get_book(title="gone")).encode()
    assert json.loads(encoded.text) == encoded.structured
    assert set(encoded.structured["error"]) == ESSENTIAL


async def test_a_message_does_not_repeat_the_call_of_the_next_step() -> None:
    failure = (await books().execute_with_error_handling("get_book", {"limit": "5"})).error
    if failure is None or failure.next_step is None:
        pytest.fail("the call has no next step")
    assert '{"limit":5}' not in failure.message
    assert "Call `get_book`" not in failure.message


async def test_violations_that_the_next_step_corrects_are_left_out() -> None:
    answer = (await books().execute_with_error_handling("get_book", {"limit": "5"})).to_dict()["error"]
    if answer["next_step"] != {"tool": "get_book", "arguments": {"limit": 5}}:
        pytest.fail("the next step does not correct the call")
    assert "violations" not in answer


async def test_the_receipt_of_a_recovered_call_leaves_out_what_is_empty_or_false() -> None:
    manager = RecoveryManager()
    manager.register(NotFound, Elsewhere())
    answer = (await books(recovery=manager).get_book(title="gone")).to_dict()
    receipt = answer["metadata"]["recovery"]
    assert [name for name, value in receipt.items() if not value] == []


def test_the_published_schema_requires_only_the_essentials() -> None:
    schema = json.loads((SCHEMAS / "tool_response.schema.json").read_text(encoding="utf-8"))
    (failure,) = [shape for shape in schema["oneOf"] if "error" in shape["properties"]]
    assert set(failure["required"]) == {"success", "error"}
    assert set(failure["properties"]["error"]["required"]) == ESSENTIAL


def test_the_output_schema_of_a_tool_is_short_by_default() -> None:
    schema = books().operations["get_book"].output_schema()
    assert set(schema["properties"]) == {"success"}
    assert len(json.dumps(schema, separators=(",", ":"))) <= 100


async def test_an_answer_is_printed_as_one_short_line_without_addresses() -> None:
    responses = [await books().get_book(title="gone"), await books().get_book()]
    printed = [text for one in (*responses, responses[0].error) for text in (repr(one), str(one))]
    wrong = [text for text in printed if re.search(r"0x[0-9a-f]{6}|\n", text) or len(text) > 300]
    assert wrong == []


def test_the_output_schema_is_short_full_or_off(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = []
    for value in ("short", "full", "off"):
        monkeypatch.setenv("FAILSOFT_OUTPUT_SCHEMA", value)
        try:
            Settings()
        except ConfigurationError:
            refused.append(value)
    assert refused == []


class Orders(BaseTool):
    """Orders by their numbers."""

    @operation(destructive=False)
    async def add_order(self, number: str, count: int = 1) -> str:
        """Add an order."""
        return f"{number}{count}"

    @operation(read_only=True)
    async def get_order(self, number: str, only: Literal["open", "paid"] = "open") -> str:
        """Return an order."""
        return number + only


def refused(operation_name: str, wire_format: str = "tool_response", **arguments: Any) -> Any:
    tool = Orders(runtime=quiet_runtime(wire_format=wire_format))
    return tool.execute_with_error_handling(operation_name, arguments)


@each("wire_format", ["tool_response", "coded_error", "edit_envelope", "system_error", "error_response", "problem"])
async def test_a_misspelt_name_counts_once_in_every_format(wire_format: str) -> None:
    response = await refused("add_order", wire_format, numbr="7")
    answer = response.to_dict()
    listed = answer.get("error", answer) if wire_format == "tool_response" else answer
    if wire_format == "error_response":
        assert (answer["message"], answer["details"]["totalErrors"]) == ("Validation failed: 1 error", 1)
        assert list(answer["details"]["fieldErrors"]) == ["numbr"]
    else:
        (fault,) = listed["errors" if wire_format == "problem" else "violations"]
        assert (fault["reason"], fault["suggestion"]) == ("unexpected", "number")
    assert response.error.faults == 1


@each("wire_format", ["tool_response", "coded_error", "edit_envelope", "system_error", "error_response"])
async def test_faults_that_the_next_step_corrects_are_not_listed(wire_format: str) -> None:
    answer = (await refused("get_order", wire_format, Number="7", only="Open")).to_dict()
    failure = answer["error"] if wire_format == "tool_response" else answer
    assert failure["next_step"]["arguments"] == {"number": "7", "only": "open"}
    assert "violations" not in failure


async def test_the_message_beside_violations_says_what_is_wrong_and_nothing_more() -> None:
    error = (await refused("add_order")).to_dict()["error"]
    assert error["message"] == "`number` is missing (string)."
    error = (await refused("add_order", number="7", count="many")).to_dict()["error"]
    assert error["message"] == '`count`: expected integer, got "many".'


async def test_accepted_names_are_listed_once() -> None:
    response = await refused("add_order", number="7", colour="x", size="y")
    assert [fault.get("allowed") for fault in response.to_dict()["error"]["violations"]] == [["number", "count"], None]
    assert response.encode().text.count("accepted") == 1
    assert response.error.message.count("accepted") == 1


async def test_a_null_that_is_not_accepted_is_to_be_left_out() -> None:
    error = (await refused("get_order", number="7", only=None)).error
    assert error.headline == "`only`: expected string, got null; leave it out to give none."
    assert error.next_step.to_dict()["arguments"] == {"number": "7"}


class Locks(BaseTool):
    """Locks that a person opens."""

    @operation(read_only=True)
    async def look(self) -> None:
        """Refuse."""
        raise PermissionDenied("The archive is closed.")


async def test_the_error_id_is_a_key_and_no_part_of_the_message() -> None:
    response = await Locks(runtime=quiet_runtime()).look()
    error = response.to_dict()["error"]
    assert error["error_id"] not in error["message"]
    assert error["message"].startswith("The archive is closed. A person has to ")
