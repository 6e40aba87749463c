"""Serves a toolset that blocks: `python blocking.py stdio|http WHERE [WORKERS]`.

`LIMIT_S` is how long the server waits for what does not end after the grace period.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time

from failsoft import BaseTool, configure_logging, operation, serve
from tests.doors import draining_module as draining

draining.CLEANUP_S = draining._RESPONSE_S = float(os.environ["LIMIT_S"])  # here, so that workers have it, too


def tell(line: str) -> None:
    """Write a line to stderr, where the test reads it."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


class Blocking(BaseTool):
    """Blocks in one of many ways, and never ends by itself."""

    @operation(read_only=True, timeout=3600)
    async def block(self, how: str) -> None:
        """Block the event loop."""
        tell("blocked")
        if how == "loop":
            while True:
                pass
        if how == "sleep":
            time.sleep(3600)  # noqa: ASYNC251 - that is the mistake
        if how == "pattern":
            re.fullmatch("(a+)+b", "a" * 60)
        if how == "executor":
            await asyncio.to_thread(time.sleep, 3600)
        while True:  # "stubborn": ignores cancellation
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                tell("ignored")

    @operation(read_only=True, timeout=3600)
    def block_thread(self) -> None:
        """Block a worker thread."""
        tell("blocked")
        while True:
            pass


class SlowToStart(Blocking):
    """Blocks at start."""

    async def startup(self) -> None:
        tell("blocked")
        while True:
            pass


class SlowToStop(Blocking):
    """Blocks at shutdown."""

    async def startup(self) -> None:
        tell("blocked")

    async def shutdown(self) -> None:
        while True:
            pass


if __name__ == "__main__":
    if "FAILSOFT_LOG_JSON" in os.environ:
        configure_logging()
    TOOLS = {"call": Blocking, "start": SlowToStart, "stop": SlowToStop}
    serve(
        TOOLS[sys.argv[2]],
        transport=sys.argv[1],  # type: ignore[arg-type]  # stdio or http
        port=0,
        workers=int(sys.argv[3]) if len(sys.argv) > 3 else 1,
        on_ready=lambda url: tell(f"ready {url}"),
    )
