"""`/metrics`: what a scraper gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette

from failsoft import Runtime, Settings, asgi_app
from failsoft.metrics import PrometheusRecorder
from tests.server.processes import BOUND_S, Served
from tests.server.served_tools import Hostile, Polite

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def runtime(**settings: Any) -> Runtime:
    """Return a runtime with a recorder of its own."""
    return Runtime(settings=Settings(**settings), metrics=PrometheusRecorder())


async def get(app: Starlette, method: str = "GET", **headers: str) -> httpx2.Response:
    """Return one answer of the route."""
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.request(method, "/metrics", headers=headers)


def calls(text: str) -> dict[tuple[str, str], float]:
    """Return the number of calls by operation and outcome."""
    return {
        (sample.labels["operation"], sample.labels["outcome"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "mcp_tool_calls_total" and sample.value
    }


@pytest.mark.anyio
async def test_calls_are_counted_by_operation_and_outcome() -> None:
    tool = Polite(runtime=runtime())
    app = asgi_app(tool)
    async with Client(app.state.assembly.server, mode="2026-07-28") as client:
        for name in ("here", "here", "moved", "gone"):
            await client.call_tool("find", {"name": name})
        await client.call_tool("double", {})
    assert calls((await get(app)).text) == {
        ("find", "ok"): 2,
        ("find", "recovered"): 1,
        ("find", "error"): 1,
        ("double", "rejected"): 1,
    }


@pytest.mark.anyio
async def test_the_format_is_the_one_that_is_asked_for() -> None:
    app = asgi_app(Polite(runtime=runtime()))
    plain, open_metrics = await get(app, accept="*/*"), await get(app, accept=OPENMETRICS)
    assert plain.headers["content-type"].startswith("text/plain")
    assert open_metrics.headers["content-type"].startswith("application/openmetrics-text")
    assert open_metrics.text.endswith("# EOF\n")


@pytest.mark.anyio
async def test_toolsets_with_runtimes_of_their_own_are_shown_together_and_parse() -> None:
    app = asgi_app([Polite(runtime=runtime()), Hostile(runtime=runtime())])
    async with Client(app.state.assembly.server, mode="2026-07-28") as client:
        await client.call_tool("find", {"name": "here"})
        await client.call_tool("return_it", {"kind": "nan"})
    for accept in ("*/*", OPENMETRICS):
        text = (await get(app, accept=accept)).text
        types = [line for line in text.splitlines() if line.startswith("# TYPE")]
        assert len(types) == len(set(types))
    assert calls((await get(app)).text) == {("find", "ok"): 1, ("return_it", "ok"): 1}


@pytest.mark.anyio
async def test_switched_off_metrics_are_not_there() -> None:
    app = asgi_app(Polite(runtime=Runtime(settings=Settings(metrics_enabled=False))))
    assert (await get(app)).status_code == 404


@pytest.mark.anyio
async def test_metrics_are_only_read() -> None:
    app = asgi_app(Polite(runtime=runtime()))
    assert (await get(app, "POST")).status_code == 405
    assert (await get(app, "HEAD")).status_code == 200


@pytest.mark.anyio
async def test_a_name_that_a_caller_made_up_is_never_a_label() -> None:
    app = asgi_app(Polite(runtime=runtime()))
    async with Client(app.state.assembly.server, mode="2026-07-28") as client:
        with pytest.raises(Exception, match="Unknown tool"):
            await client.call_tool("made_up_by_a_caller")
    assert "made_up_by_a_caller" not in (await get(app)).text


@pytest.mark.anyio
async def test_workers_add_up(served: Callable[..., Served]) -> None:
    server = served("http", "tools=polite", "workers=2")
    url = server.wait_for("ready")
    seen: set[int] = set()
    made = 0
    with anyio.fail_after(BOUND_S):
        while len(seen) < 2:
            async with Client(f"{url}/mcp", mode="2026-07-28") as client:
                result = await client.call_tool("process_id")
                made += 1
                assert isinstance(result.structured_content, dict)
                seen.add(result.structured_content["data"])
    for _ in range(3):
        text = httpx2.get(f"{url}/metrics").text
        assert calls(text) == {("process_id", "ok"): made}
