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
from tests.doors import FORMATS
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
