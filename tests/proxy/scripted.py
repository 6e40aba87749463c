"""An MCP server over stdio that lists and answers what a JSON file says: `python scripted.py FILE`.

The file holds `tools`, and `answers` by name: a result, or several messages for one call after another. An answer with
`tools` replaces the list, and says so, before it is sent. `environment` answers with the variables of this process, and
`capabilities` with what its client has declared; `log` sends a log message first.
Messages in `before` of an answer are sent before it, with the token of the call's progress for "$token". `changes`
tells how often the folders of the client have changed, and `pid` the number of this process. `leave` ends it, but
for a process that it starts, in a session of its own if the metadata has `apart`.
`tools/list` among the answers is a message in the place of the list, as are other methods, whose capabilities `offers`
declares.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

script: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
declared: dict[str, Any] = {}
changes: list[Any] = []
tools: list[Any] = script["tools"]


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def call(number: Any, name: str, meta: dict[str, Any]) -> None:
    answer: Any = script.get("answers", {}).get(name, text("fine"))
    if name == "environment":
        answer = text(json.dumps(dict(os.environ)))
    if name == "log":
        send(method="notifications/message", params={"level": "info", "data": "busy"})
    if name == "changes":
        answer = text(str(len(changes)))
    if name == "leave":  # what it has started holds its pipes
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"], start_new_session="apart" in meta)
        os._exit(3)
    if name == "pid":
        answer = text(str(os.getpid()))
    if name == "capabilities":
        answer = text(json.dumps(declared))
    if isinstance(answer, list):
        answer = answer.pop(0) if len(answer) > 1 else answer[0]
    if "tools" in answer:
        tools[:] = answer["tools"]
        send(method="notifications/tools/list_changed")
        answer = answer["then"]
    for message in answer.pop("before", ()):
        send(**json.loads(json.dumps(message).replace('"$token"', json.dumps(meta.get("progressToken")))))
    send(id=number, **(answer if "error" in answer else {"result": answer}))


def main() -> None:
    offers = script.get("offers", {"tools": {"listChanged": True}})
    info = {"capabilities": offers, "serverInfo": {"name": "scripted", "version": "1"}}
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            declared.update(message["params"]["capabilities"])
            send(id=number, result={"protocolVersion": message["params"]["protocolVersion"], **info})
        elif method == "tools/list":
            send(id=number, **script.get("answers", {}).get(method, {"result": {"tools": tools}}))
        elif method == "tools/call":
            call(number, message["params"]["name"], message["params"].get("_meta") or {})
        elif method == "notifications/roots/list_changed":
            changes.append(message)
        elif number is not None and method in script.get("answers", {}):
            answer = script["answers"][method]
            send(id=number, **(answer.pop(0) if isinstance(answer, list) else answer))
        elif number is not None:
            send(id=number, error={"code": -32601, "message": "Method not found"})


if __name__ == "__main__":
    main()
