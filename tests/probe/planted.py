"""An MCP server over stdio whose tools fail in ways that a probe has to find; each call is a line of CALLS."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

NOTES = {"n-104": "milk", "n-205": "rent", "n-314": "post"}
READS = {"readOnlyHint": True}


class Refused(Exception):
    """A failure that is answered with `isError`."""


def tool(name: str, properties: dict[str, Any], required: list[str], **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "inputSchema": schema, "annotations": READS, **more}


NOTE = {"note_id": {"type": "string"}}
TOOLS = [
    tool("list_notes", {}, []),
    tool("good_note", NOTE, ["note_id"], description="Return a note; ids come from list_notes."),
    tool("silent_search", {"query": {"type": "string"}, "limit": {"type": "integer", "maximum": 50}}, ["query"]),
    tool("opaque_note", NOTE, ["note_id"]),
    tool("raising_note", NOTE, ["note_id"]),
    tool("misleading_note", NOTE, ["note_id"]),
    tool("useless_note", NOTE, ["note_id"]),
    tool("lying_note", NOTE, ["note_id"]),
    tool("leaking_note", NOTE, ["note_id"]),
    tool("huge_note", NOTE, ["note_id"]),
    tool("crashing_note", NOTE, ["note_id"]),
    tool("hanging_note", NOTE, ["note_id"]),
    tool("environment", {}, []),
    tool("write_note", NOTE, ["note_id"], annotations={}),
    tool("delete_note", NOTE, ["note_id"], annotations={"readOnlyHint": True, "destructiveHint": True}),
    tool("two_faced", NOTE, ["note_id"]),
    tool("two_faced", NOTE, ["note_id"], annotations={"readOnlyHint": False}),
]
_LEAK = """Traceback (most recent call last):
  File "/home/deploy/app/server.py", line 41, in get
KeyError: connect to postgres://app:hunter2-Xy9@10.0.3.17:5432/orders failed"""


def _checked(arguments: dict[str, Any], known: set[str]) -> None:
    for name in arguments:
        if name not in known:
            raise Refused(f"There is no parameter `{name}`; the parameters are: {', '.join(sorted(known))}.")
    if "note_id" in known and not isinstance(arguments.get("note_id"), str):
        raise Refused("`note_id` is required and must be a string, such as n-104.")


def _note(arguments: dict[str, Any], otherwise: Any) -> str:
    note = str(arguments.get("note_id"))
    if note in NOTES and set(arguments) == {"note_id"}:
        return NOTES[note]
    if isinstance(otherwise, BaseException):
        raise otherwise
    return str(otherwise)


def answer(name: str, arguments: dict[str, Any]) -> Any:  # noqa: C901, PLR0911 - a case for each tool
    if name == "list_notes":
        _checked(arguments, set())
        return [{"note_id": note} for note in NOTES]
    if name == "environment":
        _checked(arguments, set())
        return dict(os.environ)
    if name == "silent_search":
        return [text for text in NOTES.values() if str(arguments.get("query", "")) in text]
    if name in {"good_note", "misleading_note", "useless_note"}:
        _checked(arguments, {"note_id"})
        step = {
            "good_note": "Candidates: n-104, n-205, n-314. Next: list_notes {}",
            "misleading_note": 'Next: misleading_note {"note_id": "n-314"}',
            "useless_note": 'Next: useless_note {"note_id": "n-999"}',
        }[name]
        return _note(arguments, Refused(f"There is no note of this `note_id`. {step}"))
    if name == "opaque_note":
        return _note(arguments, Refused("Invalid input."))
    if name == "lying_note":
        return _note(arguments, "Error: note_id must be a string that list_notes names")
    if name == "leaking_note":
        return _note(arguments, Refused(_LEAK))
    if name == "huge_note":
        return _note(arguments, Refused(f"note_id is wrong, see list_notes; string {'x' * 20_000}"))
    if name == "crashing_note" and str(arguments.get("note_id")) not in NOTES:
        os._exit(3)
    if name == "hanging_note" and not isinstance(arguments.get("note_id"), str):
        time.sleep(30)
    return _note(arguments, Refused("`note_id` is not the id of a note, which is a string; see list_notes."))


def result(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name not in {one["name"] for one in TOOLS}:
        return {
            "error": {"code": -32602, "message": f"Unknown tool {name}; tools: {', '.join(t['name'] for t in TOOLS)}"}
        }
    if name == "raising_note" and str(arguments.get("note_id")) not in NOTES:
        return {"error": {"code": -32603, "message": "note_id: expected string, an id of list_notes"}}
    try:
        found, failed = answer(name, arguments), False
    except Refused as error:
        found, failed = str(error), True
    text = found if isinstance(found, str) else json.dumps(found)
    return {"result": {"content": [{"type": "text", "text": text}], "isError": failed}}


def main() -> None:
    about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "planted", "version": "1.0"}}
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params") or {}
        if "id" not in message:
            continue
        if method == "initialize":
            reply: dict[str, Any] = {"result": {"protocolVersion": params["protocolVersion"], **about}}
        elif method == "tools/list":
            reply = {"result": {"tools": TOOLS}}
        elif method == "tools/call":
            with Path(sys.argv[1]).open("a", encoding="utf-8") as calls:
                calls.write(json.dumps({"tool": params["name"], "arguments": params.get("arguments")}) + "\n")
            reply = result(params["name"], params.get("arguments") or {})
        else:
            reply = {"error": {"code": -32601, "message": "Method not found"}}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
