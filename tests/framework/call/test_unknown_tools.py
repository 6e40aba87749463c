"""Which tool an unknown name means."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft import BaseTool, Failure, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class People(BaseTool):
    """Tools with names that are near to each other."""

    @operation(read_only=True)
    async def get_user(self, user_id: int) -> int:
        """Return a user."""
        return user_id

    @operation(read_only=True)
    async def get_used(self, part: str) -> str:
        """Return a used part."""
        return part

    @operation(read_only=True)
    async def count_people(self) -> int:
        """Count people."""
        return 0


async def refused(name: str, arguments: dict[str, Any]) -> Failure:
    response = await People(runtime=quiet_runtime()).execute_with_error_handling(name, arguments)
    if response.error is None or response.error.code != "UNKNOWN_TOOL":
        pytest.fail("the tool is known")
    return response.error


async def test_of_near_tools_the_one_whose_arguments_fit_is_meant() -> None:
    failure = await refused("get_use", {"user_id": 7})
    assert failure.next_step is not None
    assert failure.next_step.to_dict() == {"tool": "get_user", "arguments": {"user_id": 7}}


async def test_a_tool_that_answers_another_question_is_no_next_step() -> None:
    assert (await refused("list_people", {})).next_step is None
