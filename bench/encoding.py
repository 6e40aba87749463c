"""What encoding takes: a failed call in each wire format, and the list of 1,000 tools over HTTP.

The list is asked for in memory, without a server around the app, and was encoded once before. Times are CPU times.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from load import META, VERSION, message
from measure import Contender, Figure, benchmark, figure, interleave, ms, us
from sample_tool import ARGUMENTS, Documents

from failsoft import Runtime, Settings
from failsoft.framework.answer.formats import FORMATS

FAILURES = ("typed error", "wrong type", "misspelt name", "three faults")
TOOLS = 1_000
OLDER = "2025-11-25"
"""A version of the protocol with the handshake, which is answered elsewhere."""
_HEADERS = {
    b"host": b"127.0.0.1:8321",
    b"accept": b"application/json, text/event-stream",
    b"content-type": b"application/json",
}


async def failures() -> dict[str, Contender]:
    """Return the encoding of each failure in each format."""
    found: dict[str, Contender] = {}
    for wire in FORMATS:
        tool = Documents(runtime=Runtime(settings=Settings(wire_format=wire)))
        for name in FAILURES:
            response = await tool.execute_with_error_handling("get_document", ARGUMENTS[name])
            found[f"{wire}: {name}"] = _encoding(response)
    return found


def _encoding(response: Any) -> Contender:
    async def encode(times: int) -> None:
        for _ in range(times):
            response.encoded = None
            response.encode()

    return encode


def lists(app: Any) -> dict[str, Contender]:
    """Return the requests for the list, by version of the protocol."""
    ours = {b"mcp-protocol-version": VERSION.encode(), b"mcp-method": b"tools/list"}
    return {
        "tools/list": _asking(app, ours, message("tools/list", {"_meta": META})),
        f"tools/list, version {OLDER}": _asking(
            app, {b"mcp-protocol-version": OLDER.encode()}, message("tools/list", {})
        ),
    }


def _asking(app: Any, headers: dict[bytes, bytes], body: bytes) -> Contender:
    async def once() -> None:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/mcp",
            "raw_path": b"/mcp",
            "root_path": "",
            "query_string": b"",
            "headers": [*(_HEADERS | headers).items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8321),
        }
        pending = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if not pending:
                await asyncio.Event().wait()  # the client stays connected
            return pending.pop()

        async def send(part: dict[str, Any]) -> None:
            sent.append(part)

        await app(scope, receive, send)
        if sent[0]["status"] != 200:
            msg = f"the list was refused: {sent}"
            raise SystemExit(msg)

    async def ask(times: int) -> None:
        for _ in range(times):
            await asyncio.create_task(once())

    return ask


@benchmark("Encoding", rounds=(15, 3), times=(300, 20))
async def measure(given: Any) -> list[Figure]:
    """Return all figures, measured in one run."""
    encoded = await interleave(await failures(), rounds=given.rounds, times=given.times, clock=time.process_time)
    os.environ["SCALE_TOOLS"] = str(TOOLS)
    from scale_servers import our_app  # noqa: PLC0415 - it reads the environment

    app = our_app()
    async with app.router.lifespan_context(app):
        times = max(1, given.times // 10)
        listed = await interleave(lists(app), rounds=given.rounds, times=times, clock=time.process_time)
    return [
        *(figure(name, us(taken), "us", goal="<= 15") for name, taken in encoded.items()),
        *(figure(name, ms(taken), "ms", goal="<= 2") for name, taken in listed.items()),
    ]
