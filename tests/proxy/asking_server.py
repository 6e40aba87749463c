"""An MCP server of the older era over stdio that asks its user before it answers (`ask`), or does something (`wipe`).

The arguments of `ask` are the parameters of its question. Its answer is what it was answered, as JSON. With `wait` it
asks once as many calls are in flight, and with `waits: false` it answers as soon as it has asked. `wipe` counts in the
file that is its argument how often it was called.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

ANY = {"type": "object", "additionalProperties": True}
NAMES: dict[str, Any] = {"ask": {}, "wipe": {"destructiveHint": True}}
tools = [{"name": name, "inputSchema": ANY, "annotations": hints} for name, hints in NAMES.items()]
waiting: list[tuple[Any, dict[str, Any]]] = []
asked: dict[str, Any] = {}


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def call(number: Any, name: str, arguments: dict[str, Any]) -> None:
    if name == "wipe":
        with Path(sys.argv[1]).open("a") as file:
            file.write("wiped\n")
        send(id=number, result={"content": [{"type": "text", "text": "wiped"}]})
        return
    if arguments.pop("waits", True) is False:
        send(id=f"q{number}", method="elicitation/create", params=arguments)
        time.sleep(0.2)
        send(id=number, result={"content": [{"type": "text", "text": '{"waits": false}'}]})
        return
    wanted = arguments.pop("wait", 1)
    waiting.append((number, arguments))
    if len(waiting) >= wanted:
        for one, question in waiting:
            asked[f"q{one}"] = one
            send(id=f"q{one}", method="elicitation/create", params=question)
        waiting.clear()


for line in sys.stdin:
    message: dict[str, Any] = json.loads(line)
    number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if method == "initialize":
        hello = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
        send(id=number, result={**hello, "serverInfo": {"name": "asking", "version": "1"}})
    elif method == "tools/list":
        send(id=number, result={"tools": tools})
    elif method == "tools/call":
        call(number, params["name"], dict(params.get("arguments") or {}))
    elif method is None and number in asked:
        said = json.dumps(message.get("result") or {"error": message["error"]["code"]})
        send(id=asked.pop(number), result={"content": [{"type": "text", "text": said}]})
    elif number is not None and method is not None:
        send(id=number, error={"code": -32601, "message": "Method not found"})
