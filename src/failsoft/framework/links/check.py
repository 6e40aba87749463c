"""Stage 2: references and the author's own checks, after the types and before the handler."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from failsoft.framework.chain import Proceed, Step
from failsoft.framework.context import CallContext

__all__ = ["Check", "check"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check. What is not async runs in a worker thread, where it may read a file and stall nobody (ADR 0010).

    Args:
        of: Returns what there is to do for a call, or None: an optional argument that is not there is not looked up.
        is_async: Whether what there is to do is done on the event loop.
    """

    of: Callable[[CallContext], Callable[[], Any] | None]
    is_async: bool


def check(checks: Sequence[Check]) -> Step:
    """Return the link that runs the checks in the order of their declaration; the first error ends the call.

    Checks that follow one another and are not async share one visit to a thread, which is what costs.
    """

    async def step(call: CallContext, proceed: Proceed) -> Any:
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
        return await proceed(call)

    return step


async def _in_thread(call: CallContext, works: Sequence[Callable[[], Any]]) -> None:
    remaining = iter(works)

    def run() -> Any:
        """Return what the loop has to await before the rest: a plain function may return a coroutine."""
        for work in remaining:
            verdict = work()
            if inspect.isawaitable(verdict):
                return verdict
        return None

    while (verdict := await call.bound.threads.run(run)) is not None:
        await verdict
