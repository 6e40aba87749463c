"""An MCP server over stdio whose names and texts try to become markup, terminal codes or another line."""

from __future__ import annotations

import json
import sys

TEXT = "<script>window.wasRun = true</script>\x1b[31m\u202e]]> <img src=https://tracker.invalid/a.png> {{7*7}}"
SCHEMA = {"type": "object", "properties": {"<b>name</b>": {"type": "string"}}, "required": ["<b>name</b>"]}
TOOL = {"name": "evil<script>", "description": TEXT, "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}
ABOUT = {"capabilities": {"tools": {}}, "serverInfo": {"name": f"evil {TEXT}", "version": TEXT}}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], **ABOUT}
    elif message["method"] == "tools/list":
        result = {"tools": [TOOL]}
    else:
        result = {"content": [{"type": "text", "text": f"Error: {TEXT}"}], "isError": False}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
    sys.stdout.flush()
