"""`run_worker`: runs the jobs of a server in this process, until a signal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from failsoft.framework.errors import ConfigurationError
from failsoft.jobs.toolset import FLEET_URL, jobs_of
from failsoft.server.assembly import Assembly, assemble
from failsoft.server.signals import signals_handled
from failsoft.server.sources import Tools

if TYPE_CHECKING:
    from failsoft.jobs.temporal import TemporalEngine

_IN_THIS_PROCESS = 100
"""How many jobs run at once where the worker has no processes for them: they wait rather than compute."""


def run_worker(tools: Tools, *, name: str | None = None, on_ready: Callable[[str], None] | None = None) -> None:
    """Run the jobs that servers of the same application hand to the engine of `FAILSOFT_FLEET_URL`.

    They run in `FAILSOFT_JOB_PROCESSES` processes. At SIGINT or SIGTERM it takes no more jobs, and waits at most
    `FAILSOFT_SHUTDOWN_GRACE_S` for those that run.

    Args:
        tools: See `serve`; the same as the servers have.
        name: The name of those servers.
        on_ready: Called with the task queue once Temporal has been reached.

    Raises:
        CONFIG_ERROR: There is no engine, no shared store, no operation with `job`, or something given is not a toolset.
        UNAVAILABLE: The engine cannot be reached.
        INIT_ERROR: A toolset failed to start.
    """
    assembly = assemble(tools, name=name)
    if assembly.settings.fleet_url is None:
        issue = f"a worker gets its jobs from the engine of {FLEET_URL}, which is not set"
        raise ConfigurationError(issue=issue, resolution=f"set {FLEET_URL}=temporal://HOST:PORT/NAMESPACE")
    if jobs_of(assembly.tools) is None:
        raise ConfigurationError(issue="no operation of these tools declares job", resolution="@operation(job=True)")
    asyncio.run(_work(assembly, on_ready or (lambda _: None)))


async def _work(assembly: Assembly, on_ready: Callable[[str], None]) -> None:
    settings, jobs = assembly.settings, jobs_of(assembly.tools)
    assert jobs is not None  # noqa: S101 - as checked above
    loop = asyncio.get_running_loop()

    def end(*_: object) -> None:
        loop.call_soon_threadsafe(working.cancel)

    async with assembly.lifecycle.running():
        engine, runner = cast("TemporalEngine", jobs.desk.engine), jobs.runner()
        runner.warm_up()
        at_once = settings.job_processes or _IN_THIS_PROCESS
        ready = partial(on_ready, engine.queue)
        working = asyncio.create_task(engine.work(runner, at_once, settings.shutdown_grace_s, ready))
        try:
            with signals_handled(end):
                await asyncio.wait([working])
            if not working.cancelled():
                working.result()
        finally:
            await runner.close()
