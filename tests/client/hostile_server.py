"""A server over stdio that answers calls with whatever its argument says: `hostile_server.py ANSWER`."""

from __future__ import annotations

import itertools
import json
import signal
import sys
from typing import Any

DEEP = "[" * 100_000
INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "hostile", "version": "1"},
}
TOOL = {"name": "work", "inputSchema": {"type": "object"}}
ENDLESS = {"endless", "large"}
numbers = itertools.count()


def write(text: str) -> None:
    """Write one line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def reply(number: Any, answer: str) -> None:
    """Answer a call."""
    if answer == "asks":
        for asked in range(4_000):  # and reads no answer
            write(f'{{"jsonrpc":"2.0","id":"q{asked}","method":"roots/list"}}')
        write(f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[{{"type":"text","text":"done"}}]}}}}')
        signal.pause()
    if answer == "die":
        sys.exit(1)
    if answer == "garbage":
        write("\x1b[2Jthis is no JSON\x00")
        write(f'{{"jsonrpc":"2.0","id":{number},"result":{DEEP}')
        sys.exit(0)
    write(f'{{"jsonrpc":"2.0","id":{number},{answer}}}')


def main(answer: str) -> None:
    """Serve until the client leaves."""
    for line in sys.stdin:
        request = json.loads(line)
        number = request.get("id")
        if number is None:
            continue
        if request["method"] == "initialize":
            if answer == "never":
                continue
            reply(number, f'"result":{json.dumps(INITIALIZED)}')
        elif request["method"] == "tools/list":
            page = {"tools": [TOOL], "nextCursor": str(next(numbers))} if answer in ENDLESS else {"tools": [TOOL]}
            page |= {"_meta": {"pad": "x" * 1_000_000}} if answer == "large" else {}
            reply(number, f'"result":{json.dumps(page)}')
        elif request["method"] == "tools/call":
            reply(number, answer)
        else:
            reply(number, '"error":{"code":-32601,"message":"no such method"}')


if __name__ == "__main__":
    main(sys.argv[1])
