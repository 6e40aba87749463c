"""Receivers of telemetry: OTLP over HTTP, and Sentry's envelopes."""

from __future__ import annotations

import gzip
import http.server
import json
import threading
import time
from collections.abc import Callable
from typing import Any, cast

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ["Receiver"]

PATIENCE_S = 30.0


class Receiver(http.server.ThreadingHTTPServer):
    """A collector and a Sentry on one port.

    Attributes:
        spans: As they came, each with its `attributes` as a dictionary and the `service` that sent it.
        measured: The data points of histograms, by metric, the same.
        events: Sentry's.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Received)
        self.spans: list[dict[str, Any]] = []
        self.measured: dict[str, list[dict[str, Any]]] = {}
        self.events: list[dict[str, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.dsn = f"http://key@127.0.0.1:{self.server_port}/7"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def comes(self, found: Callable[[], Any]) -> Any:
        """Return what is found, once it is there; what is found at last otherwise."""
        until = time.monotonic() + PATIENCE_S
        while not (value := found()) and time.monotonic() < until:
            time.sleep(0.02)
        return value

    def take_spans(self, body: bytes) -> None:
        for resource in MessageToDict(ExportTraceServiceRequest.FromString(body))["resourceSpans"]:
            service = _attributes(resource["resource"])["service.name"]
            for scope in resource["scopeSpans"]:
                self.spans += [{**span, "service": service, "attributes": _attributes(span)} for span in scope["spans"]]

    def take_metrics(self, body: bytes) -> None:
        for resource in MessageToDict(ExportMetricsServiceRequest.FromString(body))["resourceMetrics"]:
            service = _attributes(resource["resource"])["service.name"]
            for metric in (metric for scope in resource["scopeMetrics"] for metric in scope["metrics"]):
                points = metric.get("histogram", {}).get("dataPoints", ())
                known = [{**point, "service": service, "attributes": _attributes(point)} for point in points]
                self.measured.setdefault(metric["name"], []).extend(known)

    def take_envelope(self, body: bytes) -> None:
        _, *lines = body.splitlines()
        for header, item in zip(lines[::2], lines[1::2], strict=False):
            if json.loads(header)["type"] == "event":
                self.events.append(json.loads(item))


class _Received(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        receiver = cast("Receiver", self.server)
        takes = {"/v1/traces": receiver.take_spans, "/v1/metrics": receiver.take_metrics}
        takes.get(self.path, receiver.take_envelope)(body)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _attributes(message: dict[str, Any]) -> dict[str, Any]:
    """Return attributes as a dictionary; integers are texts in the JSON form."""
    return {one["key"]: next(iter(one["value"].values())) for one in message.get("attributes", ())}
