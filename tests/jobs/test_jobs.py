"""Jobs from a client's side: handles, answers in place, keys, progress, cancellation, whose they are."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client
from mcp_types import ElicitResult

from failsoft import BaseTool, CallContext, Runtime, Settings, mcp_server, operation
from tests.doors import JOBS, JobState
from tests.jobs.caller import Caller

pytestmark = pytest.mark.anyio


class Desk(BaseTool):
    """Slow work."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.has_begun, self.go_on = asyncio.Event(), asyncio.Event()

    @operation(read_only=True, job=True)
    async def look(self, name: str, call: CallContext) -> str:
        """Look something up."""
        await call.report_progress(1, 3, f"looking for {name}")
        if name != "quick":
            await self.go_on.wait()
        return f"{name} found"

    @operation(destructive=False, job="required")
    async def send(self, name: str) -> str:
        """Send something."""
        self.begun.append(name)
        self.has_begun.set()
        if name == "bad":
            raise ValueError(name)
        await self.go_on.wait()
        self.ended.append(name)
        return f"{name} sent"

    @operation(destructive=False, job="required", effects=True)
    async def pay(self, name: str, call: CallContext) -> str:
        """Pay something."""
        await self.go_on.wait()
        await call.effect("pay", run=lambda: self.ended.append(name))
        return f"{name} paid"

    @operation(destructive=True, job="required", confirm=True)
    async def wipe(self) -> str:
        """Wipe everything."""
        return "wiped"


def asked(answers: str) -> dict[str, Any]:
    """Return the options of a client whose user answers with this word; "" has nobody to ask."""

    async def answer(_context: Any, _params: Any) -> ElicitResult:
        return ElicitResult(action=answers, content={"confirm": True} if answers == "accept" else None)  # type: ignore[arg-type]  # one of its words

    return {"elicitation_callback": answer} if answers else {}


@asynccontextmanager
async def served(*, answers: str = "", **settings: Any) -> AsyncIterator[Caller]:
    desk = Desk(runtime=Runtime(settings=Settings(**{"job_inline_s": 0.05, **settings})))
    async with Client(mcp_server([desk], name="desk"), **asked(answers)) as client:
        try:
            yield Caller(client, desk)
        finally:
            desk.go_on.set()


async def test_a_job_that_ends_in_time_is_answered_in_place_and_another_one_with_its_handle() -> None:
    async with served(job_inline_s=20.0) as caller:
        assert await caller.answer("look", {"name": "quick"}) == {"success": True, "data": "quick found"}
    async with served() as caller:
        begun = await caller.data("look", {"name": "late"})
        assert begun["state"] == "working"
        assert begun["next"]["tool"] == "get_job"
        assert begun["next"]["arguments"]["job_id"] == begun["job_id"]
        caller.desk.go_on.set()
        job = await caller.ended(begun["job_id"])
        assert (job["state"], job["result"]) == ("completed", {"success": True, "data": "late found"})
        assert "next" not in job


async def test_a_failed_job_is_a_success_of_get_job_with_the_operations_own_failure() -> None:
    async with served() as caller:
        begun = await caller.data("send", {"name": "bad"})
        job = await caller.ended(begun["job_id"])
        error = job["result"]["error"]
        assert (job["state"], error["code"], error["effect"]) == ("failed", "UNKNOWN_ERROR", "unknown")
        assert error["retry"] == {"when": "never"}
        assert "same key" not in error["message"]  # it sent none


async def test_refused_arguments_are_no_job() -> None:
    async with served() as caller:
        assert await caller.code("send", {"nam": "x"}) == "INVALID_PARAM"
        assert await caller.code("send", {"name": "x"}, key="with a space") == "IDEMPOTENCY_KEY_INVALID"
        assert await caller.data("list_jobs") == {"jobs": [], "total": 0}


async def test_a_key_attaches_to_its_job_and_other_arguments_are_a_conflict() -> None:
    async with served() as caller:
        first = await caller.data("send", {"name": "a"}, key="k")
        again = await caller.data("send", {"name": "a"}, key="k")
        assert again["job_id"] == first["job_id"]
        assert await caller.code("send", {"name": "b"}, key="k") == "IDEMPOTENCY_CONFLICT"
        caller.desk.go_on.set()
        await caller.ended(first["job_id"])
        assert (await caller.data("send", {"name": "a"}, key="k"))["state"] == "completed"
        assert caller.desk.begun == ["a"]


