"""Serves the test tools in a process of its own: `python serving.py stdio|http [key=value ...]`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from served_tools import Hostile, Polite  # noqa: E402 - a script: its folder has to be on the path first

from failsoft import BaseTool, operation  # noqa: E402
from failsoft.framework.errors import ToolError  # noqa: E402
from failsoft.server import serve  # noqa: E402


class Unstartable(BaseTool):
    """Cannot start."""

    @operation(read_only=True)
    async def never(self) -> None:
        """Never run."""

    async def startup(self) -> None:
        """Fail."""
        raise OSError("no licence at /secret/place")


class Announced(Polite):
    """Polite tools that say on stderr when they start and stop, and can wait long before they stop."""

    async def startup(self) -> None:
        print("started", file=sys.stderr, flush=True)

    async def shutdown(self) -> None:
        print("stopped", file=sys.stderr, flush=True)
        await asyncio.sleep(0)


TOOLS: dict[str, Any] = {
    "all": [Polite, Hostile],
    "polite": [Polite],
    "announced": [Announced],
    "unstartable": [Announced, Unstartable],
}


def main(transport: Any, tools: str = "all", workers: str = "1", host: str = "127.0.0.1") -> int:
    """Serve, and tell the URL on stderr."""
    try:
        serve(
            TOOLS[tools],
            transport=transport,
            port=0,
            host=host,
            workers=int(workers),
            on_ready=lambda url: print(f"ready {url}", file=sys.stderr, flush=True),
        )
    except ToolError as error:
        print(f"{error.code} {error.message}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], **dict(pair.split("=", 1) for pair in sys.argv[2:])))
