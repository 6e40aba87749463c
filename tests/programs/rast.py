"""A service on loopback that answers as RAST does, or as a broken one does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

__all__ = ["RastServer", "rast", "rast_service"]


class RastServer(ThreadingHTTPServer):
    """What it answers, and what it was asked; `gate` holds answers back until it is set."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.gate = threading.Event()
        self.reset()

    def reset(self) -> None:
        """Know no functions, and have been asked nothing."""
        self.functions: dict[str, str] = {}
        self.status = 200
        self.body: bytes | None = None
        self.asked: list[dict[str, Any]] = []
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


@pytest.fixture(scope="session")
def rast_service() -> Iterator[RastServer]:
    """The service of the session."""
    server = RastServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.gate.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def rast(rast_service: RastServer) -> Iterator[RastServer]:
    """The service of the session, as if it were new."""
    rast_service.reset()
    yield rast_service
    rast_service.gate.set()
