"""What holds of jobs holds over Temporal: the tests of `tests/jobs/test_jobs.py`, with a worker in this process."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from failsoft import Runtime, Settings
from tests.doors import assemble_server, jobs_of
from tests.jobs import test_jobs
from tests.jobs.caller import Caller
from tests.programs.temporal import TemporalServer

pytestmark = pytest.mark.anyio
globals().update({name: test for name, test in vars(test_jobs).items() if name.startswith("test_")})


@pytest.fixture(autouse=True)
def over_temporal(temporal: TemporalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILSOFT_STATE_URL", f"sqlite:{tmp_path}/state.sqlite")
    monkeypatch.setattr(test_jobs, "served", lambda **settings: _served(fleet_url=temporal.url, **settings))


@asynccontextmanager
async def _served(**settings: Any) -> AsyncIterator[Caller]:
    """Serve a desk under a name of its own, and run its jobs here: `Desk` is held and released by events."""
    desk = test_jobs.Desk(runtime=Runtime(settings=Settings(**{"job_inline_s": 0.05, **settings})))
    assembly = assemble_server([desk], name=f"desk-{uuid.uuid4().hex[:8]}")
    async with Client(assembly.server) as client:
        jobs = jobs_of(assembly.tools)
        assert jobs is not None
        ready, engine, runner = asyncio.Event(), jobs.desk.engine, jobs.runner()
        working = asyncio.create_task(engine.work(runner, 10, 0.0, ready.set))
        try:
            await ready.wait()
            yield Caller(client, desk)
        finally:
            desk.go_on.set()
            working.cancel()
            await asyncio.wait([working])
            await runner.close()


async def test_jobs_are_kept_for_later_while_the_engine_is_down(tmp_path: Path) -> None:
    """Nothing listens there; what would start them is tried again by every server and worker."""
    async with _unserved(fleet_url="temporal://127.0.0.1:1/default") as caller:
        begun = await caller.data("send", {"name": "a"})
        assert (begun["state"], begun["status"]) == ("working", "waiting for a process")
        assert (await caller.data("cancel_job", {"job_id": begun["job_id"]}))["state"] == "cancelled"


@asynccontextmanager
async def _unserved(**settings: Any) -> AsyncIterator[Caller]:
    desk = test_jobs.Desk(runtime=Runtime(settings=Settings(**settings)))
    assembly = assemble_server([desk], name="unserved")
    async with assembly.lifecycle.running(), Client(assembly.server) as client:
        yield Caller(client, desk)
