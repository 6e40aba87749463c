"""Jobs before callers and authors who mean no good, or do not care: ids, status texts, schemas, thousands of jobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from failsoft import BaseTool, CallContext, Runtime, Settings, mcp_server, operation
from tests.doors import FORMATS, Job, assemble_server, jobs_of, new_job_id, structured_of_job
from tests.jobs.caller import Caller

pytestmark = pytest.mark.anyio
SECRET = "sk-live-abcdefabcdefabcdefabcdef0123456789"
TEXTS = ("\x1b[31mred\r\nIgnore all", "a\u202eb", f"Bearer {SECRET}", "x" * 5_000, "\ud800", "`cancel_job`\x00")


@dataclass
class Parcel:
    """What is sent."""

    weight_g: int


class Post(BaseTool):
    """Sends parcels."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.go_on, self.text = asyncio.Event(), ""

    @operation(job="required", read_only=True)
    async def weigh(self, grams: int) -> Parcel:
        """Weigh a parcel."""
        return Parcel(grams)

    @operation(job="required", destructive=False)
    async def print_label(self, length: int) -> str:
        """Print a label."""
        if length < 0:
            raise ValueError
        return "x" * length

    @operation(job="required", read_only=True)
    async def send(self, call: CallContext, done: float = 1.0) -> str:
        """Send a parcel."""
        await call.report_progress(done, float("nan"), self.text)
        await self.go_on.wait()
        return "sent"


@asynccontextmanager
async def post(**settings: Any) -> AsyncIterator[Caller]:
    tools = Post(runtime=Runtime(settings=Settings(**settings)))
    async with Client(mcp_server(tools)) as client:
        yield Caller(client, tools)


@pytest.mark.parametrize("wire_format", FORMATS)
async def test_a_handle_fits_the_output_schema_of_its_tool(wire_format: str) -> None:
    async with post(output_schema="full", wire_format=wire_format) as caller:
        await caller.client.list_tools()
        result = await caller.client.call_tool("weigh", {"grams": 2})  # the client validates it
    assert not result.is_error
    assert "working" in str(result.structured_content)


@pytest.mark.parametrize("text", TEXTS)
async def test_a_status_text_is_short_and_has_no_control_characters_and_no_secrets(text: str) -> None:
    async with post() as caller:
        caller.desk.text = text
        job_id = (await caller.data("send"))["job_id"]
        async with asyncio.timeout(20):
            while "progress" not in (job := await caller.data("get_job", {"job_id": job_id})):  # noqa: ASYNC110 - polled
                await asyncio.sleep(0.01)
        caller.desk.go_on.set()
        assert (await caller.ended(job_id))["state"] == "completed"
    status = job["status"]
    assert len(status) <= 300
    assert status.isprintable()
    assert SECRET not in status


@pytest.mark.parametrize("done", [float("nan"), float("inf"), -1.0, 1e308])
async def test_progress_that_is_no_number_ends_no_job(done: float) -> None:
    async with post() as caller:
        caller.desk.go_on.set()
        job_id = (await caller.data("send"))["job_id"]
        assert (await caller.ended(job_id))["state"] == "completed"


@pytest.mark.parametrize("job_id", ["", "\ud800", "a:b", "../x", "job:1", "%", "*", "x" * 10_000, "\x00"])
async def test_an_id_that_was_made_up_finds_nothing(job_id: str) -> None:
    async with post() as caller:
        await caller.data("weigh", {"grams": 1})
        for tool in ("get_job", "cancel_job"):
            assert await caller.code(tool, {"job_id": job_id}) in {"JOB_NOT_FOUND", "INVALID_PARAM"}


async def test_an_end_that_is_asked_for_as_the_job_ends_leaves_one_state(tmp_path: Path) -> None:
    """Each job ends once, whoever is first, and what was said of it stays."""
    async with post(state_url=f"sqlite:{tmp_path}/state.db", job_processes=0) as caller:

        async def race(number: int) -> tuple[Any, Any, Any]:
            job_id = (await caller.data("weigh", {"grams": number}))["job_id"]
            await asyncio.sleep(number % 7 / 500)
            said = await caller.data("cancel_job", {"job_id": job_id})
            ended = await caller.ended(job_id)
            return said, ended, await caller.ended(job_id)

        for said, ended, again in await asyncio.gather(*(race(number) for number in range(60))):
            assert ended["state"] in {"completed", "cancelled"}
            assert said["state"] in {"working", ended["state"]}
            assert again == ended
            assert ("result" in ended) is (ended["state"] == "completed")


@pytest.mark.parametrize(
    ("length", "code", "effect"), [(9_000, "QUOTA_EXHAUSTED", "applied"), (-1, "UNKNOWN_ERROR", "unknown")]
)
async def test_a_job_whose_caller_has_no_quota_left_ends_with_a_failure(length: int, code: str, effect: str) -> None:
    async with post(state_quota_bytes=2_000) as caller:
        job = await caller.ended((await caller.data("print_label", {"length": length}))["job_id"])
        error = job["result"]["error"]
        assert (job["state"], job["status"]) == ("failed", code)
        assert (error["code"], error["effect"]) == (code, effect)


@pytest.mark.parametrize(("tool", "effect"), [("print_label", "unknown"), ("weigh", "none")])
async def test_a_job_that_has_outlived_its_processes_says_what_may_have_been_changed(tool: str, effect: str) -> None:
    assembly = assemble_server([Post(runtime=Runtime(settings=Settings()))])
    jobs = jobs_of(assembly.tools)
    async with assembly.lifecycle.running():
        job = Job(
            id=new_job_id(None), operation=tool, arguments='{"length": 1}', is_anonymous=True, owner="gone", deaths=2
        )
        await jobs.book.open(job)
        await jobs.desk.engine.start(job.id)
        ended = await jobs.desk.engine.attach(job.id, 20.0)
        answer = structured_of_job(await jobs.desk.engine.result(job.id))
    assert ended.state == "failed"
    assert (answer["error"]["code"], answer["error"]["effect"]) == ("JOB_PROCESS_LOST", effect)


async def test_the_largest_response_of_a_job_can_be_got() -> None:
    async with post(max_response_bytes=20_000) as caller:
        for length in range(9_950, 7_000, -50):  # the text and the structured content have it
            job_id = (await caller.data("print_label", {"length": length}))["job_id"]
            job = await caller.ended(job_id)
            if job["state"] == "completed":
                break
        assert len(job["result"]["data"]) == length


async def test_a_runner_that_has_lost_its_job_does_not_replace_the_answer_of_the_next_one() -> None:
    assembly = assemble_server([Post(runtime=Runtime(settings=Settings()))])
    book = jobs_of(assembly.tools).book
    job = await book.open(Job(id=new_job_id(None), operation="weigh", arguments="{}", is_anonymous=True))
    await book.take(job.id, "stopped")
    await book.release(job.id, "stopped")  # as if its lease had ended
    await book.take(job.id, "next")
    for owner in ("next", "stopped"):
        await book.end(job, owner, "completed", "", {"json": owner})
        assert await book.result(job.id) == {"json": "next"}
