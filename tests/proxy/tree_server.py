"""An MCP server started through a wrapper, as by `npx`: `python tree_server.py FILE` starts `python tree_server.py`.

The wrapper ignores SIGTERM and the end of its input; so do the server and a helper that the server starts. Each writes
its pid to the file.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

INFO = {"capabilities": {"tools": {}}, "serverInfo": {"name": "tree", "version": "1"}}


def note(file: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with Path(file).open("a", encoding="utf-8") as pids:
        pids.write(f"{os.getpid()}\n")


def serve() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        results = {
            "initialize": {"protocolVersion": "2025-11-25", **INFO},
            "tools/list": {"tools": [{"name": "works", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "fine"}]},
        }
        if method in results:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": number, "result": results[method]}) + "\n")
        elif number is not None:
            error = {"code": -32601, "message": "no such method"}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}) + "\n")
        sys.stdout.flush()


def main(file: str, part: str = "wrapper") -> None:
    note(file)
    if part == "wrapper":
        subprocess.run([sys.executable, __file__, file, "server"], check=False)
    elif part == "server":
        subprocess.Popen([sys.executable, __file__, file, "helper"], stdin=subprocess.DEVNULL)
        serve()
    time.sleep(3_600)


if __name__ == "__main__":
    main(*sys.argv[1:])
