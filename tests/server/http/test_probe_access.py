"""Who may reach the probes and `/metrics`, and which of two names of a call counts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from failsoft import Runtime, Settings, asgi_app
from tests.doors import seam_module
from tests.server.served_tools import Polite

pytestmark = pytest.mark.anyio

TOKEN = "correct horse battery staple"
POD = "10.42.0.17:8321"
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@asynccontextmanager
async def opened(host: str = "127.0.0.1:8321", **settings: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """Return a client of a running server, without a socket between them."""
    app = asgi_app(Polite(runtime=Runtime(settings=Settings(**settings))))
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url=f"http://{host}") as client,
    ):
        yield client


@pytest.mark.parametrize("route", ["/healthz", "/readyz"])
async def test_a_probe_answers_whatever_the_host(route: str) -> None:
    async with opened(POD) as client:
        answer = await client.get(route)
    assert answer.status_code == 200


async def test_metrics_answer_with_their_token_whatever_the_host() -> None:
    async with opened(POD, auth_token=TOKEN) as client:
        refused = await client.get("/metrics")
        answer = await client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    assert refused.status_code in {401, 421}
    assert answer.status_code == 200


async def test_calls_and_pages_check_the_host_though_the_token_is_right() -> None:
    async with opened(POD, auth_token=TOKEN) as client:
        headers = {"authorization": f"Bearer {TOKEN}"}
        for route in ("/", "/status.json"):
            assert (await client.get(route, headers=headers)).status_code == 421
        assert (await client.post("/mcp", json={}, headers=headers)).status_code == 421


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
async def test_an_older_call_whose_header_names_another_tool_is_refused(version: str) -> None:
    params = {"name": "process_id", "arguments": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    async with opened() as client:
        headers = {**ACCEPT, "mcp-protocol-version": version}
        usual = await client.post("/mcp", json=body, headers=headers)
        odd = await client.post("/mcp", json=body, headers={**headers, "mcp-name": "facts"})
        same = await client.post("/mcp", json=body, headers={**headers, "mcp-name": "process_id"})

        async def pieces() -> AsyncIterator[bytes]:
            whole = json.dumps(body).encode()
            yield whole[:20]
            yield whole[20:]

        in_pieces = await client.post("/mcp", content=pieces(), headers={**headers, "mcp-name": "facts"})
    assert [answer.status_code for answer in (usual, same, odd, in_pieces)] == [200, 200, 400, 400]


ODD = {
    "a member that nobody knows": {"x": 1},
    "a name that is no text": {"params": {"name": [1], "arguments": {}}},
    "no id": {"id": None},
    "parameters in a list": {"params": ["process_id"]},
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("is_quick", [True, False], ids=["lane", "sdk"])
async def test_the_header_of_an_older_call_with_an_odd_body_is_compared_too(
    odd: str, is_quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seam_module, "_found", [None if is_quick else "for this test"])
    params = {"name": "process_id", "arguments": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params, **ODD[odd]}
    headers = {**ACCEPT, "mcp-protocol-version": "2025-06-18", "mcp-name": "facts"}
    async with opened() as client:
        answer = await client.post("/mcp", json=body, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "The header Mcp-Name names another than the body"


async def test_without_the_token_the_status_is_name_and_phase() -> None:
    async with opened(auth_token=TOKEN) as client:
        found = (await client.get("/status.json")).json()
        page = (await client.get("/")).text
    assert found.keys() <= {"name", "phase"}
    assert "count_when_let_go" not in page
