"""HTTP and stdio servers whose answers would take all memory, and a program that measures what a caller of them takes.

`python hostile_bytes.py serve NOTES` is a server over stdio; one of its tools sends so many notifications.
`python hostile_bytes.py measure TARGET` calls every tool of a target, or those of HOSTILE_TOOLS, through
`failsoft.client.Client` and prints, as JSON, the code of each answer with how far memory grew, in bytes; `TARGET` is
`url URL`, `command` for the server over stdio, or `proxy ...` for a proxy in front of either.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gzip
import json
import os
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

JSON = {"content-type": "application/json"}
STREAM = {"content-type": "text/event-stream"}
DECODED_BYTES = 120_000_000
LIMIT_S = 120
NOTES = "15000"
PIECE = b"x" * 1_000_000
INFO = {"capabilities": {"tools": {}}, "serverInfo": {"name": "bytes", "version": "1"}}


def framed(number: Any) -> tuple[bytes, bytes]:
    """Return what stands before and after the text of a result."""
    head = f'{{"jsonrpc":"2.0","id":{json.dumps(number)},"result":{{"content":[{{"type":"text","text":"'
    return head.encode(), b'"}]}}'


def items(number: Any, item: str, count: int) -> bytes:
    """Return a result of many values."""
    head = f'{{"jsonrpc":"2.0","id":{json.dumps(number)},"result":{{"content":[],"structuredContent":{{"rows":['
    return head.encode() + ",".join([item] * count).encode() + b"]}}}"


def packed(parts: Iterator[bytes], *windows: int) -> bytes:
    """Return bytes compressed once for each window: 31 is gzip, 15 is zlib, -15 is raw deflate."""
    for window in windows:
        squeezed = zlib.compressobj(9, zlib.DEFLATED, window)
        whole = [squeezed.compress(part) for part in parts]
        parts = iter([*whole, squeezed.flush()])
    return b"".join(parts)


@functools.cache
def bomb(*windows: int, before: bytes = b"", after: bytes = b"") -> bytes:
    """Return a small body that becomes a large one."""

    def parts() -> Iterator[bytes]:
        head, tail = framed(0)
        yield before + head
        for _ in range(DECODED_BYTES // len(PIECE)):
            yield PIECE
        yield tail + after

    return packed(parts(), *windows)


class Handler(BaseHTTPRequestHandler):
    """A legacy MCP endpoint; each tool is a method."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None: ...

    def do_GET(self) -> None:
        self.reply(405, b"")

    def do_DELETE(self) -> None:
        self.reply(200, b"")

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, number = message.get("method"), message.get("id")
        if number is None:
            self.reply(202, b"")
        elif method == "initialize":
            self.result(number, {"protocolVersion": message["params"]["protocolVersion"], **INFO})
        elif method == "tools/list":
            self.result(number, {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in WEB]})
        elif method == "tools/call":
            with contextlib.suppress(OSError):
                WEB[message["params"]["name"]](self, number)
        else:
            self.reply(400, b"what?")

    def handle(self) -> None:
        with contextlib.suppress(OSError):  # a client that leaves in the middle is what is wanted
            super().handle()

    def result(self, number: Any, result: Any) -> None:
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode(), JSON)

    def reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def endless(self, headers: dict[str, str], first: bytes, piece: bytes) -> None:
        """Send a body that does not end, until the client leaves."""
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        self.wfile.write(first)
        while True:
            self.wfile.write(piece)

    def works(self, number: Any) -> None:
        self.result(number, {"content": [{"type": "text", "text": "fine"}]})

    def packed_answer(self, number: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": "fine"}]}})
        self.reply(200, gzip.compress(body.encode()), {**JSON, "content-encoding": "gzip"})

    def gzip_bomb(self, _: Any) -> None:
        self.reply(200, bomb(31), {**JSON, "content-encoding": "gzip"})

    def deflate_bomb(self, _: Any) -> None:
        self.reply(200, bomb(-15), {**JSON, "content-encoding": "deflate"})

    def twofold_bomb(self, _: Any) -> None:
        self.reply(200, bomb(31, 31), {**JSON, "content-encoding": "gzip, gzip"})

    def event_bomb(self, _: Any) -> None:
        body = bomb(31, before=b"data: ", after=b"\n\n")
        self.reply(200, body, {**STREAM, "content-encoding": "gzip"})

    def error_bomb(self, _: Any) -> None:
        self.reply(500, bomb(31), {**JSON, "content-encoding": "gzip"})

    def redirect_bomb(self, _: Any) -> None:
        self.reply(307, bomb(31), {**JSON, "content-encoding": "gzip", "location": "/mcp"})

    def endless_body(self, number: Any) -> None:
        self.endless(JSON, framed(number)[0], PIECE)

    def endless_event(self, number: Any) -> None:
        self.endless(STREAM, b"data: " + framed(number)[0], PIECE)

    def endless_lines(self, _: Any) -> None:
        self.endless(STREAM, b"", (b"data: " + b"x" * 1_000 + b"\n") * 1_000)

    def endless_comments(self, _: Any) -> None:
        self.endless(STREAM, b"", (b": " + b"x" * 1_000 + b"\n\n") * 1_000)

    def many_objects(self, number: Any) -> None:
        self.reply(200, items(number, "{}", 2_000_000), JSON)

    def many_objects_event(self, number: Any) -> None:
        self.reply(200, b"data: " + items(number, "{}", 2_000_000) + b"\n\n", STREAM)

    def many_too_dear(self, number: Any) -> None:
        self.reply(200, items(number, "{}", 155_000), JSON)  # over stdio they fit

    def many_that_fit(self, number: Any) -> None:
        self.reply(200, items(number, "{}", 78_000), JSON)

    def many_that_fit_event(self, number: Any) -> None:
        self.reply(200, b"data: " + items(number, "{}", 78_000) + b"\n\n", STREAM)

    def many_numbers(self, number: Any) -> None:
        self.reply(200, items(number, "1", 1_000_000), JSON)

    def huge_headers(self, number: Any) -> None:
        self.send_response(200)
        self.close_connection = True
        for place in range(1_000):
            self.send_header(f"x-{place}", "y" * 60_000)
            self.flush_headers()
        self.result(number, {"content": []})


WEB: dict[str, Callable[[Handler, Any], None]] = {
    name: getattr(Handler, name)
    for name in (
        *("works", "packed_answer", "gzip_bomb", "deflate_bomb", "twofold_bomb", "event_bomb", "error_bomb"),
        *("redirect_bomb", "endless_body", "endless_event", "endless_lines", "endless_comments", "many_objects"),
        *(
            "many_objects_event",
            "many_too_dear",
            "many_that_fit",
            "many_that_fit_event",
            "many_numbers",
            "huge_headers",
        ),
    )
}


@contextmanager
def website() -> Iterator[str]:
    """Yield the URL of the endpoint."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        server.shutdown()


def write(*parts: bytes) -> None:
    for part in parts:
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()


def answer(number: Any, result: Any) -> None:
    write(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode(), b"\n")


def long_line(number: Any) -> None:
    head, tail = framed(number)
    write(head, *[PIECE] * 120, tail, b"\n")


def garbage(number: Any) -> None:
    write(b"\n".join([b"x"] * 300_000), b"\n")
    answer(number, {"content": []})


def flood(number: Any) -> None:
    params = {"level": "info", "data": "x" * 1_000}
    one = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": params}).encode() + b"\n"
    for _ in range(int(sys.argv[2]) // 500):
        write(one * 500)
    answer(number, {"content": []})


def noise(number: Any) -> None:
    sys.stderr.buffer.write(PIECE * 50 + b"\n" * 50_000)
    sys.stderr.buffer.flush()
    answer(number, {"content": []})


def many_objects(number: Any) -> None:
    write(items(number, "{}", 2_000_000), b"\n")


def many_that_fit(number: Any) -> None:
    write(items(number, "{}", 155_000), b"\n")


def endless_line(_: Any) -> None:
    while True:
        write(PIECE)


LOCAL: dict[str, Callable[[Any], None]] = {
    "long_line": long_line,
    "garbage": garbage,
    "flood": flood,
    "noise": noise,
    "many_objects": many_objects,
    "many_that_fit": many_that_fit,
    "endless_line": endless_line,
}


def serve() -> None:
    """Serve over stdio until the client leaves."""
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            answer(number, {"protocolVersion": message["params"]["protocolVersion"], **INFO})
        elif method == "tools/list":
            answer(number, {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in LOCAL]})
        elif method == "tools/call":
            LOCAL[message["params"]["name"]](number)
        elif number is not None:
            error = {"code": -32601, "message": "no such method"}
            write(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode(), b"\n")


def memory(pid: int | str, field: str) -> int:
    """Return a number of a process's status, in bytes: `VmRSS`, or `VmHWM`, the most it was."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1_024 for line in lines if line.startswith(f"{field}:"))


def forget_peak(pid: int) -> None:
    """Make the memory that a process has now the most it had."""
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="utf-8")


