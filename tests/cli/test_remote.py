"""Requests to a running server: below the path of a proxy, and while it takes none."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from failsoft import ToolError
from tests.doors import ExitCode, ask_server

STRANGE = {
    "other": b'{"operations": [], "name": "shop"}',
    "types": b'{"operations": [], "name": 1, "objective": {"burn_5m": "x", "burn_1h": []}, "headline": {}}',
    "deep": b'{"operations": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "large": b" " * 17_000_000 + b'{"operations": []}',
}
"""What a server of another version answers, or one that means harm."""


class _Below(BaseHTTPRequestHandler):
    """A failsoft server below `/tools/`, which has lost its state store; below other paths, strange ones."""

    def do_GET(self) -> None:
        strange = STRANGE.get(self.path.split("/")[1])
        if strange is not None:
            self._send(200, strange)
        else:
            self._answer(200 if self.path == "/tools/status.json" else 404, {"name": "shop"})

    def do_POST(self) -> None:
        self._answer(503, {"error": "The state store does not answer.", "code": "STATE_UNAVAILABLE"})

    def _answer(self, status: int, found: dict[str, str]) -> None:
        self._send(status, json.dumps(found).encode())

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        with contextlib.suppress(OSError):  # of one that is too large, a part is read
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


@pytest.mark.parametrize("path", STRANGE)
def test_a_status_that_cannot_be_read_is_no_defect_of_the_command(proxy: str, path: str, inside: Any) -> None:
    ran = inside("top", f"{proxy}/{path}", "--once")
    assert (ran.code, ran.out) == (ExitCode.FAILED, "")
    assert ran.err.startswith("UNAVAILABLE: ")
    assert ("16,000,000 bytes" in ran.err) == (path == "large")
