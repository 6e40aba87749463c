"""What an answer holds by default: what its caller acts on, each fact once."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from failsoft import (
    BaseTool,
    ConfigurationError,
    NotFound,
    RecoveryManager,
    RecoveryResult,
    Settings,
    ToolError,
    operation,
)
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


async def test_a_misspelt_name_counts_once() -> None:
    failure = (await Titles(runtime=quiet_runtime()).execute_with_error_handling("find_title", {"titel": "Dune"})).error
    if failure is None:
        pytest.fail("the call has worked")
    assert failure.faults == 1


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


class Titles(BaseTool):
    """Titles."""

    @operation(read_only=True)
    async def find_title(self, title: str) -> str:
        """Return a title."""
        return title


def test_the_output_schema_is_short_full_or_off(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = []
    for value in ("short", "full", "off"):
        monkeypatch.setenv("FAILSOFT_OUTPUT_SCHEMA", value)
        try:
            Settings()
        except ConfigurationError:
            refused.append(value)
    assert refused == []
