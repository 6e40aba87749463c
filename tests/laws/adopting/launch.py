"""Runs a Python MCP server that others wrote, as it is or with one line added.

`launch.py bare|sdk|fastmcp SITE PROGRAM ...`: SITE is the folder of packages that the server is installed in; what
failsoft's own environment has comes first.
"""

from __future__ import annotations

import sys
from importlib.metadata import distributions
from typing import Any


def _adopt_sdk_servers() -> None:
    from mcp.server.mcpserver import MCPServer  # noqa: PLC0415 - only one of the libraries is loaded

    from failsoft.adapters.mcpserver import FailSoft  # noqa: PLC0415 - as above

    def adopted(original: Any) -> Any:
        async def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            FailSoft(self)
            return await original(self, *args, **kwargs)

        return run

    MCPServer.run_stdio_async = adopted(MCPServer.run_stdio_async)  # type: ignore[method-assign]


def _adopt_fastmcp_servers() -> None:
    from fastmcp import FastMCP  # noqa: PLC0415 - only one of the libraries is loaded

    from failsoft.adapters.fastmcp import FailSoftMiddleware  # noqa: PLC0415 - as above

    def adopted(original: Any) -> Any:
        async def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            self.middleware.insert(0, FailSoftMiddleware())
            return await original(self, *args, **kwargs)

        return run

    FastMCP.run_stdio_async = adopted(FastMCP.run_stdio_async)  # type: ignore[method-assign]


def main() -> None:
    how, site, program, *words = sys.argv[1:]
    sys.path.append(site)
    if how == "sdk":
        _adopt_sdk_servers()
    elif how == "fastmcp":
        _adopt_fastmcp_servers()
    sys.argv = [program, *words]
    for distribution in distributions(path=[site]):
        for entry in distribution.entry_points:
            if entry.group == "console_scripts" and entry.name == program:
                entry.load()()
                return
    sys.exit(f"{site} has no program {program}")


if __name__ == "__main__":
    main()
