"""Stage 2: references and the author's checks, after validation and before the handler."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Proceed, Step

__all__ = ["Check", "check", "run_checks"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check. Sync checks run in a worker thread, as sync handlers do.

    They often read a file or query a database, and on the event loop one that hangs would stop the server with its time
    limits. The switch takes 45 to 60 us; a check that only computes should be `async def`. Checks must have no effects:
    they also run for the arguments of a next step before it is sent.

    Args:
        of: Returns the function to run for a call, or None, as for an optional argument that is not given.
        is_async: Whether that function runs on the event loop.
    """

    of: Callable[[Call], Callable[[], Any] | None]
    is_async: bool


def check(checks: Sequence[Check]) -> Step:
    """Return the link that runs the checks in the order of their declaration; the first error ends the call."""

    async def step(call: Call, proceed: Proceed) -> Any:
        await run_checks(checks, call)
        return await proceed(call)

    return step


async def run_checks(checks: Sequence[Check], call: Call) -> None:
    """Run the checks of a call's arguments in order.

    Adjacent sync checks share one switch to a thread, because the switch is the expensive part.

    Raises:
        ToolError: The error of the first check that fails.
    """
    for_thread: list[Callable[[], Any]] = []
    for item in checks:
        work = item.of(call)
        if work is None:
            continue
        if not item.is_async:
            for_thread.append(work)
            continue
        if for_thread:
            await _in_thread(call, for_thread)
            for_thread = []
        await work()
    if for_thread:
        await _in_thread(call, for_thread)


async def _in_thread(call: Call, works: Sequence[Callable[[], Any]]) -> None:
    remaining = iter(works)

    def run() -> Any:
        """Run checks until one returns an awaitable, and return that: a plain function may return a coroutine."""
        for work in remaining:
            verdict = work()
            if inspect.isawaitable(verdict):
                return verdict
        return None

    while (verdict := await call.bound.threads.run(run)) is not None:
        await verdict
