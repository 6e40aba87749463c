"""An MCP server over stdio that lists the tools of a JSON file: `python listing_server.py FILE`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def answer_to(method: str, params: dict[str, Any], tools: list[Any]) -> dict[str, Any]:
    """Return what the message that answers says, beside its id."""
    if method == "initialize":
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "listing", "version": "1"}}
        return {"result": {"protocolVersion": params["protocolVersion"], **about}}
    if method == "tools/list":
        return {"result": {"tools": tools}}
    if method == "tools/call":
        return {"result": {"content": [{"type": "text", "text": params["name"]}]}}
    return {"error": {"code": -32601, "message": "Method not found"}}


def main(file: str) -> None:
    tools = json.loads(Path(file).read_text())
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            answer = answer_to(request["method"], request.get("params") or {}, tools)
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
