"""Operators hear of a critical failure once, with how often it came again; calls notice nothing of it."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest
from loguru import logger
from pydantic import SecretStr

from failsoft import (
    BaseTool,
    ConfigurationError,
    Failure,
    Runtime,
    Settings,
    configure_logging,
    mcp_server,
    operation,
)
from failsoft.metrics import PrometheusRecorder, render
from tests.doors import AlertDispatcher, AlertSink, LogSink, RetryAdvice, WebhookSink
from tests.zygote import PYTHON

FAILURE = Failure(
    message="Configuration error: token=hunter2 is wrong. Tell the person you work for (error id: e1).",
    code="CONFIG_ERROR",
    category="configuration",
    tool="docs",
    operation="get_documentation",
    retry=RetryAdvice("never"),
    effect="none",
    error_id="e1",
    timestamp="2026-01-19T15:32:10.123Z",
    exception=ConfigurationError(issue="wrong", operator_hint="mend redis://:hunter2@cache", details={"secret": "x"}),
)


class Fine(BaseTool):
    """A toolset."""

    @operation(read_only=True)
    async def fine(self) -> None:
        """Work."""


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Collector:
    """A sink that keeps what it is sent; it can be made to fail, or to wait."""

    name = "collector"

    def __init__(self) -> None:
        self.sent: list[tuple[str, int]] = []
        self.fail = False
        self.gate = threading.Event()
        self.gate.set()
        self.reached = threading.Semaphore(0)

    def send(self, failure: Failure, *, suppressed: int) -> None:
        self.reached.release()
        assert self.gate.wait(60)
        if self.fail:
            raise RuntimeError
        self.sent.append((failure.code, suppressed))


class Hook(BaseHTTPRequestHandler):
    """Receives alerts; answers what the server says."""

    server: HookServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.received.append((self.path, self.headers["content-type"], json.loads(body)))
        self.send_response(self.server.answer)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Stay silent."""


