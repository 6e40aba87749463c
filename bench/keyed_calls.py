"""What an idempotency key costs a call: against the same call without one, for each store on this machine."""

from __future__ import annotations

import itertools
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import Figure, benchmark, figure, us

from failsoft import BaseTool, Runtime, Settings, operation
from failsoft.framework.call import META_KEY, NO_SCOPE, CallScope
from failsoft.framework.events import Events
from failsoft.framework.state.store import StateStore
from failsoft.recovery.state.store import open_state

CALLS = 400
ROUNDS = 5
_numbers = itertools.count()


class Till(BaseTool):
    """Takes money."""

    @operation
    async def pay(self, amount: int) -> int:
        """Take an amount."""
        return amount


async def per_call_s(tool: Till, *, keyed: bool) -> float:
    """Return the seconds of processor time of one call, the best of a few rounds."""
    best = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(CALLS):
            scope = CallScope(meta={META_KEY: f"k{next(_numbers)}"}) if keyed else NO_SCOPE
            await tool.operations["pay"].call({"amount": 1}, scope)
        best.append((time.process_time() - began) / CALLS)
    return min(best)


async def measured(state: StateStore) -> float:
    """Return what a key adds, in seconds."""
    tool = Till(runtime=Runtime(settings=Settings(), state=state))
    plain = await per_call_s(tool, keyed=False)
    keyed = await per_call_s(tool, keyed=True)
    await state.close()
    return keyed - plain


@benchmark("A keyed call over an unkeyed one", rounds=(3, 1))
async def measure(given: Any) -> list[Figure]:
    """Return the figures."""
    with tempfile.TemporaryDirectory() as folder:
        stores = {"memory": "memory:", "sqlite": f"sqlite:{Path(folder) / 's.sqlite'}"}
        return [
            figure(name, us([await measured(open_state(url, Events())) for _ in range(given.rounds)]), "us")
            for name, url in stores.items()
        ]
