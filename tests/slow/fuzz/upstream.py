"""A hostile upstream: `python upstream.py wild SEED` over stdio, `http` over HTTP, and `calm`, which behaves."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import json
import sys
from typing import Any

from grammar import Grammar  # beside this script

TOOLS = 12
CALM = {"name": "work", "description": "Work.", "inputSchema": {"type": "object"}}
DONE = {"content": [{"type": "text", "text": "done"}]}


class Server:
    """Answers requests from a seed, or calmly."""

    def __init__(self, kind: str, seed: int) -> None:
        self.is_calm = kind == "calm"
        self.drawn = Grammar(seed)
        self.page = 0

    def lines(self, request: dict[str, Any]) -> list[str]:
        """Return what is sent for a request."""
        method, number = request.get("method"), request.get("id")
        if number is None:
            return []
        if method == "initialize":
            version = request["params"]["protocolVersion"]
            info = {"capabilities": {"tools": {"listChanged": True}}, "serverInfo": {"name": "wild", "version": "1"}}
            return [self._answer(number, {"protocolVersion": version, **info})]
        if method == "tools/list":
            return [self._answer(number, {"tools": [CALM]} if self.is_calm else self._list())]
        if method == "tools/call":
            return [self._answer(number, DONE)] if self.is_calm else self.drawn.answer(number)
        return [json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no such method"}})]

    def _list(self) -> dict[str, Any]:
        self.page += 1
        listed: dict[str, Any] = {"tools": [self.drawn.tool(number) for number in range(TOOLS)]}
        if self.drawn.random() < 0.5 and self.page % 4:
            listed["nextCursor"] = self.drawn.choice(("again", str(self.page)))
        return listed

    @staticmethod
    def _answer(number: Any, result: Any) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": number, "result": result})


class Handler(http.server.BaseHTTPRequestHandler):
    """The same over HTTP: as JSON or events, compressed or not, with wrong headers now and then."""

    protocol_version = "HTTP/1.1"
    upstream: Server

    def do_POST(self) -> None:
        """Answer a message."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        lines = self.upstream.lines(request)
        drawn = self.upstream.drawn
        headers = {"content-type": "application/json"}
        body = (lines or [""])[-1].encode()
        is_call = request.get("method") == "tools/call"
        if len(lines) > 1 or (is_call and drawn.random() < 0.4):
            headers["content-type"] = "text/event-stream"
            body = b"".join(b"data: " + line.encode() + b"\n\n" for line in lines)
        if is_call and drawn.random() < 0.2:
            headers["content-encoding"] = drawn.choice(("gzip", "gzip", "br", "odd"))
            body = gzip.compress(body) if drawn.random() < 0.8 else body
        if is_call and drawn.random() < 0.05:
            headers["content-type"] = drawn.choice(("text/html", "", "application/json; charset=utf-16"))
        status = drawn.choice((200, 404, 429, 500, 503, 307)) if is_call and drawn.random() < 0.1 else 200
        self.send_response(status if lines else 202)
        for name, value in {**headers, "content-length": str(len(body)), "retry-after": drawn.text()[:9]}.items():
            self.send_header(name, value.encode("ascii", "ignore").decode().translate({10: None, 13: None, 0: None}))
        with contextlib.suppress(OSError):  # the client has enough
            self.end_headers()
            self.wfile.write(body)

    def do_GET(self) -> None:
        """Offer no stream of events."""
        self.send_response(405)
        self.send_header("content-length", "0")
        self.end_headers()

    do_DELETE = do_GET  # noqa: N815 - the name that http.server calls

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def _show(line: object) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(kind: str, seed: int) -> None:
    """Serve until the client leaves."""
    server = Server(kind, seed)
    if kind == "http":
        Handler.upstream = server
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as site:
            _show(site.server_address[1])
            site.serve_forever()
    for line in sys.stdin:
        for sent in server.lines(json.loads(line)):
            _show(sent)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
