"""The jobs of a caller among those of others, in each state, and beside damaged records."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft import BaseTool, Runtime, Settings, operation
from tests.doors import CallScope, Job, assemble_server, jobs_of, new_job_id

pytestmark = pytest.mark.anyio


class Post(BaseTool):
    """Sends parcels."""

    @operation(job=True, read_only=True)
    async def weigh(self) -> int:
        """Weigh a parcel."""
        return 1


@pytest.mark.parametrize("principal", ["ann", None, ""])
async def test_the_newest_jobs_of_a_caller_are_listed_and_all_are_counted(principal: str | None) -> None:
    jobs: Any = jobs_of(assemble_server([Post(runtime=Runtime(settings=Settings()))]).tools)
    opened = []
    for number in range(60):
        for whose in ("ann", None, ""):
            named = {"principal": whose or "", "is_anonymous": whose is None, "created_at": f"2026-11-{number:02}"}
            state = "completed" if number % 2 else "failed"
            job = Job(id=new_job_id(whose), operation="weigh", arguments="{}", state=state, **named)
            await jobs.book.open(job)
            if whose == principal:
                opened.append(job.id)
    await jobs.book.records.put(f"job:{opened[0][:8]}damaged", {"id": 1}, 60.0)

    async def listed(**arguments: str) -> Any:
        return (await jobs.operations["list_jobs"].call(arguments, CallScope(principal=principal))).data

    whole, failed, working = await listed(), await listed(state="failed"), await listed(state="working")
    assert [job["job_id"] for job in whole["jobs"]] == opened[:-51:-1]
    assert [job["job_id"] for job in failed["jobs"]] == opened[-2::-2]
    assert (whole["total"], failed["total"], working) == (60, 30, {"jobs": [], "total": 0})
