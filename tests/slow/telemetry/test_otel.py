"""Traces and metrics of a proxy over HTTP and of the server behind it over stdio, in a collector."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.programs.receivers import Receiver
from tests.server.processes import BOUND_S, Served
from tests.zygote import PYTHON

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
TRACED = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
TILL = ("serve", "--app", "tests.slow.telemetry.traced_tools:Till")
VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_BSP_SCHEDULE_DELAY", "PYTHONPATH")
CALLS = (("balance", {}), ("find", {"name": "a.md"}), ("pay", {}), ("headers", {}))


class Command(Served):
    """A command of failsoft."""

    program = ("-m", "failsoft")

    def url(self) -> str:
        """Return where it listens, once it does."""
        return self.wait_for("failsoft ").split("http", 1)[1].split("/mcp")[0].join(["http", ""])


@contextmanager
def running(*arguments: str, **environment: str) -> Iterator[Command]:
    """Run a command while the block lasts."""
    server = Command(*arguments, PYTHONPATH=str(Path(__file__).parents[3]), **environment)
    try:
        yield server
    finally:
        server.close()


def call(url: str, tool: str, arguments: dict[str, Any], headers: dict[str, str], **meta: Any) -> dict[str, Any]:
    """Return the result of one call."""
    envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": {**envelope, **meta}}
    fixed = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
    names = {"mcp-method": "tools/call", "mcp-name": tool}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = httpx2.post(f"{url}/mcp", json=body, headers={**fixed, **names, **headers}, timeout=BOUND_S)
    text = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        text = [line for line in text.splitlines() if line.startswith("data:")][-1].removeprefix("data:")
    result: dict[str, Any] = httpx2.Response(200, text=text).json()
    return result


class Seen:
    """What the collector got of the calls, and what the proxy's scrape showed.

    Attributes:
        sent_on: What the handler behind the proxy would send on.
        scrape: That of the proxy, in OpenMetrics.
    """

    def __init__(self, receiver: Receiver, sent_on: dict[str, str], scrape: str) -> None:
        self.receiver, self.sent_on, self.scrape = receiver, sent_on, scrape

    def span(self, service: str, name: str, trace: str = TRACE) -> dict[str, Any]:
        (found,) = [
            span
            for span in self.receiver.spans
            if span["service"] == service and span["name"] == name and (not trace or trace_of(span) == trace)
        ]
        return found

    def children(self, span: dict[str, Any], name: str) -> list[dict[str, Any]]:
        below = [one for one in self.receiver.spans if one.get("parentSpanId") == span["spanId"]]
        return sorted((one for one in below if one["name"] == name), key=lambda one: one["startTimeUnixNano"])


def trace_of(span: dict[str, Any]) -> str:
    """Return the id of a trace: bytes are base64 in the JSON form."""
    return hex_of(span["traceId"])


def hex_of(encoded: str) -> str:
    return base64.b64decode(encoded).hex()


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    """Make one call of each kind through both servers, and one that names its trace in `_meta` too; end them."""
    receiver = Receiver()
    exporting = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_BSP_SCHEDULE_DELAY": "50"}
    inherited = [part for name in VARIABLES for part in ("--env", name)]
    command = ["proxy", "--name", "front", "--transport", "http", "--port", "0", *inherited, "--", PYTHON, "-m"]
    with running(*command, "failsoft", *TILL, **exporting, FAILSOFT_SERVICE_NAME="front") as server:
        url = server.url()
        results = [call(url, tool, arguments, TRACED) for tool, arguments in CALLS]
        in_header, in_meta = (TRACED["traceparent"].replace("0af", start) for start in ("fff", "eee"))
        call(url, "headers", {}, {"traceparent": in_header}, traceparent=in_meta)
        call(url, "no_such_tool", {}, {})
        openmetrics = {"accept": "application/openmetrics-text; version=1.0.0"}
        scrape = httpx2.get(f"{url}/metrics", headers=openmetrics, timeout=BOUND_S).text
        server.process.terminate()
        assert server.wait() == 0, server.errors
    yield Seen(receiver, results[-1]["result"]["structuredContent"]["data"], scrape)
    receiver.shutdown()
    receiver.server_close()


def test_a_trace_of_a_header_goes_through_the_proxy_to_the_server_behind_it(seen: Seen) -> None:
    front = seen.span("front", "tools/call find")
    assert hex_of(front["parentSpanId"]) == SPAN
    (sent,) = seen.children(front, "MCP send tools/call find")
    (behind,) = seen.children(sent, "tools/call find")
    kinds = [span["kind"].removeprefix("SPAN_KIND_") for span in (front, sent, behind)]
    assert kinds == ["SERVER", "CLIENT", "SERVER"]
    assert {trace_of(span) for span in (front, sent, behind)} == {TRACE}
    assert [front["attributes"]["network.transport"], behind["attributes"]["network.transport"]] == ["tcp", "pipe"]


def test_every_call_has_one_server_span_in_each_server(seen: Seen) -> None:
    spans = [span for span in seen.receiver.spans if span["kind"] == "SPAN_KIND_SERVER" and trace_of(span) == TRACE]
    assert sorted(span["name"] for span in spans) == sorted(f"tools/call {tool}" for tool, _ in CALLS for _ in (0, 1))


def test_a_failed_call_has_the_convention_s_type_and_our_code(seen: Seen) -> None:
    span = seen.span("front", "tools/call find")
    assert span["status"]["code"] == "STATUS_CODE_ERROR"
    assert span["attributes"]["error.type"] == "tool_error"
    assert span["attributes"]["failsoft.error.code"] == "DOC_NOT_FOUND"
    assert span["attributes"]["failsoft.effect"] == "none"
    assert re.fullmatch("[!-~]+", span["attributes"]["failsoft.request_id"])


def test_attempts_and_recoveries_are_below_the_span(seen: Seen) -> None:
    behind = seen.span("failsoft", "tools/call balance")
    runs = seen.children(behind, "failsoft.attempt")
    assert [run["attributes"]["failsoft.result"] for run in runs] == ["error", "ok"]
    assert [run["attributes"].get("failsoft.error.code") for run in runs] == ["UNAVAILABLE", None]
    (recovery,) = seen.children(behind, "failsoft.recovery retry")
    assert recovery["attributes"]["failsoft.result"] == "recovered"
    assert behind["attributes"]["failsoft.recovery.strategy"] == "retry"
    assert "error.type" not in behind["attributes"]


def test_an_effect_is_below_the_span(seen: Seen) -> None:
    assert len(seen.children(seen.span("failsoft", "tools/call pay"), "failsoft.effect book")) == 1


def test_the_context_that_a_handler_sends_on_is_that_of_its_span(seen: Seen) -> None:
    span = seen.span("failsoft", "tools/call headers")
    assert seen.sent_on["traceparent"] == f"00-{TRACE}-{hex_of(span['spanId'])}-01"


def test_a_trace_of_the_metadata_counts_before_that_of_the_headers_which_is_linked(seen: Seen) -> None:
    span = seen.span("front", "tools/call headers", TRACE.replace("0af", "eee"))
    (link,) = span["links"]
    assert hex_of(link["traceId"]) == TRACE.replace("0af", "fff")


def test_durations_are_measured_by_tool_and_type_of_error(seen: Seen) -> None:
    points = seen.receiver.measured["mcp.server.operation.duration"]
    calls = [point for point in points if point["attributes"]["mcp.method.name"] == "tools/call"]
    last = {(point["service"], point["attributes"].get("gen_ai.tool.name", "")): point for point in calls}
    assert last["front", "find"]["attributes"]["error.type"] == "tool_error"
    assert last["failsoft", "balance"]["count"] == "1"
    assert last["front", ""]["attributes"]["error.type"] == "-32602"  # the caller made the name up
    assert last["failsoft", "balance"]["explicitBounds"][:3] == [0.01, 0.02, 0.05]


def test_a_scrape_in_openmetrics_names_traces_of_slow_and_fast_calls(seen: Seen) -> None:
    buckets = r'^mcp_tool_call_duration_seconds_bucket\{.*operation="find".*# (.*)$'
    found = re.findall(buckets, seen.scrape, re.MULTILINE)
    assert [one.split("}")[0] for one in found] == [f'{{trace_id="{TRACE}"']


def test_without_exporters_the_proxy_sends_the_ids_of_headers_on() -> None:
    command = ["proxy", "--name", "front", "--transport", "http", "--port", "0", "--env", "PYTHONPATH"]
    with running(*command, "--", PYTHON, "-m", "failsoft", *TILL) as server:
        answer = call(server.url(), "headers", {}, {**TRACED, "x-request-id": "req-4711"})
    sent_on = answer["result"]["structuredContent"]["data"]
    assert sent_on == {**TRACED, "x-request-id": "req-4711"}
