"""What the proxy costs before upstream servers that send too much: resident memory, and the longest blocked loop.

    python bench/hostile_upstreams.py            all of them, in a minute or two
    python bench/hostile_upstreams.py gzip_bomb  this one

Each upstream gets a proxy of its own, in a process that times every callback of its event loop. Of an upstream, the
tools are listed and one is called three times. Memory is the peak of the process above that before a calm upstream.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import gzip
import http.server
import json
import os
import runpy
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from measure import Figure, benchmark, show

STDIO = ("calm", "endless_line", "many_tools", "deep_schema", "huge_names", "long_descriptions", "slow_drip")
HTTP = ("calm_http", "gzip_bomb", "endless_body", "many_tools_http", "slow_drip_http")
MB = 1_000_000
TOOL: dict[str, Any] = {
    "name": "work",
    "description": "Work.",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}
SAID = {"content": [{"type": "text", "text": "done"}]}
PATIENCE_S = 40
"""How long the client waits for the list of tools, and for each call."""


def tools_of(kind: str) -> list[dict[str, Any]]:
    """Return the tools of an upstream."""
    if kind.startswith("many_tools"):
        return [TOOL, *({**TOOL, "name": f"work_{number}"} for number in range(20_000))]
    if kind == "deep_schema":
        schema: dict[str, Any] = {"type": "string"}
        for _ in range(400):
            schema = {"type": "object", "properties": {"a": schema}}
        return [TOOL, {**TOOL, "name": "deep", "inputSchema": schema}]
    if kind == "huge_names":
        return [TOOL, *({**TOOL, "name": f"{number}_{'n' * 100_000}"} for number in range(100))]
    if kind == "long_descriptions":
        return [TOOL, *({**TOOL, "name": f"work_{number}", "description": "word " * 20_000} for number in range(200))]
    return [TOOL]


def result_of(method: str, kind: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a request."""
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-11-25"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": kind, "version": "1"},
        }
    return {"tools": tools_of(kind)} if method == "tools/list" else SAID


def serve_stdio(kind: str) -> None:
    """Serve an upstream over stdio, by hand, since no library answers so."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        method = request["method"]
        if method not in {"initialize", "tools/list", "tools/call"}:
            answer = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no such method"}}
            print(json.dumps(answer), flush=True)
            continue
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result_of(method, kind, request.get("params", {}))}
        text = json.dumps(answer)
        with contextlib.suppress(BrokenPipeError):
            if method == "tools/call" and kind == "endless_line":
                for _ in range(400):
                    sys.stdout.write("x" * MB)
            elif method == "tools/call" and kind == "slow_drip":
                for letter in text:
                    print(letter, end="", flush=True)
                    time.sleep(0.1)
            print(text, flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    """An upstream over HTTP; the path is its kind."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Offer no stream of events."""
        self._send(405, b"")

    def do_DELETE(self) -> None:
        """Keep no sessions."""
        self._send(405, b"")

    def do_POST(self) -> None:
        """Answer a message."""
        kind = self.path.strip("/")
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = request.get("method", "")
        if "id" not in request:
            return self._send(202, b"")
        if method not in {"initialize", "tools/list", "tools/call"}:
            error = {"code": -32601, "message": "no such method"}
            return self._send(200, json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode())
        result = result_of(method, kind, request.get("params", {}))
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()
        if method != "tools/call" or kind in {"calm_http", "many_tools_http"}:
            return self._send(200, body)
        return self._misbehave(kind, body, request["id"])

    def _misbehave(self, kind: str, body: bytes, number: int) -> None:
        with contextlib.suppress(OSError):
            if kind == "gzip_bomb":
                return self._send(200, bomb(number), **{"Content-Encoding": "gzip"})
            self.close_connection = True
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Connection", "close")
            self.end_headers()
            if kind == "endless_body":
                for _ in range(400):
                    self.wfile.write(b" " * MB)
            for place in range(len(body)):
                self.wfile.write(body[place : place + 1])
                time.sleep(0.1 if kind == "slow_drip_http" else 0)
        return None

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@functools.cache
def bomb(number: int) -> bytes:
    """Return the answer to a request: 200 MB of one letter, packed to 0.2 MB."""
    head, tail = json.dumps({"jsonrpc": "2.0", "id": number, "result": SAID}).split("done")
    return gzip.compress((head + "a" * (200 * MB) + tail).encode())


