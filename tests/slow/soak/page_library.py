"""The library of the page about deployment, with a tool that writes; each call leaves a line, and waits."""

from __future__ import annotations

import os
import time
from pathlib import Path

from failsoft import BaseTool, operation


class Library(BaseTool):
    """Books, of which the file that BEGUN names has each title and the process that began to look for it."""

    @operation(read_only=True, timeout=60)
    def get_book(self, title: str) -> str:
        """Return a book, once the file that GATE names is there."""
        return self._after_a_line(title)

    @operation(timeout=60)
    def lend_book(self, title: str) -> str:
        """Lend a book, once the file that GATE names is there."""
        return self._after_a_line(title)

    def _after_a_line(self, title: str) -> str:
        with Path(os.environ["BEGUN"]).open("a") as file:
            file.write(f"{title} {os.getpid()}\n")
        while title.startswith("held") and not Path(os.environ["GATE"]).exists():
            time.sleep(0.02)
        return title