class HookServer(ThreadingHTTPServer):
    """A webhook on loopback."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Hook)
        self.received: list[tuple[str, str, Any]] = []
        self.answer = 204

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/services/T0/hunter2"


@pytest.fixture
def hook() -> Iterator[HookServer]:
    with HookServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    configure_logging("DEBUG", json_lines=True, stream=stream)
    yield stream
    logger.remove()
    logger.disable("failsoft")


def lines(log: io.StringIO) -> list[Any]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


def of(code: str) -> Failure:
    return replace(FAILURE, code=code)


def test_equal_alerts_are_sent_once_and_the_next_one_says_how_many_were_held_back() -> None:
    clock, sink = Clock(), Collector()
    dispatcher = AlertDispatcher([sink], dedup_s=300, clock=clock)
    for _ in range(4):
        dispatcher.dispatch(FAILURE)
    clock.now += 299.9
    dispatcher.dispatch(FAILURE)
    clock.now += 0.1
    dispatcher.dispatch(FAILURE)
    assert dispatcher.close(10)
    assert sink.sent == [("CONFIG_ERROR", 0), ("CONFIG_ERROR", 4)]
    assert dispatcher.dropped == 0


@pytest.mark.parametrize("other", [{"code": "INIT_ERROR"}, {"tool": "edit"}, {"operation": "search_documents"}])
def test_alerts_that_differ_are_all_sent(other: dict[str, str]) -> None:
    sink = Collector()
    dispatcher = AlertDispatcher([sink], clock=Clock())
    dispatcher.dispatch(FAILURE)
    dispatcher.dispatch(replace(FAILURE, **other))  # type: ignore[arg-type]
    assert dispatcher.close(10)
    assert len(sink.sent) == 2


def test_more_than_the_rate_are_dropped_and_counted() -> None:
    clock, sink = Clock(), Collector()
    dispatcher = AlertDispatcher([sink], per_minute=3, clock=clock)
    for number in range(5):
        dispatcher.dispatch(of(f"C{number}"))
    clock.now += 60
    dispatcher.dispatch(of("C5"))
    assert dispatcher.close(10)
    assert [code for code, _ in sink.sent] == ["C0", "C1", "C2", "C5"]
    assert dispatcher.dropped == 2


def test_a_full_queue_drops_and_a_call_never_waits() -> None:
    sink = Collector()
    sink.gate.clear()
    dispatcher = AlertDispatcher([sink], capacity=2, clock=Clock())
    dispatcher.dispatch(of("C0"))
    assert sink.reached.acquire(timeout=60)
    for number in range(1, 6):
        dispatcher.dispatch(of(f"C{number}"))
    assert dispatcher.dropped == 3
    sink.gate.set()
    assert dispatcher.close(10)
    assert [code for code, _ in sink.sent] == ["C0", "C1", "C2"]


def test_what_was_dropped_is_in_the_log(log: io.StringIO) -> None:
    sink = Collector()
    sink.gate.clear()
    dispatcher = AlertDispatcher([sink], capacity=1, clock=Clock())
    dispatcher.dispatch(of("C0"))
    assert sink.reached.acquire(timeout=60)
    for number in range(1, 4):
        dispatcher.dispatch(of(f"C{number}"))
    sink.gate.set()
    assert dispatcher.close(10)
    assert [(line["level"], line["dropped"]) for line in lines(log)] == [("WARNING", 2)]


def test_an_alert_that_was_not_delivered_is_sent_again_to_that_sink_alone(log: io.StringIO) -> None:
    sink, other = Collector(), Collector()
    sink.fail = True
    lost: list[str] = []
    dispatcher = AlertDispatcher([sink, other], clock=Clock())
    dispatcher.on_undelivered = lost.append
    dispatcher.dispatch(FAILURE)
    assert other.reached.acquire(timeout=60)
    dispatcher.dispatch(FAILURE)
    assert dispatcher.close(10)
    assert [line["error"] for line in lines(log)] == ["RuntimeError", "RuntimeError"]
    assert lost == [sink.name] * 2
    assert len(other.sent) == 1


def test_closing_ends_within_its_limit_and_later_alerts_are_dropped() -> None:
    sink = Collector()
    sink.gate.clear()
    dispatcher = AlertDispatcher([sink], clock=Clock())
    dispatcher.dispatch(of("C0"))
    assert not dispatcher.close(0.01)
    dispatcher.dispatch(of("C1"))
    assert dispatcher.dropped == 1
    sink.gate.set()
    assert dispatcher.close(10)
    assert dispatcher.close()


def test_a_dispatcher_without_alerts_has_no_thread() -> None:
    before = threading.active_count()
    dispatcher = AlertDispatcher([Collector()])
    assert threading.active_count() == before
    assert dispatcher.close()


def test_many_threads_send_one_alert_and_lose_no_count() -> None:
    clock, sink = Clock(), Collector()
    dispatcher = AlertDispatcher([sink], clock=clock)

    def dispatch_many() -> None:
        for _ in range(200):
            dispatcher.dispatch(FAILURE)

    threads = [threading.Thread(target=dispatch_many) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clock.now += 1_000
    dispatcher.dispatch(FAILURE)
    assert dispatcher.close(10)
    assert sink.sent == [("CONFIG_ERROR", 0), ("CONFIG_ERROR", 1_599)]


def test_kinds_of_alerts_are_remembered_up_to_a_limit() -> None:
    clock, sink = Clock(), Collector()
    dispatcher = AlertDispatcher([sink], per_minute=5_000, capacity=5_000, clock=clock)
    for number in range(3_000):
        dispatcher.dispatch(of(f"C{number}"))
    assert len(dispatcher._sent) == 1_000
    assert dispatcher.close(10)


def test_a_webhook_receives_the_alert_redacted(hook: HookServer) -> None:
    sink = WebhookSink(hook.url, service="shop", environment="staging")
    sink.send(FAILURE, suppressed=3)
    ((path, kind, body),) = hook.received
    assert (path, kind) == ("/services/T0/hunter2", "application/json")
    assert "hunter2" not in json.dumps(body)
    assert body.pop("text").startswith("[staging] shop: CONFIG_ERROR in get_documentation.")
    assert body.pop("message").startswith("Configuration error: token=<redacted>")
    assert body == {
        "severity": "critical",
        "service": "shop",
        "environment": "staging",
        "code": "CONFIG_ERROR",
        "category": "configuration",
        "tool": "docs",
        "operation": "get_documentation",
        "effect": "none",
        "error_id": "e1",
        "timestamp": "2026-01-19T15:32:10.123Z",
        "suppressed": 3,
        "operator_hint": "mend redis://:<redacted>@cache",
    }


def test_the_resolution_of_a_configuration_error_is_the_hint_of_its_alert(hook: HookServer) -> None:
    wrong = ConfigurationError(issue="wrong", resolution="set FAILSOFT_X to a path")
    WebhookSink(hook.url, service="shop", environment="staging").send(replace(FAILURE, exception=wrong), suppressed=0)
    ((_, _, body),) = hook.received
    assert body["operator_hint"] == "set FAILSOFT_X to a path"


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_webhook_that_refuses_is_an_error(hook: HookServer, status: int) -> None:
    hook.answer = status
    with pytest.raises(ConnectionError):
        WebhookSink(hook.url, service="shop", environment="staging").send(FAILURE, suppressed=0)


def test_the_settings_decide_the_sinks_and_the_log_never_shows_the_address(hook: HookServer, log: io.StringIO) -> None:
    hook.answer = 500
    dispatcher = AlertDispatcher.from_settings(Settings(alert_webhook_url=SecretStr(hook.url), service_name="shop"))
    dispatcher.dispatch(FAILURE)
    assert dispatcher.close(10)
    alert, failed = lines(log)
    assert (alert["level"], alert["event"], alert["code"], alert["error_id"]) == (
        "CRITICAL",
        "alert",
        "CONFIG_ERROR",
        "e1",
    )
    assert (failed["level"], failed["sink"], failed["error"]) == ("WARNING", "webhook", "ConnectionError")
    assert "hunter2" not in log.getvalue()
    assert hook.received[0][2]["service"] == "shop"


def test_lost_alerts_are_counted_where_they_are_scraped(hook: HookServer) -> None:
    hook.answer = 500
    settings = Settings(alert_webhook_url=SecretStr(hook.url))
    runtime = Runtime(settings=settings)
    mcp_server(Fine(runtime=runtime))
    assert runtime.alerts is not None
    runtime.alerts.dispatch(FAILURE)
    assert runtime.alerts.close(10)
    body, _ = render([cast("PrometheusRecorder", runtime.metrics)])
    assert 'mcp_alert_failures_total{sink="webhook"} 1.0' in body.decode().splitlines()


def test_a_webhook_without_a_server_costs_the_call_nothing(log: io.StringIO) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        dispatcher = AlertDispatcher.from_settings(Settings(alert_webhook_url=SecretStr(url)))
        dispatcher.dispatch(FAILURE)
        assert dispatcher.close(10)
    assert lines(log)[-1]["sink"] == "webhook"


def test_without_a_webhook_alerts_go_to_the_log_alone(log: io.StringIO) -> None:
    dispatcher = AlertDispatcher.from_settings(Settings())
    dispatcher.dispatch(FAILURE)
    assert dispatcher.close(10)
    assert [line["event"] for line in lines(log)] == ["alert"]


def test_our_sinks_are_sinks() -> None:
    assert isinstance(LogSink(), AlertSink)
    assert isinstance(WebhookSink("http://x", service="", environment=""), AlertSink)


def test_what_is_queued_when_the_process_ends_is_still_delivered(hook: HookServer) -> None:
    program = f"""
import pickle, sys
from tests.doors import AlertDispatcher, WebhookSink
from failsoft import ConfigurationError
from failsoft import Failure; from tests.doors import RetryAdvice
AlertDispatcher([WebhookSink({hook.url!r}, service="s", environment="e")]).dispatch(
    Failure(message="m", code="CONFIG_ERROR", category="configuration", tool="t", operation="o",
            retry=RetryAdvice("never"), effect="none", error_id="e1", timestamp="", exception=ConfigurationError()))
"""
    subprocess.run([PYTHON, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, check=True, timeout=60)
    assert len(hook.received) == 1
