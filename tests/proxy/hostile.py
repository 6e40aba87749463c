"""An MCP server over stdio that answers badly: `python hostile.py`. Hand-written, since no SDK lets one answer so."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

READ_ONLY = {"readOnlyHint": True}
TOOLS = [
    ("echo", {}),
    ("echo_safely", READ_ONLY),
    ("works_once", READ_ONLY),
    ("die", {}),
    ("die_once", READ_ONLY),
    ("hang", {}),
    ("error", {}),
    ("invalid_params", {}),
    ("is_error", {}),
    ("is_error_1", {}),
    ("is_error_json", {}),
    ("status_429", {}),
    ("grow", {}),
    ("change_often", {}),
    ("envelope", {}),
    ("bare_error", {}),
    ("bare_refusal", {}),
    ("error_as_data", {}),
    ("malformed", {}),
    ("huge", {}),
    ("wrong_types", {}),
    ("no_result", {}),
    ("duplicate", {}),
    ("late_and_strange", {}),
    ("bad_structured", {}),
    ("random", READ_ONLY),
    ("budget", READ_ONLY),
]
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}, "times": {"type": "integer", "minimum": 1}}}
OUTPUT = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def send(message: Any) -> None:
    """Write a message, or a text as it is."""
    line = message if isinstance(message, str) else json.dumps(message)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def answer(request_id: Any, result: Any) -> None:
    send({"jsonrpc": "2.0", "id": request_id, "result": result})


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


def described(name: str, annotations: dict[str, Any]) -> dict[str, Any]:
    tool = {"name": name, "inputSchema": SCHEMA, "annotations": annotations}
    return {**tool, "outputSchema": OUTPUT} if name == "bad_structured" else tool


ANSWERS: dict[str, Any] = {
    "error": {"error": {"code": -32603, "message": "boom"}},
    "invalid_params": {"error": {"code": -32602, "message": "no such colour"}},
    "is_error": {"result": text("Access denied: /etc/passwd is not in /srv/data", isError=True)},
    "is_error_1": {"result": text("Access denied", isError=1)},
    "is_error_json": {"result": text('{"error": {"status": 404, "message": "no such colour"}}', isError=True)},
    "status_429": {"result": text('{"status": 429, "message": "slow down", "retry_after": 9}', isError=True)},
    "envelope": {"result": text("{}", structuredContent={"status": 503, "detail": "later"}, isError=True)},
    "bare_error": {"result": text('{"error": {"status": 404, "message": "no such colour"}}')},
    "bare_refusal": {"result": text("no", structuredContent={"success": False, "message": "no such colour"})},
    "error_as_data": {"result": text('{"error": 0.02, "results": [1, 2]}')},
    "wrong_types": {"result": {"content": "not a list", "isError": "perhaps"}},
    "no_result": {},
    "bad_structured": {"result": text("{}", structuredContent={"ok": "yes"})},
}
RANDOM = ["echo", "error", "is_error", "malformed", "wrong_types", "no_result", "duplicate", "late_and_strange"]


GROWN: dict[str, Any] = {
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": []},
    "prompts/list": {"prompts": [], "_meta": {"shop/a": 1, "dev.failsoft/recovery": {"strategy": "retry"}}},
}
"""What this server offers besides tools; `grow` adds to it."""


def grow(request_id: Any) -> None:
    shown = {"uri": "shop://stock", "name": "stock", "description": "All\x1b[2J stock.\u202e"}
    GROWN["resources/list"]["resources"] += [shown, {"uri": "shop://\u202estock", "name": "hidden"}]
    argument = {"name": "title", "description": "Which\u200b book."}
    GROWN["prompts/list"]["prompts"] += [{"name": "sell", "arguments": [argument]}, {"name": "se\x1b[2Jll"}]
    for kind in ("resources", "prompts"):
        send({"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed"})
    answer(request_id, text("grown"))


def change_often(request_id: Any) -> None:
    for _ in range(1_000):
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    answer(request_id, text("changed"))


def list_tools(request_id: Any) -> None:
    with Path(os.environ.get("HOSTILE_LISTS", os.devnull)).open("a") as counted:
        counted.write("x")
    more = json.loads(os.environ.get("HOSTILE_TOOLS", "[]"))
    answer(request_id, {"tools": [described(name, hints) for name, hints in TOOLS] + more})


def wait_as_told() -> None:
    """Hang in the first process of several, or until another server is there."""
    hung = Path(os.environ.get("HOSTILE_HANGS_FIRST", os.devnull))
    if not hung.exists():
        hung.touch()
        time.sleep(3_600)
    mine, _, others = os.environ.get("HOSTILE_MEETS", "").partition(":")
    if mine:
        Path(mine).touch()
        while not Path(others).exists():
            time.sleep(0.01)


def die_once(request_id: Any) -> None:
    marker = Path(os.environ["HOSTILE_MARKER"])
    if not marker.exists():
        marker.touch()
        os._exit(3)
    answer(request_id, text("alive"))


def call(request_id: Any, name: str, arguments: dict[str, Any]) -> None:
    if name == "works_once" and name not in ANSWERS:
        answer(request_id, text("worked"))
        ANSWERS[name] = ANSWERS["error"]
    elif name in ANSWERS:
        send({"jsonrpc": "2.0", "id": request_id, **ANSWERS[name]})
    elif name == "random":
        call(request_id, random.choice(RANDOM), arguments)  # noqa: S311 - a made-up fault is no secret
    elif name.startswith("echo"):
        answer(request_id, text(str(arguments.get("text", ""))))
    elif name == "die_once":
        die_once(request_id)
    elif name in {"grow", "change_often"}:
        globals()[name](request_id)
    else:
        strange(request_id, name)


def strange(request_id: Any, name: str) -> None:
    if name == "die":
        os._exit(3)
    elif name == "malformed":
        send(f'{{"jsonrpc": "2.0", "id": {json.dumps(request_id)}, "result": {{"content": [')
    elif name == "huge":
        answer(request_id, text("x" * 20_000_000))
    elif name == "duplicate":
        answer(request_id, text("first"))
        answer(request_id, text("second"))
    elif name == "late_and_strange":
        send("this is no JSON")
        send({"jsonrpc": "2.0", "id": 987654321, "result": {}})
        send([1, 2, 3])
        send({"jsonrpc": "2.0", "method": "notifications/unheard-of", "params": {"a": 1}})
        answer(request_id, text("after all"))


def main() -> None:
    first = Path(os.environ.get("HOSTILE_FIRST_START", os.devnull))
    if not first.exists():
        first.touch()
        sys.exit("hostile: no database yet")
    wait_as_told()
    for line in sys.stdin:
        message = json.loads(line)
        method, request_id = message.get("method"), message.get("id")
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "hostile", "version": "1"}
            changing = {"listChanged": True}
            capabilities = {"tools": changing, "resources": changing, "prompts": changing, "logging": {}}
            answer(request_id, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})
        elif method == "resources/read":
            pass
        elif method in GROWN:
            answer(request_id, GROWN[method])
        elif method == "tools/list":
            list_tools(request_id)
        elif method == "tools/call":
            if message["params"]["name"] == "budget":
                answer(request_id, text(json.dumps(message["params"]["_meta"]["dev.failsoft/budget"])))
            else:
                call(request_id, message["params"]["name"], message["params"].get("arguments") or {})
        elif request_id is not None:
            send({"jsonrpc": "2.0", "id": request_id, "error": {"code": -32601, "message": "Method not found"}})


if __name__ == "__main__":
    main()