@contextlib.contextmanager
def website() -> Iterator[str]:
    """Yield the address of the upstreams over HTTP."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def watched(report: str, words: list[str]) -> None:
    """Run failsoft here; keep in a file its memory, the peak of it, and how long the longest callback held a loop."""
    original = asyncio.Handle._run  # noqa: SLF001 - the one place that runs every callback
    worst, blocked_by = [0.0], [""]

    def run(self: asyncio.Handle) -> None:
        shown = repr(getattr(self._callback, "__self__", self))  # afterwards a task is done
        began = time.thread_time()
        original(self)
        held = time.thread_time() - began
        if held > worst[0]:
            worst[0], blocked_by[0] = held, shown

    def keep() -> None:
        while True:
            time.sleep(0.1)
            if Path(f"{report}.trim").exists():  # what is freed goes back to the system, so that the rest is held
                ctypes.CDLL(None).malloc_trim(0)
            status = Path("/proc/self/status").read_text(encoding="utf-8")
            lines = dict(line.split(":", 1) for line in status.splitlines())
            peak, resident = (int(lines[name].split()[0]) * 1_024 for name in ("VmHWM", "VmRSS"))
            figures = {"peak": peak, "resident": resident, "blocked_s": worst[0], "blocked_by": blocked_by[0]}
            text = json.dumps(figures)
            Path(f"{report}.new").write_text(text, encoding="utf-8")
            Path(f"{report}.new").replace(report)

    asyncio.Handle._run = run  # type: ignore[method-assign]  # noqa: SLF001 - as above
    threading.Thread(target=keep, daemon=True).start()
    sys.argv = ["failsoft", *words]
    runpy.run_module("failsoft", run_name="__main__")


@asynccontextmanager
async def proxied(report: Path, upstream: list[str]) -> AsyncIterator[Client]:
    """Yield a client of a watched proxy."""
    words = [str(Path(__file__)), "watched", str(report), "proxy", "--name", "upstream", *upstream]
    environment = {**os.environ, "FAILSOFT_DEFAULT_TIMEOUT_S": "5", "FAILSOFT_LOG_LEVEL": "CRITICAL"}
    started = StdioServerParameters(command=sys.executable, args=words, env=environment)
    async with Client(stdio_client(started, errlog=sys.stderr), cache=None) as client:
        yield client


async def costs(kind: str, address: str) -> tuple[float, float, str]:
    """Return the peak of resident memory (MB), the longest callback (ms), and what the calls came to."""
    script = str(Path(__file__))
    upstream = ["--url", f"{address}/{kind}"] if kind in HTTP else ["--", sys.executable, script, "serve", kind]
    outcomes: list[str] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        try:
            async with proxied(report, upstream) as client:
                await _use(client, outcomes)
        except (ExceptionGroup, MCPError) as error:
            outcomes.append(innermost(error))
        outcomes.append(f"{time.monotonic() - began:.0f} s")
        found = json.loads(report.read_text(encoding="utf-8"))
    return found["peak"] / MB, found["blocked_s"] * 1_000, ", ".join(outcomes)


async def _use(client: Client, outcomes: list[str]) -> None:
    with anyio.move_on_after(PATIENCE_S) as listing:
        outcomes.append(f"{len((await client.list_tools()).tools)} tools")
    if listing.cancelled_caught:
        outcomes.append("no list")
    for _ in range(3):
        with anyio.move_on_after(PATIENCE_S) as calling:
            result = await client.call_tool("work", {})
            outcomes.append((result.meta or {}).get("dev.failsoft/error", {}).get("code", "done"))
        if calling.cancelled_caught:
            outcomes.append("no answer")
    await anyio.sleep(0.3)  # the report is written ten times a second


async def measured(kinds: list[str]) -> list[Figure]:
    """Return the figures of these upstreams, above those of the calm ones."""
    found = []
    with website() as address:
        calm = {True: await costs("calm_http", address), False: await costs("calm", address)}
        for name, (peak, blocked, note) in {"calm, HTTP": calm[True], "calm, stdio": calm[False]}.items():
            found += [_figure(f"{name}: memory", peak, "MB", "", note), _figure(f"{name}: loop", blocked, "ms", "", "")]
        for kind in kinds:
            peak, blocked, note = await costs(kind, address)
            above = peak - calm[kind in HTTP][0]
            found.append(_figure(f"{kind}: memory above idle", above, "MB", "<= 100", note))
            found.append(_figure(f"{kind}: longest callback", blocked, "ms", "<= 100", ""))
    return found


def innermost(error: BaseException) -> str:
    """Return what an exception, or the first of a group, says."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:100]


def _figure(name: str, value: float, unit: str, goal: str, note: str) -> Figure:
    return Figure(name, value, value, value, unit, goal=goal, note=note)


@benchmark("The proxy before hostile upstreams")
async def measure(given: Any) -> list[Figure]:
    """Return the costs of all of them; there are no rounds, and no quick turn."""
    del given
    return await measured([kind for kind in (*STDIO, *HTTP) if not kind.startswith("calm")])


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve_stdio(sys.argv[2])
    elif sys.argv[1:2] == ["watched"]:
        watched(sys.argv[2], sys.argv[3:])
    else:
        everything = [kind for kind in (*STDIO, *HTTP) if not kind.startswith("calm")]
        show("The proxy before hostile upstreams", asyncio.run(measured(sys.argv[1:] or everything)))
