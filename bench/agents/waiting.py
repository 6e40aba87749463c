"""Scripted agents that loop over a job: their calls until they have its result, with the advice and without.

A poller asks again and again, a restarter begins the work anew when it hears nothing, a canceller ends the job first.
Each takes a second between its calls, and does what an answer says if it says anything: the wait of `next`, the job
that is `already_running`. Without the advice the same answers come without these two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from measure import Figure, benchmark, figure

from failsoft import BaseTool, Runtime, operation
from failsoft.framework.settings import Settings
from failsoft.testing import InstantClock

_WORK_S = 120.0
_BETWEEN_S = 1.0
_PATIENCE = 3
"""Answers without news after which work is begun anew."""
_CALLS_AT_MOST = 300


class Library(BaseTool):
    """Slow work."""

    @operation(job="required", read_only=True)
    async def index(self) -> str:
        """Index the library."""
        await asyncio.sleep(_WORK_S)
        return "indexed"


class Agent:
    """A scripted agent.

    Args:
        client: A connected client.
        is_advised: Whether it sees what the answers advise.
    """

    def __init__(self, client: Any, *, is_advised: bool) -> None:
        self._client = client
        self._is_advised = is_advised
        self.calls = 0
        self.begun = 0

    async def answer(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the data of a call, which takes the agent a second."""
        self.calls += 1
        self.begun += tool == "index"
        await asyncio.sleep(_BETWEEN_S)
        result: dict[str, Any] = (await self._client.call_tool(tool, arguments)).structured_content["data"]
        if not self._is_advised:
            result = {name: value for name, value in result.items() if name not in {"next", "already_running"}}
        return result

    async def look(self, job: dict[str, Any]) -> dict[str, Any]:
        """Ask for a job as its last answer says."""
        step = job.get("next", {"arguments": {"job_id": job["job_id"]}})
        return await self.answer("get_job", **step["arguments"])

    async def poll(self) -> None:
        """Ask until the work is done."""
        job = await self.answer("index")
        while job["state"] == "working" and self.calls < _CALLS_AT_MOST:
            job = await self.look(job)

    async def restart(self, *, cancels: bool = False) -> None:
        """Begin the work anew after a few answers without news, unless it is said to be running already."""
        job = await self.answer("index")
        while self.calls < _CALLS_AT_MOST:
            for _ in range(_PATIENCE):
                job = await self.look(job)
                if job["state"] == "completed":
                    return
            if cancels and not self._is_advised:
                await self.answer("cancel_job", job_id=job["job_id"])
            if cancels and self._is_advised and "next" in job:
                continue  # it is told what to do
            again = await self.answer("index")
            if "already_running" in again:
                await self.answer("cancel_job", job_id=again["job_id"])
                job = await self.answer("get_job", job_id=again["already_running"], wait_s=60)
                if job["state"] == "completed":
                    return
            else:
                job = again


def counted(act: Callable[[Agent], Coroutine[Any, Any, None]], *, is_advised: bool) -> tuple[int, int]:
    """Return the calls of an agent until it stops, and how often it began the work."""

    async def run() -> tuple[int, int]:
        from mcp import Client  # noqa: PLC0415 - with the benchmark only

        from failsoft import mcp_server  # noqa: PLC0415 - the same

        library = Library(runtime=Runtime(settings=Settings()))
        async with Client(mcp_server([library])) as client:
            agent = Agent(client, is_advised=is_advised)
            await act(agent)
        return agent.calls, agent.begun

    return InstantClock().run(run())


@benchmark("Jobs that are asked for blindly", rounds=(1, 1))
async def measure(given: Any) -> list[Figure]:  # noqa: ARG001 - the clock jumps: every round is the same
    """Return the figures."""
    agents: dict[str, Callable[[Agent], Coroutine[Any, Any, None]]] = {
        "a poller": Agent.poll,
        "a restarter": Agent.restart,
        "a canceller": lambda agent: agent.restart(cancels=True),
    }
    figures = []
    for name, act in agents.items():
        for is_advised in (False, True):
            calls, begun = await asyncio.to_thread(counted, act, is_advised=is_advised)
            how = "with the advice" if is_advised else "without"
            note = f"began the work {begun} times" + ("; gave up" if calls >= _CALLS_AT_MOST else "")
            figures.append(figure(f"calls of {name}, {how}", [float(calls)], "calls", note=note))
    return figures
