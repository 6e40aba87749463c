"""A toolset whose operation runs a test's function, behind the strategies under test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from failsoft import BaseTool, RecoveryManager, Runtime, operation
from failsoft.testing import InstantClock, fresh_runtime

__all__ = ["Protected", "codes", "on_instant_clock", "protected"]

T = TypeVar("T")


class Protected(BaseTool):
    """Runs what `work` says, and counts the runs."""

    name = "shop"

    def __init__(self, work: Callable[[], Any], runtime: Runtime) -> None:
        super().__init__(runtime=runtime)
        self.work = work
        self.runs = 0
        self.running = 0
        self.most_at_once = 0

    @operation(read_only=True, timeout=600)
    async def fetch(self, item: str = "") -> str:
        """Do the work."""
        self.runs += 1
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        try:
            value = self.work()
            return str(await value if asyncio.iscoroutine(value) else value)
        finally:
            self.running -= 1

    async def code(self, item: str = "") -> str:
        """Call it, and return the code of the answer, or `ok`."""
        answer = await self.fetch(item=item)
        return "ok" if answer.error is None else answer.error.code


def protected(
    *strategies: Any, work: Callable[[], Any] = lambda: "done", runtime: Runtime | None = None, **parts: Any
) -> Protected:
    """Return a toolset with these strategies and with no others."""
    manager = RecoveryManager()
    manager.add(*strategies)
    own = type("Shop", (Protected,), {"name": "shop", "recovery": manager})
    return own(work, runtime or fresh_runtime(**parts))


def on_instant_clock(main: Coroutine[Any, Any, T]) -> T:
    """Run a test whose pauses and time-outs pass at once."""
    return InstantClock().run(main)


async def codes(calls: Iterable[Coroutine[Any, Any, str]]) -> list[str]:
    """Return the codes of calls that were made at once, sorted."""
    return sorted(await asyncio.gather(*calls))
