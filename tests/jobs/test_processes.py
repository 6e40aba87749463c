"""Jobs in processes: kept apart from the server, killed, and run again or not."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp import Client

from failsoft import mcp_server
from tests.doors import fork_server_module, local_engine_module
from tests.jobs.caller import Caller
from tests.jobs.works import Works, may_end, note, noted
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAILSOFT_STATE_URL", f"sqlite:{tmp_path}/state.sqlite")
    monkeypatch.setenv("FAILSOFT_JOB_INLINE_S", "20")
    monkeypatch.setattr(fork_server_module, "sys", SimpleNamespace(executable=PYTHON, path=sys.path))


@asynccontextmanager
async def served() -> AsyncIterator[Caller]:
    async with Client(mcp_server(Works)) as client:
        try:
            yield Caller(client)
        finally:
            may_end()


async def pid_of(name: str, *, runs: int = 1) -> int:
    """Return the process that has begun a work for the so manieth time."""
    for _ in range(2_000):
        begun = [line.split()[1] for line in noted("begun") if line.split()[0] == name]
        if len(begun) >= runs:
            return int(begun[runs - 1])
        await asyncio.sleep(0.01)
    raise TimeoutError


async def killed(caller: Caller, tool: str) -> Any:
    """Return what became of a job whose process was killed once."""
    begun = await caller.data(tool, {"name": tool})
    os.kill(await pid_of(tool), signal.SIGKILL)
    await asyncio.sleep(0.05)
    may_end()
    job = await caller.ended(begun["job_id"])
    may_end(is_so=False)
    return job


async def test_a_job_runs_in_a_process_that_is_used_again_and_after_a_death_as_its_effect_allows() -> None:
    async with served() as caller:
        pids = {(await caller.data("look")) for _ in range(3)}
        assert len(pids) == 1
        assert os.getpid() not in pids
        assert (await killed(caller, "read"))["result"] == {"success": True, "data": "read done"}
        error = (await killed(caller, "write"))["result"]["error"]
        assert (error["code"], error["effect"]) == ("IDEMPOTENCY_OUTCOME_UNKNOWN", "unknown")
        assert "key" not in f"{error['message']} {error['suggestions']}"  # it sent none
        assert len([line for line in noted("begun") if line.startswith("write")]) == 1
        assert (await killed(caller, "pay"))["result"] == {"success": True, "data": "pay done"}
        assert noted("paid") == ["pay"]


async def test_the_death_of_a_process_is_seen_though_what_it_has_forked_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_engine_module, "LEASE_S", 0.3)
    async with served() as caller:
        assert (await killed(caller, "fork"))["state"] == "completed"
        note("over", "")


async def test_a_handler_that_computes_can_be_cancelled_and_one_past_its_mark_runs_to_its_end() -> None:
    async with served() as caller:
        begun = await caller.data("burn")
        await pid_of("burn")
        assert (await caller.data("cancel_job", {"job_id": begun["job_id"]}))["state"] == "cancelled"
        begun = await caller.data("write", {"name": "late"})
        await pid_of("late")
        await caller.client.call_tool("cancel_job", {"job_id": begun["job_id"]})
        may_end()
        assert (await caller.ended(begun["job_id"]))["result"] == {"success": True, "data": "late done"}


async def test_a_job_outlives_its_server_and_the_next_one_has_its_answer() -> None:
    async with Client(mcp_server(Works)) as client:
        begun = await Caller(client).data("write", {"name": "long"})
        pid = await pid_of("long")
    async with served() as caller:
        assert (await caller.data("get_job", {"job_id": begun["job_id"]}))["state"] == "working"
        may_end()
        assert (await caller.ended(begun["job_id"]))["state"] == "completed"
        assert await pid_of("long") == pid


def test_a_program_that_serves_when_it_is_imported_starts_no_processes_without_end() -> None:
    server = fork_server_module.ForkServer("tests.jobs.works:serve_again", {})
    server.reap(server.fork())
    server.close()
    assert ["__main__" in line for line in noted("refused")] == [True]
    assert noted("begun") == []
