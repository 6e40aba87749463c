"""A toolset whose job leaves a line in a file when it begins, and takes as long as it is told."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from failsoft import BaseTool, CallContext, Conflict, operation

__all__ = ["Kitchen"]


class Kitchen(BaseTool):
    """Cooks."""

    @operation(job="required", read_only=True)
    async def cook(self, what: str, call: CallContext, seconds: float = 0.3) -> dict[str, str]:
        """Cook something."""
        _note(what)
        await call.report_progress(1, 2, f"cooking {what}")
        if what == "stone":
            raise Conflict("Stones do not cook.", effect="none")
        await asyncio.sleep(seconds)
        return {"cooked": what}

    @operation(read_only=True)
    async def process(self) -> int:
        """Return the id of the server's process."""
        return os.getpid()


def _note(what: str) -> None:
    with Path(os.environ["BEGUN"]).open("a") as begun:
        begun.write(f"{what} {os.getpid()}\n")
