"""The HTTP service of wrap_http.py: busy at first; an order for a bell fails."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BUSY = iter([True])


class Shop(BaseHTTPRequestHandler):
    def answer(self, status: int, body: Any) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self) -> None:
        if next(BUSY, False):
            self.answer(503, {"detail": "busy"})
        elif self.path == "/orders":
            self.answer(200, [7])
        elif self.path == "/orders/7":
            self.answer(200, {"number": 7, "item": "tea"})
        else:
            self.answer(404, {"detail": "no such order"})

    def do_POST(self) -> None:
        item = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["item"]
        if item == "anvil":
            self.answer(422, {"detail": "anvil is sold out"})
        else:
            self.close_connection = True  # without an answer, as a service that crashes

    def log_message(self, *_: Any) -> None:
        """Stay silent."""


@contextmanager
def running() -> Iterator[str]:
    """Serve on a free port of the loopback; yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
