"""A server whose one tool counts in a file how often it worked: a program, for two of them share one Redis."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from failsoft import BaseTool, operation, serve

LEDGER = Path(sys.argv[1])


class Ledger(BaseTool):
    """Writes a line for each piece of work."""

    @operation(timeout=30)
    def book(self, text: str, hold: str | None = None) -> dict[str, int | str]:
        """Write a line, and with `hold` wait until that file exists."""
        with LEDGER.open("a") as file:
            file.write(f"{text}\n")
        while hold is not None and not Path(hold).exists():
            time.sleep(0.01)
        return {"text": text, "process": os.getpid()}


if __name__ == "__main__":
    serve(Ledger())
