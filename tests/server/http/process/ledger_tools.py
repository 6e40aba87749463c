"""Tools for servers that are killed and restarted: a write that leaves a line in a file, and a read that takes time."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from failsoft import BaseTool, operation


class Ledger(BaseTool):
    """Writes lines to the file that LEDGER names."""

    @operation(timeout=20)
    def book(self, text: str) -> str:
        """Write a line."""
        with Path(os.environ["LEDGER"]).open("a") as file:
            file.write(f"{text}\n")
        time.sleep(0.01)
        return text

    @operation(read_only=True, timeout=20)
    async def process_id(self, wait_s: float = 0.0) -> int:
        """Return the id of the process, after a while."""
        await asyncio.sleep(wait_s)
        return os.getpid()
