"""Which tool an unknown name means."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft import BaseTool, Failure, operation
from tests.doors import Offered, unknown_tool
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
    async def get_categories(self, user_id: int = 0) -> int:
        """Return the categories of a user."""
        return user_id

    @operation(idempotent=True)
    async def delete_categories(self, user_id: int = 0) -> int:
        """Delete the categories of a user."""
        return user_id

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


async def test_singular_and_plural_are_one_name_of_a_read() -> None:
    failure = await refused("get_category", {"user_id": 7})
    assert failure.next_step is not None
    assert failure.next_step.to_dict() == {"tool": "get_categories", "arguments": {"user_id": 7}}


async def test_a_tool_with_effects_is_not_meant_by_more_than_one_edit() -> None:
    failure = await refused("delete_category", {"user_id": 7})
    assert (failure.next_step, failure.violations[0].suggestion) == (None, None)


async def test_tools_that_take_the_arguments_are_listed_first_and_those_that_only_read_before_others() -> None:
    listed = (await refused("fetch_everything", {"user_id": 7})).violations[0].allowed
    assert {*listed[:2]} == {"get_user", "get_categories"}
    assert (listed[2], {*listed[3:]}) == ("delete_categories", {"count_people", "get_used"})


async def test_of_many_tools_ten_are_listed_and_few_are_validated() -> None:
    validated = []
    offered = Offered(read_only=True, schema={"properties": {"a": {}}}, validate=validated.append)
    tools = {f"list_{number:04}": offered for number in range(2_000)}
    error = unknown_tool("find_all", {"a": 1}, tools)
    assert len(error.violations[0].allowed) == 10
    assert len(validated) <= 20
