"""Requests to a running server: below the path of a proxy, and while it takes none."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from failsoft import ToolError
from tests.doors import ask_server


class _Below(BaseHTTPRequestHandler):
    """A failsoft server below `/tools/`, which has lost its state store."""

    def do_GET(self) -> None:
        self._answer(200 if self.path == "/tools/status.json" else 404, {"name": "shop"})

    def do_POST(self) -> None:
        self._answer(503, {"error": "The state store does not answer.", "code": "STATE_UNAVAILABLE"})

    def _answer(self, status: int, found: dict[str, str]) -> None:
        content = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Below) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("path", ["/tools", "/tools/", "/tools/mcp"])
def test_a_server_is_found_below_a_path(proxy: str, path: str) -> None:
    assert ask_server(proxy + path, "status.json", token=None) == {"name": "shop"}


def test_a_server_that_takes_no_changes_is_unavailable(proxy: str) -> None:
    with pytest.raises(ToolError) as caught:
        ask_server(f"{proxy}/tools/", "admin/drain", token=None, body={})
    assert (caught.value.code, caught.value.message) == ("UNAVAILABLE", "The state store does not answer.")
