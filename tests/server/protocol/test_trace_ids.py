"""The request id and the trace that a caller sends: in the log line, the audit entry and the answer of its call."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from loguru import logger

from failsoft import BaseTool, CallContext, DocumentNotFound, Runtime, Settings, asgi_app, configure_logging, operation

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ["modern", "legacy"])]

TRACE = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = f"00-{TRACE}-b7ad6b7169203331-01"
SENT = {"x-request-id": "req-4711", "traceparent": TRACEPARENT}
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Shop(BaseTool):
    """A shop."""

    @operation(read_only=True)
    async def find(self) -> None:
        """Fail."""
        raise DocumentNotFound(path="a.md")

    @operation(read_only=True)
    async def headers(self, call: CallContext) -> dict[str, str]:
        """Return what a handler would send on to another service."""
        make = getattr(call, "http_headers", dict)
        return {name.lower(): value for name, value in make().items()}

    @operation()
    async def keyed_headers(self, call: CallContext) -> dict[str, str]:
        """Return what a handler would send on to another service, in a call with a key."""
        make = getattr(call, "http_headers", dict)
        return {name.lower(): value for name, value in make().items()}


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    configure_logging("INFO", json_lines=True, stream=stream)
    yield stream
    logger.remove()
    logger.disable("failsoft")


async def call(era: str, tool: str, headers: dict[str, str], meta: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """Call a tool over HTTP, as request 7 of its client, and return the result."""
    app = asgi_app(Shop(runtime=Runtime(settings=Settings(**settings))))
    params: dict[str, Any] = {"name": tool, "arguments": {}, "_meta": meta}
    headers = {**ACCEPT, **headers}
    if era == "modern":
        params["_meta"] = {**ENVELOPE, **meta}
        headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool}
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321") as client,
    ):
        response = await client.post("/mcp", json=body, headers=headers)
    assert response.status_code == 200, response.text
    text = response.text
    if response.headers["content-type"].startswith("text/event-stream"):
        text = [line for line in text.splitlines() if line.startswith("data:")][-1].removeprefix("data:")
    result: dict[str, Any] = json.loads(text)["result"]
    return result


def failure_in(log: io.StringIO) -> dict[str, Any]:
    """Return the one line about the call."""
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    (line,) = [line for line in lines if line.get("operation") == "find"]
    return line


async def test_the_request_id_in_a_header_is_that_of_the_log_line(era: str, log: io.StringIO) -> None:
    await call(era, "find", SENT, {})
    assert failure_in(log)["request_id"] == "req-4711"


async def test_the_request_id_in_meta_is_that_of_the_log_line(era: str, log: io.StringIO) -> None:
    await call(era, "find", {}, {"x-request-id": "req-4711"})
    assert failure_in(log)["request_id"] == "req-4711"


async def test_without_a_request_id_one_is_made(era: str, log: io.StringIO) -> None:
    await call(era, "find", {}, {})
    assert failure_in(log)["request_id"] not in {"7", 7, None, ""}


@pytest.mark.parametrize("place", ["header", "meta"])
async def test_the_trace_is_in_the_log_line(era: str, place: str, log: io.StringIO) -> None:
    await call(era, "find", SENT if place == "header" else {}, {"traceparent": TRACEPARENT} if place == "meta" else {})
    assert failure_in(log).get("trace_id") == TRACE


async def test_request_id_and_trace_are_in_the_audit_entry(era: str, log: io.StringIO, tmp_path: Path) -> None:
    path = tmp_path / "audit-log.jsonl"
    await call(era, "find", SENT, {}, audit_path=path)
    (entry,) = [
        entry for line in path.read_text().splitlines() if (entry := json.loads(line)).get("operation") == "find"
    ]
    assert (entry.get("request_id"), entry.get("trace_id")) == ("req-4711", TRACE)


@pytest.mark.parametrize("tool", ["find", "headers"])
async def test_an_answer_says_its_request_id_and_trace(era: str, tool: str, log: io.StringIO) -> None:
    answer = await call(era, tool, SENT, {})
    assert answer.get("_meta", {}).get("dev.failsoft/trace") == {"request_id": "req-4711", "trace_id": TRACE}


async def test_a_handler_can_send_trace_and_request_id_on(era: str) -> None:
    sent_on = (await call(era, "headers", SENT, {}))["structuredContent"]["data"]
    assert sent_on.get("x-request-id") == "req-4711"
    assert sent_on.get("traceparent", "").split("-")[1:2] == [TRACE]


async def test_a_handler_can_send_the_idempotency_key_on(era: str) -> None:
    meta = {"dev.failsoft/idempotency-key": "order-17"}
    answer = await call(era, "keyed_headers", SENT, meta, state_url="memory:")
    if answer["isError"] is not False:
        raise RuntimeError(answer)
    assert "idempotency-key" in answer["structuredContent"]["data"]


@pytest.mark.parametrize("request_id", ["a b", "x" * 201, "a\xe4", ""])
@pytest.mark.parametrize("trace", ["0" * 32, "g" * 32, "ab"])
async def test_ids_of_another_form_are_not_passed_on(era: str, request_id: str, trace: str) -> None:
    meta = {"x-request-id": request_id, "traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    sent_on = (await call(era, "headers", {}, meta))["structuredContent"]["data"]
    assert len(sent_on.pop("x-request-id")) == 16
    assert sent_on == {}


async def test_ids_in_meta_count_before_those_of_headers(era: str) -> None:
    sent_on = (await call(era, "headers", SENT, {"x-request-id": "req-1"}))["structuredContent"]["data"]
    assert sent_on == {"x-request-id": "req-1", "traceparent": TRACEPARENT}