def proxy_below() -> int:
    """Return the pid of the proxy that this process has started."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            is_child = entry.read_text(encoding="utf-8").rpartition(")")[2].split()[1] == str(os.getpid())
            if is_child and b"\0proxy\0" in (entry.parent / "cmdline").read_bytes():
                return int(entry.parent.name)
    raise LookupError


async def measure(*words: str) -> dict[str, Any]:
    """Return the memory of an idle reader in bytes, and for each tool the code of its answer with how far it grew."""
    from failsoft import ToolError  # noqa: PLC0415 - a server over stdio needs nothing of it
    from failsoft.client import Client  # noqa: PLC0415 - as above

    server = [sys.executable, __file__, "serve", os.environ.get("HOSTILE_NOTES", NOTES)]
    if words[0] == "proxy":
        rest = ["--url", words[1]] if len(words) > 1 else ["--", *server]
        patient = f"FAILSOFT_DEFAULT_TIMEOUT_S={LIMIT_S}"  # the client passes no variables on
        target: Any = ["env", patient, sys.executable, "-m", "failsoft", "proxy", *rest]
    else:
        target = words[1] if words[0] == "url" else server
    found: dict[str, tuple[str, int]] = {}
    async with Client(target, mode="legacy", attempts=1) as client:
        pid = proxy_below() if words[0] == "proxy" else os.getpid()
        chosen = os.environ.get("HOSTILE_TOOLS", "").split()
        names = [tool.name for tool in await client.tools() if not chosen or tool.name in chosen]
        idle = memory(pid, "VmRSS")
        for name in names:
            forget_peak(pid)
            limit_s = 2 if name in {"endless_comments", "endless_line"} else LIMIT_S
            try:
                code = str(await client.call(name, {}, timeout_s=limit_s))
            except ToolError as error:
                code = error.code
            found[name] = (code[:20], memory(pid, "VmHWM") - idle)
    return {"idle_bytes": idle, "grown": found}


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        json.dump(asyncio.run(measure(*sys.argv[2:])), sys.stdout)
