"""Alerts on critical failures reach Alertmanager."""

from __future__ import annotations

import asyncio
import json
import queue
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from failsoft import BaseTool, ConfigurationError, Runtime, Settings, operation
from tests.doors import AlertDispatcher

SOON_S = 2
"""How long a test waits for what may never come; what works takes a fraction of it."""


class Misconfigured(BaseTool):
    """A toolset that an operator has to look after."""

    @operation(read_only=True)
    async def look(self) -> None:
        """Look."""
        raise ConfigurationError(issue="the index is not set up")


@pytest.fixture
def alertmanager() -> Iterator[tuple[str, queue.Queue[tuple[str, Any]]]]:
    """Return the address of what takes alerts, and what it was sent: path and body."""
    received: queue.Queue[tuple[str, Any]] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.put((self.path, json.loads(body)))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", received
        server.shutdown()
        thread.join()


def test_a_critical_failure_is_an_alert_of_alertmanager(
    alertmanager: tuple[str, queue.Queue[tuple[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, received = alertmanager
    monkeypatch.setenv("FAILSOFT_ALERT_ALERTMANAGER_URL", url)
    settings = Settings.load()
    dispatcher = AlertDispatcher.from_settings(settings)
    answer = asyncio.run(Misconfigured(runtime=Runtime(settings=settings, alerts=dispatcher)).look())
    if answer.error is None or answer.error.code != "CONFIG_ERROR":
        raise RuntimeError(answer)
    found = None
    try:
        found = received.get(timeout=SOON_S)
    except queue.Empty:
        pass
    finally:
        dispatcher.close()
    assert found is not None
    path, alerts = found
    assert path == "/api/v2/alerts"
    assert [alert["labels"].get("code") for alert in alerts] == ["CONFIG_ERROR"]


def test_an_alert_has_labels_to_route_by_and_no_text_of_a_caller_among_them(
    alertmanager: tuple[str, queue.Queue[tuple[str, Any]]],
) -> None:
    url, received = alertmanager
    settings = Settings(alert_alertmanager_url=f"{url}/", service_name="shop", environment="staging")
    dispatcher = AlertDispatcher.from_settings(settings)
    answer = asyncio.run(Misconfigured(runtime=Runtime(settings=settings, alerts=dispatcher)).look())
    assert dispatcher.close()
    ((path, (alert,)),) = [received.get_nowait()]
    assert answer.error is not None
    assert path == "/api/v2/alerts"
    assert alert["labels"] == {
        "alertname": "FailsoftCriticalFailure",
        "severity": "critical",
        "service": "shop",
        "environment": "staging",
        "code": "CONFIG_ERROR",
        "category": "configuration",
        "tool": "misconfigured",
        "operation": "look",
    }
    assert alert["startsAt"] == answer.error.timestamp
    assert alert["annotations"]["error_id"] == answer.error.error_id
    assert "index is not set up" in alert["annotations"]["summary"]
    assert {type(value) for value in alert["annotations"].values()} == {str}
