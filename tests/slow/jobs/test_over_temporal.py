"""What holds of jobs holds over Temporal: the tests of `tests/jobs/test_jobs.py`, with a worker in this process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from failsoft import Runtime, Settings, Unavailable
from tests.doors import assemble_server, jobs_of
from tests.jobs import test_jobs
from tests.jobs.caller import Caller
from tests.programs.temporal import TemporalServer

ROOT = Path(__file__).resolve().parents[3]
BOUND_S = 60.0
pytestmark = [
    pytest.mark.anyio,
    # The SDK warns of a cancellation that comes after the activity has ended; as an error, that would end its worker.
    pytest.mark.filterwarnings("ignore:Cannot find activity to cancel:UserWarning"),
]
globals().update({name: test for name, test in vars(test_jobs).items() if name.startswith("test_")})


@pytest.fixture(autouse=True)
def over_temporal(temporal: TemporalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILSOFT_STATE_URL", f"sqlite:{tmp_path}/state.sqlite")
    monkeypatch.setattr(test_jobs, "served", lambda **settings: _served(fleet_url=temporal.url, **settings))


@asynccontextmanager
async def _served(*, answers: str = "", **settings: Any) -> AsyncIterator[Caller]:
    """Serve a desk under a name of its own, and run its jobs here: `Desk` is held and released by events."""
    desk = test_jobs.Desk(runtime=Runtime(settings=Settings(**{"job_inline_s": 0.05, **settings})))
    assembly = assemble_server([desk], name=f"desk-{uuid.uuid4().hex[:8]}")
    async with Client(assembly.server, **test_jobs.asked(answers)) as client:
        jobs = jobs_of(assembly.tools)
        assert jobs is not None
        ready, engine, runner = asyncio.Event(), jobs.desk.engine, jobs.runner()
        working = asyncio.create_task(engine.work(runner, 10, 0.0, ready.set))
        waiting = asyncio.create_task(ready.wait())
        try:
            await asyncio.wait([working, waiting], timeout=BOUND_S, return_when=asyncio.FIRST_COMPLETED)
            assert ready.is_set(), working
            async with asyncio.timeout(BOUND_S):
                yield Caller(client, desk)
        finally:
            waiting.cancel()
            desk.go_on.set()
            working.cancel()
            _, left = await asyncio.wait([working], timeout=BOUND_S)
            assert not left, [one.print_stack() for one in asyncio.all_tasks()]
            await runner.close()


def _page_command(word: str) -> list[str]:
    """Return the arguments of a command of the page."""
    page = (ROOT / "docs/how-to/run-a-fleet.md").read_text()
    (line,) = re.findall(rf"^failsoft {word} .*?(?= &?$)", page, re.MULTILINE)
    return str(line).split()[1:]


@asynccontextmanager
async def _started(*words: str) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """Run a command of failsoft, yield what it prints first on stderr, and kill it with all its processes."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "failsoft", *words, stderr=asyncio.subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stderr is not None
        yield (await asyncio.wait_for(process.stderr.readline(), 60)).decode(), process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def test_the_commands_of_the_page_start_a_fleet_whose_jobs_outlive_their_worker(
    tmp_path: Path, temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reports.py").write_text((ROOT / "docs/examples/reports.py").read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAILSOFT_FLEET_URL", temporal.url)
    worker = _page_command("worker")
    async with _started(*_page_command("serve"), "--port", "0") as (serving, _), asyncio.timeout(180):
        (url,) = re.findall(r"http://\S+/mcp", serving)
        async with Client(url) as client:
            caller = Caller(client)
            async with _started(*worker) as (working, _):
                assert "failsoft worker runs jobs of failsoft-reports-" in working
                lost = await _begun(caller)
            async with _started(*worker) as (_, old):
                assert (await _ended(caller, lost))["data"] == "a report of 4 chapters"
                kept = await _begun(caller)
                old.send_signal(signal.SIGTERM)
                async with _started(*worker):
                    assert (await _ended(caller, kept))["data"] == "a report of 4 chapters"
                    assert await old.wait() == 0


async def _begun(caller: Caller) -> str:
    """Begin a report, and return its id once a chapter is written."""
    job = await caller.data("write_report", {"chapters": 4})
    while job["status"] != "chapter 1":
        job = await caller.data("get_job", {"job_id": job["job_id"], "wait_s": 0.3})
    return str(job["job_id"])


async def _ended(caller: Caller, job_id: str) -> Any:
    """Return the result of a job."""
    job: Any = {"state": "working"}
    while job["state"] == "working":
        job = await caller.data("get_job", {"job_id": job_id, "wait_s": 20})
    return job["result"]


async def test_jobs_are_kept_for_later_while_the_engine_is_down(tmp_path: Path) -> None:
    """Nothing listens there; what would start them is tried again by every server and worker."""
    async with _unserved(fleet_url="temporal://127.0.0.1:1/default") as caller:
        begun = await caller.data("send", {"name": "a"})
        assert (begun["state"], begun["status"]) == ("working", "waiting for a process")
        assert (await caller.data("cancel_job", {"job_id": begun["job_id"]}))["state"] == "cancelled"


async def test_a_worker_of_a_namespace_that_is_missing_ends_before_it_says_that_it_runs_jobs(
    temporal: TemporalServer,
) -> None:
    settings = Settings(fleet_url=temporal.url.replace("/default", "/elsewhere"))
    jobs = jobs_of(assemble_server([test_jobs.Desk(runtime=Runtime(settings=settings))], name="desk").tools)
    assert jobs is not None
    runner, ready = jobs.runner(), asyncio.Event()
    with pytest.raises(Unavailable) as raised:
        await jobs.desk.engine.work(runner, 10, 0.0, ready.set)
    await runner.close()
    assert "elsewhere" in str(raised.value.operator_hint)
    assert not ready.is_set()


@asynccontextmanager
async def _unserved(**settings: Any) -> AsyncIterator[Caller]:
    desk = test_jobs.Desk(runtime=Runtime(settings=Settings(**settings)))
    assembly = assemble_server([desk], name="unserved")
    async with assembly.lifecycle.running(), Client(assembly.server) as client:
        yield Caller(client, desk)
