"""A process that died, as its successors find it: its record as it was, and no lease renewed."""

from __future__ import annotations

import asyncio
from typing import Any

from failsoft import BaseTool
from tests.doors import META_KEY, CallScope, Held, LocalState, MemoryBackend, Write

__all__ = ["SharedRecords", "keyed", "left_behind", "shared"]


class SharedRecords(MemoryBackend):
    """Records as processes share them: never without waiting."""

    is_local = False

    async def read(self, key: str) -> Held:
        await asyncio.sleep(0)
        return await super().read(key)

    async def swap(self, key: str, version: str, write: Write) -> Held | None:
        await asyncio.sleep(0)
        return await super().swap(key, version, write)


def shared() -> LocalState:
    return LocalState(records=SharedRecords())


def keyed(key: Any = "k1", principal: str | None = "ann", **facts: Any) -> CallScope:
    return CallScope(meta={META_KEY: key}, principal=principal, **facts)


async def left_behind(tool: BaseTool, name: str, arguments: dict[str, Any], after_s: float) -> None:
    """Leave behind what a process leaves that dies so many seconds after a call began."""
    backend: Any = tool.runtime.state.records(tool).backend
    calling: Any = tool.operations[name].call(arguments, keyed())
    first = asyncio.get_running_loop().create_task(calling)
    await asyncio.sleep(after_s)
    as_it_was, usage = {kind: dict(kept) for kind, kept in backend._kinds.items()}, dict(backend._usage)
    for task in list(tool.runtime.detached.tasks):
        task.cancel()
    await asyncio.wait({first})
    await asyncio.sleep(0.1)
    backend._kinds, backend._usage = as_it_was, usage
