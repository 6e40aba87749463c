"""Serves the test tools in a process of its own: `python serving.py stdio|http [key=value ...]`."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from failsoft import BaseTool, ToolError, operation, serve
from tests.doors import seam_module, stdio_serve_module
from tests.server.asked_tools import Asked
from tests.server.served_tools import Hostile, Polite


def tell(line: str) -> None:
    """Write a line to stderr, where the test reads it."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


class Unstartable(BaseTool):
    """Cannot start."""

    @operation(read_only=True)
    async def never(self) -> None:
        """Never run."""

    async def startup(self) -> None:
        """Fail."""
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), "/secret/place")


class Announced(Polite):
    """Polite tools that say on stderr when they start and stop."""

    async def startup(self) -> None:
        tell("started")

    async def shutdown(self) -> None:
        tell("stopped")


class Numbered(Polite):
    """Polite tools that say on stderr in which process they start and stop."""

    async def startup(self) -> None:
        tell(f"worker started {os.getpid()}")

    async def shutdown(self) -> None:
        tell(f"worker stopped {os.getpid()}")


TOOLS: dict[str, Any] = {
    "all": [Polite, Hostile],
    "polite": [Polite],
    "announced": [Announced],
    "numbered": [Numbered],
    "asked": [Asked],
    "unstartable": [Announced, Unstartable],
    "unsendable": lambda: [Polite],
}


def main(
    transport: Any,
    tools: str = "all",
    workers: str = "1",
    host: str = "127.0.0.1",
    port: str = "0",
    last_bytes_s: str = "",
    way: str = "lane",
) -> int:
    """Serve, with the lane or in the SDK's way, and print the URL on stderr."""
    if way == "sdk":
        seam_module._found.append("the test asks for it")
    if last_bytes_s:
        stdio_serve_module._LAST_BYTES_S = float(last_bytes_s)
    try:
        serve(
            TOOLS[tools],
            transport=transport,
            port=int(port),
            host=host,
            workers=int(workers),
            on_ready=lambda url: tell(f"ready {url}"),
        )
    except ToolError as error:
        tell(f"{error.code} {error.message}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], **dict(pair.split("=", 1) for pair in sys.argv[2:])))
