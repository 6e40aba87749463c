"""A service on loopback that answers as RAST does, or as a broken one does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["RastServer", "rast_server"]


class RastServer(ThreadingHTTPServer):
    """What it answers, and what it was asked; `gate` holds answers back until it is set."""

    daemon_threads = True

    def __init__(self, functions: dict[str, str], status: int, body: bytes | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.functions, self.status, self.body = functions, status, body
        self.asked: list[dict[str, Any]] = []
        self.gate = threading.Event()
        self.gate.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/services/genome_annotation"


class _Handler(BaseHTTPRequestHandler):
    server: RastServer

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(question)
        self.server.gate.wait(60)
        body = self.server.body
        if body is None:
            features = [{"id": name, "function": reported} for name, reported in self.server.functions.items()]
            body = json.dumps({"version": "1.1", "result": [{"features": features}]}).encode()
        try:
            self.send_response(self.server.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass  # the caller gave up

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def rast_server(
    functions: dict[str, str] | None = None, *, status: int = 200, body: bytes | None = None
) -> Iterator[RastServer]:
    """Run a service for a while."""
    server = RastServer(functions or {}, status, body)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.gate.set()
        server.shutdown()
        thread.join()
        server.server_close()
