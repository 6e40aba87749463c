"""What a job over Temporal costs, over a bare Temporal workflow with one activity that does the same.

Both have a worker in this process, and take turns; the job's runs on its event loop, its records are in SQLite. Needs
the extra `temporal` and the server: `scripts/fetch.sh temporal_server`, or its program in the path.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from measure import Contender, Figure, benchmark, figure, interleave, ms, ratios

from failsoft import BaseTool, Runtime, Settings, operation
from failsoft.framework.call import CallScope
from failsoft.jobs.toolset import jobs_of
from failsoft.server.assembly import assemble

FETCHED = Path(os.environ.get("TEMPORAL_SERVER", Path.home() / ".cache/failsoft-temporal-server"))


class Desk(BaseTool):
    """The work."""

    @operation(read_only=True, job="required")
    async def look(self, name: str) -> str:
        """Return at once."""
        return name


@asynccontextmanager
async def _server(folder: Path, program: str) -> AsyncIterator[str]:
    """Run Temporal with its database in a file, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "server", "start-dev", "--headless", "--log-level", "error", "--port", str(port)]
    command += ["--db-filename", str(folder / "temporal.sqlite")]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        await process.wait()


async def _connected(address: str) -> Any:
    from temporalio.client import Client  # noqa: PLC0415 - an extra

    for _ in range(200):
        try:
            return await Client.connect(address)
        except RuntimeError:  # it is starting
            await asyncio.sleep(0.05)
    raise TimeoutError


@asynccontextmanager
async def _ours(address: str, folder: Path) -> AsyncIterator[Contender]:
    """Run a worker, and yield what begins a job and waits for its answer."""
    os.environ["FAILSOFT_STATE_URL"] = f"sqlite:{folder}/state.sqlite"
    desk = Desk(runtime=Runtime(settings=Settings(fleet_url=f"temporal://{address}/default")))
    assembly = assemble([desk], name="desk")
    async with assembly.lifecycle.running():
        jobs = jobs_of(assembly.tools)
        assert jobs is not None  # noqa: S101 - `look` declares one
        engine: Any = jobs.desk.engine
        ready, runner, bound = asyncio.Event(), jobs.runner(), desk.operations["look"]
        working = asyncio.create_task(engine.work(runner, 10, 0.0, ready.set))
        await ready.wait()

        async def contender(times: int) -> None:
            for _ in range(times):
                response = await jobs.desk.call(bound, {"name": "x"}, CallScope(), inline_s=60.0)
                if response.data != "x":
                    raise RuntimeError(str(response))

        try:
            yield contender
        finally:
            working.cancel()
            await asyncio.wait([working])
            await runner.close()


@benchmark("A job over Temporal", rounds=(15, 2), times=(20, 2))
async def measure(given: Any) -> list[Figure]:
    """Return the figures; none where Temporal is not installed."""
    program = shutil.which("temporal", path=f"{FETCHED}/cli/bin:{os.environ['PATH']}")
    if program is None:
        print("the Temporal server is not installed: scripts/fetch.sh temporal_server", file=sys.stderr)
        return []
    from bare_workflow import bare  # noqa: PLC0415 - an extra

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with _server(folder, program) as address:
            client = await _connected(address)
            async with bare(client) as theirs, _ours(address, folder) as ours:
                seconds = await interleave({"bare": theirs, "ours": ours}, rounds=given.rounds, times=given.times)
    return [
        figure("bare workflow with one activity", ms(seconds["bare"]), "ms"),
        figure("job, from the call to its answer", ms(seconds["ours"]), "ms"),
        figure("job", ratios(seconds["ours"], seconds["bare"]), "of bare", goal="<= 1.3"),
    ]
