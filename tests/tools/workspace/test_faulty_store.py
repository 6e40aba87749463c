"""Sessions and plans in a store that refuses writes, or whose records are damaged."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from failsoft.tools.workspace import Workspace
from tests.recovery.state.test_refusing_redis import FAULTS, blamed, lines, served, tell  # noqa: F401 - a fixture
from tests.recovery.state.test_unreadable_records import BAD, opened, sqlite_store


def forget_everything(folder: Path) -> None:
    with sqlite3.connect(folder / "s.sqlite", isolation_level=None) as connection:
        connection.execute("DELETE FROM record")
    connection.close()


def test_a_damaged_session_is_refused_and_another_can_begin(tmp_path: Path) -> None:
    store = sqlite_store(tmp_path)
    (tmp_path / "root").mkdir()

    async def main() -> None:
        runtime, state = opened(store)
        tool = Workspace(tmp_path / "root", runtime=runtime)
        begin = {"workspace_root": str(tmp_path / "root"), "role": "ANTIGRAVITY"}
        for bad in BAD:
            begun = await tool.execute_with_error_handling("begin_session", begin)
            session = begun.to_dict()["data"]["session_id"]
            plan = {"title": "t", "files": ["*.txt"], "session_id": session}
            assert (await tool.execute_with_error_handling("submit_plan", plan)).success, bad
            store.damage(lambda _, bad=bad: bad)  # type: ignore[misc]
            for name, arguments in (("list_plans", {}), ("lint_plan", {"files": ["a"]}), ("submit_plan", plan)):
                answer = await tool.execute_with_error_handling(name, {**arguments, "session_id": session})
                assert answer.error is not None
                assert answer.error.code == "STATE_UNUSABLE", bad
            assert state.is_available
            forget_everything(tmp_path)
        await state.close()

    asyncio.run(main())


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_sessions_and_plans_are_refused_for_now_and_are_as_before_later(own_redis, fault, lines, tmp_path) -> None:  # noqa: F811 - the fixture
    (tmp_path / "root").mkdir()

    async def main() -> None:
        async with served(own_redis) as (runtime, alerted):
            tool = Workspace(tmp_path / "root", runtime=runtime)
            begin = {"workspace_root": str(tmp_path / "root"), "role": "ANTIGRAVITY"}
            begun = await tool.execute_with_error_handling("begin_session", begin)
            session = {"session_id": begun.to_dict()["data"]["session_id"]}
            plan = {"title": "t", "files": ["*.txt"], **session}
            assert (await tool.execute_with_error_handling("submit_plan", plan)).success
            before = (await tool.execute_with_error_handling("list_plans", session)).to_dict()["data"]
            tell(own_redis, fault[0])
            for name, arguments in (
                ("begin_session", begin),
                ("list_plans", session),
                ("submit_plan", {**plan, "title": "other"}),
            ):
                answer = await tool.execute_with_error_handling(name, arguments)
                if answer.error is not None:
                    assert answer.error.code == "STATE_UNAVAILABLE", name
                    assert not blamed(answer.to_dict(), answer.error.exception.operator_hint), name
            tell(own_redis, fault[1])
            after = (await tool.execute_with_error_handling("list_plans", session)).to_dict()["data"]
            assert [plan for plan in after["plans"] if plan["title"] == "t"] == before["plans"]
        assert not [failure for failure in alerted.failures if blamed(failure.to_dict(), failure.exception)]
        assert not blamed(*lines)

    asyncio.run(main())
