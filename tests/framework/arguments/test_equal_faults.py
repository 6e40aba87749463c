"""A fault is explained alike, whether a signature or a JSON Schema declares the arguments."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from failsoft import BaseTool, Failure, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class BySignature(BaseTool):
    """Declares its arguments by a signature."""

    @operation(read_only=True)
    async def search(
        self,
        query: str,
        limit: int = 3,
        mode: Literal["fast", "exact"] = "fast",
        weight: Annotated[float, Field(gt=0)] = 1.0,
        tags: tuple[str, ...] = (),
    ) -> str:
        """Search."""
        return f"{query}{limit}{mode}{weight}{tags}"


SCHEMA = BySignature(runtime=quiet_runtime()).operations["search"].input_schema


class BySchema(BaseTool):
    """Declares the same arguments by the JSON Schema that is published for them."""

    @operation(read_only=True, input_schema=SCHEMA)
    async def search(self, **arguments: Any) -> str:
        """Search."""
        return repr(arguments)


async def failed(tool: type[BaseTool], arguments: dict[str, Any]) -> Failure | None:
    return (await tool(runtime=quiet_runtime()).execute_with_error_handling("search", arguments)).error


async def test_a_fault_is_the_same_violation_by_signature_and_by_schema() -> None:
    wrong = []
    for arguments in ({"query": "x", "mode": 5}, {"query": "x", "weight": -1}):
        by_signature, by_schema = await failed(BySignature, arguments), await failed(BySchema, arguments)
        if by_signature is None or by_schema is None:
            pytest.fail("the call has worked")
        told = [
            [(item.path, item.reason, item.expected, item.allowed, item.suggestion) for item in failure.violations]
            for failure in (by_signature, by_schema)
        ]
        if told[0] != told[1]:
            wrong.append(told)
    assert wrong == []


async def test_null_for_an_optional_argument_is_corrected_by_schema_too() -> None:
    failure = await failed(BySchema, {"query": "x", "limit": None})
    if failure is None:
        pytest.fail("the call has worked")
    assert failure.next_step is not None
    assert failure.next_step.to_dict() == {"tool": "search", "arguments": {"query": "x"}}


async def test_text_that_is_not_unicode_is_refused_by_schema_too() -> None:
    failure = await failed(BySchema, {"query": "\ud800x"})
    assert failure is not None
    assert failure.code == "INVALID_PARAM"


async def test_a_message_says_the_wrong_items_of_a_list_once() -> None:
    failure = await failed(BySignature, {"query": "x", "tags": [1, 2, "a", 4]})
    if failure is None:
        pytest.fail("the call has worked")
    assert "tags.*" in failure.message
    assert "tags.0" not in failure.message