async def test_an_equal_job_names_the_one_that_is_still_running() -> None:
    async with served() as caller:
        first = await caller.data("send", {"name": "a"})
        second = await caller.data("send", {"name": "a"})
        assert second["already_running"] == first["job_id"] != second["job_id"]
        assert "already_running" not in await caller.data("send", {"name": "b"})


async def test_progress_is_seen_by_those_who_ask_and_by_those_who_wait() -> None:
    async with served() as caller:
        begun = await caller.data("look", {"name": "late"})
        seen: list[tuple[float, float | None, str | None]] = []

        async def see(done: float, total: float | None, message: str | None) -> None:
            seen.append((done, total, message))
            caller.desk.go_on.set()

        await caller.data("get_job", {"job_id": begun["job_id"], "wait_s": 20}, progress_callback=see)
        assert seen[0] == (1.0, 3.0, "looking for late")


async def test_polling_without_news_is_advised_longer_waits() -> None:
    async with served() as caller:
        begun = await caller.data("send", {"name": "a"})
        waits = [
            (await caller.data("get_job", {"job_id": begun["job_id"]}))["next"]["arguments"]["wait_s"] for _ in range(7)
        ]
        assert waits[-1] == 60.0
        assert all(later == min(60.0, 2 * sooner) for sooner, later in itertools.pairwise(waits))


async def test_a_job_is_cancelled_before_its_mark_and_runs_to_its_end_after_it() -> None:
    async with served() as caller:
        for tool in ("look", "pay"):
            begun = await caller.data(tool, {"name": "late"})
            assert (await caller.data("cancel_job", {"job_id": begun["job_id"]}))["state"] == "cancelled"
            assert (await caller.ended(begun["job_id"]))["state"] == "cancelled"
        assert caller.desk.ended == []
        begun = await caller.data("send", {"name": "a"})
        await caller.desk.has_begun.wait()
        asking = asyncio.create_task(caller.data("cancel_job", {"job_id": begun["job_id"]}))
        await asyncio.sleep(0.01)
        caller.desk.go_on.set()
        assert (await asking)["state"] == "completed"
        assert (await caller.ended(begun["job_id"]))["result"] == {"success": True, "data": "a sent"}


async def test_an_unknown_id_is_one_not_found_failure_that_leads_to_the_list() -> None:
    async with served() as caller:
        error = (await caller.answer("get_job", {"job_id": "0" * 40}))["error"]
        assert (error["code"], error["category"]) == ("JOB_NOT_FOUND", "not_found")
        assert error["next_step"]["tool"] == "list_jobs"
        refused = (await caller.answer("cancel_job", {"job_id": "0" * 40}))["error"]
        assert (refused["code"], refused["effect"]) == ("JOB_NOT_FOUND", "none")


async def test_a_job_that_nobody_can_confirm_is_refused_before_it_begins() -> None:
    async with served() as caller:
        error = (await caller.answer("wipe"))["error"]
        assert (error["code"], error["effect"]) == ("APPROVAL_REQUIRED", "none")
        assert (await caller.data("list_jobs"))["total"] == 0


@pytest.mark.parametrize("answers", ["accept", "decline", "cancel"])
async def test_a_person_is_asked_before_there_is_a_job(answers: str) -> None:
    async with served(answers=answers) as caller:
        answer = await caller.answer("wipe")
        jobs = await caller.data("list_jobs")
        if answers == "accept":
            job = await caller.ended(answer["data"]["job_id"])
            assert job["result"]["metadata"]["recovery"]["strategy"] == "ask_person"
            assert job["result"]["data"] == "wiped"
        else:
            assert (answer["error"]["code"], answer["error"]["effect"]) == ("APPROVAL_REQUIRED", "none")
            assert jobs["total"] == 0


async def test_jobs_are_counted_by_state() -> None:
    async with served() as caller:
        caller.desk.go_on.set()
        for name in ("a", "bad"):
            begun = await caller.data("send", {"name": name})
            await caller.ended(begun["job_id"])
        gauges = caller.desk.runtime.gauges
        await gauges.refresh()
        counted = {labels[0]: number for name, labels, number in gauges.read(shared=True) if name == "mcp_jobs"}
        assert (counted["completed"], counted["failed"], counted["working"]) == (1, 1, 0)


async def test_jobs_are_listed_and_counted_by_the_states_that_a_record_has() -> None:
    async with served() as caller:
        [listed] = [tool for tool in (await caller.client.list_tools()).tools if tool.name == "list_jobs"]
    states = ["working", "input_required", "completed", "failed", "cancelled"]
    assert [*JobState] == [*JOBS.values] == states
    assert {"type": "string", "enum": states} in listed.input_schema["properties"]["state"]["anyOf"]
