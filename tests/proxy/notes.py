"""A server that appends notes to the file that it is given, as its argument or in `NOTES`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("notes")
file = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ["NOTES"])


@server.tool()
def write(text: str) -> str:
    """Append a line to the file."""
    with file.open("a") as notes:
        notes.write(text + "\n")
    return f"written to {file.name}"


server.run()
