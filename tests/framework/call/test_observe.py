"""The outermost link keeps nothing of a call that is over."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from failsoft import BaseTool, Conflict, DocumentNotFound, operation
from failsoft.recovery import AlternatePaths, Call
from tests.framework.recording import quiet_runtime


class Failing(BaseTool):
    """Fails in every way."""

    @operation(read_only=True, recovery=[AlternatePaths()])
    async def get(self, path: str) -> str:
        """Return a document, or what its path says."""
        if path == "conflict":
            raise Conflict
        if path == "crash":
            raise LookupError(path)
        if path.endswith(".mdx"):
            raise DocumentNotFound(path=path)
        return path

    @operation(read_only=True)
    def get_in_thread(self, path: str) -> str:
        """Fail in a thread."""
        raise Conflict(message=path)


@pytest.fixture(scope="module")
def nothing_older() -> None:
    """Keep the collector from what is there already: else each collection looks through the whole suite."""
    gc.collect()
    gc.freeze()


@pytest.mark.usefixtures("nothing_older")
@pytest.mark.parametrize(
    ("name", "arguments", "is_recovered"),
    [
        ("get", {}, False),
        ("get", {"path": "conflict"}, False),
        ("get", {"path": "crash"}, False),
        ("get", {"path": "a.mdx"}, True),
        ("get_in_thread", {"path": "a"}, False),
    ],
)
def test_a_failed_call_leaves_no_reference_cycle(name: str, arguments: dict[str, Any], is_recovered: bool) -> None:
    tool = Failing(runtime=quiet_runtime())

    async def call() -> bool:
        return (await tool.execute_with_error_handling(name, arguments)).success

    async def left_behind() -> list[Any]:
        await call()
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            assert await call() is is_recovered
            gc.collect()
            return [item for item in gc.garbage if isinstance(item, Call)]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()

    assert asyncio.run(left_behind()) == []
