"""Runs jobs as tasks of this process: for stores in memory, and toolsets that no other process can make."""

from __future__ import annotations

import asyncio
import contextvars
from functools import partial
from typing import Any

from failsoft.framework.call.bound import Toolbox
from failsoft.framework.errors import ToolError
from failsoft.framework.safe.author_reports import logger
from failsoft.jobs.engine import Engine, JobBook
from failsoft.jobs.run import run_job
from failsoft.recovery.idempotency.ledger import new_owner


class InProcess(Engine):
    """Implements `Engine` in the process of the server, on its event loop.

    Args:
        book: The records.
        toolbox: The tools of the server.
    """

    def __init__(self, book: JobBook, toolbox: Toolbox) -> None:
        super().__init__(book)
        self._toolbox = toolbox
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    async def start(self, job_id: str) -> None:
        """See `Engine`."""
        if job_id in self._tasks:
            return
        loop = asyncio.get_running_loop()
        task = loop.create_task(
            run_job(self.book, self, self._toolbox, job_id, new_owner()), context=contextvars.Context()
        )
        self._tasks[job_id] = task
        task.add_done_callback(partial(self._over, job_id))

    async def close(self) -> None:
        """See `Engine`."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _over(self, job_id: str, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(job_id, None)
        self.book.wake(job_id)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if isinstance(error, ToolError):  # the store is lost: the job is found again as an orphan
            logger.error("A job could not be run ({}); it is started again", error.operator_hint)
        else:
            logger.opt(exception=error).error("A job could not be run; it is started again")
