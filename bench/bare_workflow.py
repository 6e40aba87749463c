"""The peer of `fleet_jobs`: a Temporal workflow with one activity, as its documentation shows it."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from measure import Contender
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

__all__ = ["bare"]


@activity.defn(name="look")
async def look(name: str) -> str:
    """Return at once."""
    return name


@workflow.defn(name="bare", sandboxed=False)
class Bare:
    """The workflow."""

    @workflow.run
    async def run(self, name: str) -> str:
        """Run the activity."""
        return await workflow.execute_activity(look, name, start_to_close_timeout=timedelta(seconds=60))


@asynccontextmanager
async def bare(client: Client) -> AsyncIterator[Contender]:
    """Run a worker, and yield what runs the workflow and waits for its result."""
    runner = UnsandboxedWorkflowRunner()
    async with Worker(client, task_queue="bare", workflow_runner=runner, workflows=[Bare], activities=[look]):

        async def contender(times: int) -> None:
            for _ in range(times):
                await client.execute_workflow(Bare.run, "x", id=uuid.uuid4().hex, task_queue="bare")

        yield contender
