"""Scripted answers of a person: of direct calls, and of clients of each era."""

from __future__ import annotations

import asyncio

import pytest

from failsoft import AskPerson, BaseTool, operation
from failsoft.testing import AnswerScript, InstantClock, connected
from tests.framework.recording import quiet_runtime


class Shelf(BaseTool):
    """Books."""

    @operation(confirm=True)
    async def delete(self, title: str) -> str:
        """Delete a book."""
        return title

    @operation(recovery=[AskPerson(["title"])])
    async def add(self, title: str) -> str:
        """Add a book."""
        return title


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_of_each_era_is_answered(mode: str) -> None:
    script = AnswerScript({"confirm": True}, "decline", {"title": "Emma"}, "unanswered")

    async def main() -> list[object]:
        async with connected(Shelf(runtime=quiet_runtime()), mode=mode, elicitation_callback=script.elicit) as client:
            calls = [("delete", {"title": "Emma"}), ("delete", {"title": "Emma"}), ("add", {}), ("add", {})]
            answers = [(await client.call_tool(name, arguments)).structured_content or {} for name, arguments in calls]
            return [answer.get("data") or answer["error"]["code"] for answer in answers]

    assert asyncio.run(main()) == ["Emma", "APPROVAL_REQUIRED", "Emma", "INVALID_PARAM"]
    assert len(script.questions) == 4


def test_a_client_without_a_callback_cannot_ask() -> None:
    async def main() -> object:
        async with connected(Shelf(runtime=quiet_runtime())) as client:
            return (await client.call_tool("delete", {"title": "Emma"})).structured_content

    answer = asyncio.run(main())
    assert isinstance(answer, dict)
    assert answer["error"]["code"] == "APPROVAL_REQUIRED"


def test_direct_calls_on_a_clock_that_was_begun_before_the_block_are_answered() -> None:
    shelf, script = Shelf(runtime=quiet_runtime()), AnswerScript({"confirm": True})
    with InstantClock() as clock:
        assert not clock.run(shelf.execute_with_error_handling("delete", {"title": "Emma"})).success
        with script.answers():
            assert clock.run(shelf.execute_with_error_handling("delete", {"title": "Emma"})).success


def test_direct_calls_are_answered_within_the_block_alone() -> None:
    shelf, script = Shelf(runtime=quiet_runtime()), AnswerScript({"confirm": True})
    with script.answers():
        assert asyncio.run(shelf.delete(title="Emma")).data == "Emma"
    assert not asyncio.run(shelf.delete(title="Emma")).success
    assert len(script.questions) == 1
    with pytest.raises(ValueError, match="at least one answer"):
        AnswerScript()
