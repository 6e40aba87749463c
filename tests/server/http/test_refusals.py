"""`mcp_http_refused_total`: what is refused before any tool is asked, by its status."""

from __future__ import annotations

import logging
import re
from typing import Any

import httpx2
import pytest

from failsoft import Runtime, Settings, asgi_app
from failsoft.metrics import PrometheusRecorder
from tests.server.served_tools import Polite

pytestmark = pytest.mark.anyio

TOKEN = "correct horse battery staple"
BEARER = {"authorization": f"Bearer {TOKEN}"}


def refused(text: str) -> dict[str, int]:
    """Return the count of each status."""
    found = re.findall(r'^mcp_http_refused_total\{status="(\d+)"\} ([\d.]+)$', text, re.MULTILINE)
    return {status: int(float(value)) for status, value in found}


async def test_refusals_are_counted_by_status_and_those_of_probes_are_not() -> None:
    app: Any = asgi_app(Polite(runtime=Runtime(settings=Settings(auth_token=TOKEN), metrics=PrometheusRecorder())))
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321") as client,
    ):
        await client.get("/metrics")
        await client.post("/mcp", json={})
        await client.get("/status.json", headers={"host": "evil.example"})
        await client.get("/nowhere", headers=BEARER)
        await client.get("/", headers=[("host", "a"), ("host", "b")])
        for probe in ("/healthz", "/readyz"):
            assert (await client.get(probe, headers={"origin": "https://evil.example"})).status_code == 403
        before = refused((await client.get("/metrics", headers=BEARER)).text)
        app.state.assembly.lifecycle.drain()
        assert (await client.get("/readyz")).status_code == 503
        await client.get("/status.json")
        after = refused((await client.get("/metrics", headers=BEARER)).text)
    assert before == {"400": 1, "401": 2, "404": 1, "421": 1}
    assert after == {**before, "503": 1}


async def test_the_first_refusals_for_want_of_a_token_have_a_rate() -> None:
    """Prometheus has no rate of a series whose first value is a high one."""
    app: Any = asgi_app(Polite(runtime=Runtime(settings=Settings(auth_token=TOKEN), metrics=PrometheusRecorder())))
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321") as client,
    ):
        assert refused((await client.get("/metrics", headers=BEARER)).text) == {"401": 0}


async def test_refusals_for_a_host_or_origin_cost_the_log_little(caplog: pytest.LogCaptureFixture) -> None:
    """Anyone who can connect may cause them, without a token."""
    app: Any = asgi_app(Polite(runtime=Runtime(settings=Settings(auth_token=TOKEN))))
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321") as client,
    ):
        with caplog.at_level(logging.INFO):
            for number in range(20):
                for name in ("host", "origin"):
                    text = "evil" * 5_000 if name == "host" else "https://evil"
                    assert (await client.post("/mcp", headers={name: f"{text}{number}.example"})).status_code in {
                        403,
                        421,
                    }
    said = [record.getMessage() for record in caplog.records if record.name == "mcp.server.transport_security"]
    assert len(said) <= 2
    assert sum(map(len, said)) < 1_500
