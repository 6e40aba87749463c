"""What a process of the pool does: makes the toolsets of its server once, and runs one job after the other."""

from __future__ import annotations

import asyncio
import base64
import pickle
import signal
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import spawn
from typing import Any

from failsoft.framework.call.bound import Toolbox
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.captures.keeper import finish_captures
from failsoft.framework.recorders import NullMetrics
from failsoft.jobs.engine import Engine, JobBook
from failsoft.jobs.run import run_job
from failsoft.recovery.strategy import in_background

LOOK = signal.SIGUSR1 if hasattr(signal, "SIGUSR1") else None
"""Sent to a process whose job is to end: it looks at the record at once."""
_BACKGROUND_S = 5.0
_make: Callable[[], Sequence[BaseTool]] | None = None
_child: Child | None = None


def packed(make: Callable[[], Sequence[BaseTool]]) -> dict[str, Any]:
    """Return the arguments of `load` for a function that makes the toolsets of a server, `Jobs` among them.

    Raises:
        Exception: The function cannot be pickled.
    """
    pickled = pickle.dumps(make)
    main: dict[str, Any] = {}
    if b"__main__" in pickled:  # the program itself has the toolsets: it is imported, as by `multiprocessing`
        known: Mapping[str, Any] = spawn.get_preparation_data("failsoft-jobs")
        main = {name: known[name] for name in ("init_main_from_name", "init_main_from_path") if name in known}
    return {"main": main, "make": base64.b64encode(pickled).decode()}


def load(main: Mapping[str, Any], make: str) -> None:
    """Import what makes the toolsets; the fork server does it once. The toolsets are made by each process itself."""
    global _make  # noqa: PLW0603 - a process has one server
    spawn.prepare(dict(main))  # the module `__main__` of the server, if that is where its toolsets are
    _make = pickle.loads(base64.b64decode(make))  # noqa: S301 - from the server that started this process


def run_one(job_id: str, owner: str) -> dict[str, Any]:
    """Run a job in this process; a task of the pool.

    Args:
        job_id: The job.
        owner: The token of this runner.

    Returns:
        `ended`: whether it ended here. `is_fit`: whether the process is fit for another one. `events`: what the metrics
        of its operation are to count, each the name of a method and its arguments.
    """
    global _child  # noqa: PLW0603 - made with the first job
    if _child is None:
        _child = Child()
    return _child.run(job_id, owner)


class Child:
    """The toolsets of one process, on an event loop that stands still between jobs."""

    def __init__(self) -> None:
        if _make is None:
            msg = "this process was not forked from a fork server of jobs"
            raise RuntimeError(msg)
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        tools = _make()
        books = [(tool, book) for tool in tools if isinstance(book := getattr(tool, "book", None), JobBook)]
        if not books:
            msg = "the toolsets of this process declare no jobs, as those of its server do"
            raise RuntimeError(msg)
        self._jobs, self._book = books[0]
        self._tools = tools
        self._toolbox = Toolbox(tools)
        self._is_started = False

    def run(self, job_id: str, owner: str) -> dict[str, Any]:
        """Run a job to its end."""
        return self._loop.run_until_complete(self._run(job_id, owner))

    async def _run(self, job_id: str, owner: str) -> dict[str, Any]:
        if not self._is_started:
            for tool in self._tools:
                if tool is not self._jobs:
                    await tool.start()
            self._is_started = True
        book = self._book
        counted = _Counted()
        if LOOK is not None:
            asyncio.get_running_loop().add_signal_handler(LOOK, book.wake, job_id)
        try:
            job = await run_job(book, Engine(book), self._toolbox, job_id, owner, metrics=counted)
        finally:
            if LOOK is not None:  # one that comes late must not end the process
                signal.signal(LOOK, signal.SIG_IGN)
        if in_background:  # what the ledger could not store at once
            await asyncio.wait(in_background, timeout=_BACKGROUND_S)
        if self._jobs.runtime.captures is not None:  # the process may end without any clean-up
            finish_captures()
        is_fit = not any(tool.runtime.threads.busy for tool in self._tools)  # no thread of a handler that was cancelled
        return {"ended": job is not None and job.has_ended, "is_fit": is_fit, "events": counted.events}


class _Counted(NullMetrics):
    """Keeps what an operation counts, for the process that is scraped."""

    never_raises = True

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        for name in ("started", "finished", "put_off", "attempted", "failed", "recovery"):
            setattr(self, name, lambda *facts, name=name: self.events.append((name, *facts)))
