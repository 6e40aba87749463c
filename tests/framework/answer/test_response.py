"""`ToolResponse`: encoded once, the same as tree and as text, with what every failure carries in `_meta`."""

from __future__ import annotations

import asyncio
import json
import math
import re
from typing import Any

import pytest

from failsoft import BaseTool, DocumentNotFound, Failed, NotFound, Success, ToolResponse, UnknownError, operation
from tests.doors import CallScope, Metadata, author_line, find_format
from tests.framework.recording import quiet_runtime
from tests.framework.wellformed import check_wellformed

pytestmark = pytest.mark.anyio


class Answering(BaseTool):
    """Answers."""

    @operation(read_only=True)
    async def give(self, value: Any = None, times: int = 1) -> Any:
        """Return the value."""
        return [value] * times if times > 1 else value

    @operation()
    async def fail(self) -> None:
        """Fail."""
        raise DocumentNotFound(path="a.md")


@pytest.fixture
def answering() -> Answering:
    return Answering(runtime=quiet_runtime())


async def test_a_response_is_encoded_once(answering: Answering) -> None:
    response = await answering.give(value={"a": 1})
    assert response.encode() is response.encode()
    assert response.to_dict() is response.encode().structured
    assert response.encode().meta == {
        "dev.failsoft/metadata": {"execution_time_ms": response.metadata.execution_time_ms}
    }
    assert not response.encode().is_error
    assert json.loads(response.encode().text) == response.to_dict()
    assert ": " not in response.encode().text


async def test_a_failure_carries_its_facts_in_meta(answering: Answering) -> None:
    response = await answering.fail()
    check_wellformed(response, answering.operations["fail"])
    assert response.error is not None
    encoded = response.encode()
    assert encoded.is_error
    assert encoded.meta == {
        "dev.failsoft/error": {
            "code": "DOC_NOT_FOUND",
            "category": "not_found",
            "retry": {"when": "never"},
            "effect": "unknown",
            "error_id": response.error.error_id,
            "tool": "answering",
            "operation": "fail",
            "timestamp": response.error.timestamp,
            "execution_time_ms": response.metadata.execution_time_ms,
        }
    }
    assert encoded.structured["success"] is False
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", response.error.timestamp)
    assert response.data is None


async def test_error_ids_differ_from_call_to_call(answering: Answering) -> None:
    ids = {(await answering.fail()).error.error_id for _ in range(50)}  # type: ignore[union-attr]
    assert len(ids) == 50


async def test_metadata_says_only_what_is_known() -> None:
    assert Metadata(1.5).to_dict() == {"execution_time_ms": 1.5}
    full = Metadata(1.5, cache_hit=False, documents_processed=0, warnings=["a"])
    assert full.to_dict() == {
        "execution_time_ms": 1.5, "cache_hit": False, "documents_processed": 0, "warnings": ["a"]
    }  # fmt: skip


def test_a_response_made_by_hand_needs_a_format_to_be_encoded() -> None:
    with pytest.raises(TypeError):
        ToolResponse(success=True, data=1).encode()
    by_hand: ToolResponse[int] = ToolResponse(success=True, data=1, wire=find_format("tool_response"))
    assert by_hand.to_dict() == {"success": True, "data": 1}


@pytest.mark.parametrize(("limit", "fits"), [(None, True), (100_000, True), (10_000, False)])
async def test_what_is_larger_than_a_client_accepts_is_refused(
    answering: Answering, limit: int | None, *, fits: bool
) -> None:
    bound = answering.operations["give"]
    response = await bound.call({"value": "x" * 20_000}, CallScope(max_response_bytes=limit))
    check_wellformed(response, bound)
    assert response.success is fits
    if response.error is not None:
        assert response.error.code == "RESULT_TOO_LARGE"
        assert response.error.effect == "none"
        assert response.error.exception.limit_bytes == limit  # type: ignore[attr-defined]


async def test_the_size_counts_text_and_structure_in_bytes(answering: Answering) -> None:
    response = await answering.give(value="ü" * 100)
    assert response.encode().size_bytes == 2 * len(response.encode().text.encode())


async def test_a_change_that_has_too_much_to_say_is_not_asked_for_again() -> None:
    class Changing(BaseTool):
        @operation(verify_with="look")
        async def change(self, limit: int = 100) -> str:
            """Change something and say much about it."""
            return "x" * 1_000 * limit

        @operation(read_only=True)
        async def look(self) -> str:
            """Return the state."""
            return "changed"

    bound = Changing(runtime=quiet_runtime()).operations["change"]
    response = await bound.call({}, CallScope(max_response_bytes=10_000))
    check_wellformed(response, bound)
    assert response.error is not None
    assert (response.error.code, response.error.effect) == ("RESULT_TOO_LARGE", "applied")
    assert (response.error.retry.when, response.error.next_step and response.error.next_step.tool) == ("never", "look")


async def test_data_stays_as_the_handler_made_it(answering: Answering) -> None:
    odd = {"a": math.nan, "b": (1, 2)}
    response = await answering.execute_with_error_handling("give", {}, lambda: odd)
    assert response.data is odd
    assert response.to_dict()["data"] == {"a": None, "b": [1, 2]}


class Shelf(BaseTool):
    """A shelf."""

    @operation(read_only=True)
    async def get(self, title: str) -> str:
        """Get."""
        if title == "typed":
            raise NotFound(message="There is no book.", suggestions=["Dune"])
        return {"Dune": "sand"}[title]


def test_a_success_unwraps_to_its_data() -> None:
    response = asyncio.run(Shelf().get(title="Dune"))
    assert isinstance(response, Success)
    assert response.unwrap() == "sand"


def test_a_failure_unwraps_to_its_typed_error_with_the_handlers_traceback() -> None:
    response = asyncio.run(Shelf().get(title="typed"))
    assert isinstance(response, Failed)
    with pytest.raises(NotFound, match="There is no book") as caught:
        response.unwrap()
    assert caught.value.suggestions == ("Dune",)
    assert "in get" in author_line(caught.value.__cause__)


def test_a_crash_unwraps_to_unknown_error_with_the_exception_as_cause() -> None:
    response = asyncio.run(Shelf().get(title="Duna"))
    for _ in range(2):
        with pytest.raises(UnknownError) as caught:
            response.unwrap()
        assert isinstance(caught.value.__cause__, KeyError)
        assert "in get" in author_line(caught.value.__cause__)
