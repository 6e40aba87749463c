"""Contract, section 8: the routes beside `/mcp`, access control, and what may be served."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp.server.auth.provider import AccessToken

from failsoft import BaseTool, ConfigurationError, Runtime, Settings, asgi_app, mcp_server, operation, serve
from failsoft.metrics import PrometheusRecorder

pytestmark = pytest.mark.anyio

TOKEN = "open sesame, please"
ROUTES = ("/mcp", "/metrics", "/healthz", "/readyz", "/", "/status.json")
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


class Gate(BaseTool):
    """A gate."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(runtime=Runtime(settings=Settings(**settings), metrics=PrometheusRecorder()))
        self.state = "new"

    @operation(read_only=True)
    async def look(self) -> str:
        """Look."""
        return self.state

    async def startup(self) -> None:
        self.state = "started"

    async def shutdown(self) -> None:
        self.state = "shut down"


@asynccontextmanager
async def opened(app: Any, *, host: str = "127.0.0.1:8321") -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url=f"http://{host}") as client,
    ):
        yield client


async def call(client: httpx2.AsyncClient, name: str, **headers: str) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}}
    return await client.post("/mcp", json=body, headers={**HEADERS, **headers})


def answer_of(response: httpx2.Response) -> dict[str, Any]:
    """Return the message of an answer, be it an event or a body."""
    assert response.status_code == 200
    lines = [line.removeprefix("data:") for line in response.text.splitlines() if line.startswith("data:")]
    message = json.loads(lines[-1] if lines else response.text)
    assert isinstance(message, dict)
    return message


# The routes.


async def test_every_route_answers() -> None:
    async with opened(asgi_app([Gate()])) as client:
        for route in ROUTES[1:]:
            assert (await client.get(route)).status_code == 200, route
        assert answer_of(await call(client, "look"))["result"]["structuredContent"]["data"] == "started"


async def test_an_unknown_tool_is_minus_32602_on_the_wire() -> None:
    async with opened(asgi_app([Gate()])) as client:
        error = answer_of(await call(client, "loook"))["error"]
    assert error["code"] == -32602
    assert "look" in error["message"]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/plain", "text/plain"),
        ("*/*", "text/plain"),
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text"),
        ("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.4", "application/openmetrics-text"),
    ],
)
async def test_metrics_are_open_metrics_for_who_asks_for_them(accept: str, kind: str) -> None:
    async with opened(asgi_app([Gate()])) as client:
        await call(client, "look")
        response = await client.get("/metrics", headers={"accept": accept})
    assert response.headers["content-type"].startswith(kind)
    assert response.text.endswith("# EOF\n") is (kind != "text/plain")
    counted = {'operation="look"', 'outcome="ok"', 'tool="gate"'}
    (line,) = [
        line
        for line in response.text.splitlines()
        if line.startswith("mcp_tool_calls_total{") and all(label in line for label in counted)
    ]
    assert float(line.split()[1]) == 1


async def test_toolsets_with_recorders_of_their_own_are_scraped_together_and_each_series_is_there_once() -> None:
    class Wall(BaseTool):
        """A wall."""

        @operation(read_only=True)
        async def climb(self) -> int:
            """Climb."""
            return 1

    async with opened(asgi_app([Gate(), Wall(runtime=Runtime(metrics=PrometheusRecorder()))])) as client:
        text = (await client.get("/metrics")).text
    series = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(series) == len(set(series))
    assert any('operation="climb"' in line for line in series)
    assert any('operation="look"' in line for line in series)


async def test_the_page_and_its_data_tell_the_tools() -> None:
    async with opened(asgi_app([Gate()])) as client:
        page = await client.get("/")
        status = await client.get("/status.json")
    assert page.headers["content-type"].startswith("text/html")
    assert "look" in json.dumps(status.json())


async def test_a_toolset_is_started_before_and_shut_down_after_all_calls() -> None:
    gate = Gate()
    async with opened(asgi_app([gate])) as client:
        assert (await client.get("/readyz")).status_code == 200
        assert gate.state == "started"
    assert gate.state == "shut down"


# Who is let in.


@pytest.mark.parametrize("route", sorted({*ROUTES} - {"/healthz", "/readyz"}))
async def test_a_foreign_host_is_refused_on_every_route_but_the_probes(route: str) -> None:
    async with opened(asgi_app([Gate()]), host="evil.example") as client:
        response = await client.get(route)
    assert response.status_code >= 400


async def test_a_foreign_host_may_be_allowed() -> None:
    async with opened(asgi_app([Gate(allowed_hosts="tools.example")]), host="tools.example") as client:
        assert (await client.get("/healthz")).status_code == 200
        assert answer_of(await call(client, "look"))["result"]["isError"] is False


@pytest.mark.parametrize("authorization", ["", "Bearer wrong", f"Basic {TOKEN}", TOKEN])
async def test_who_has_not_the_token_is_not_let_in(authorization: str) -> None:
    async with opened(asgi_app([Gate(auth_token=TOKEN)])) as client:
        given = {"authorization": authorization} if authorization else {}
        assert (await call(client, "look", **given)).status_code == 401
        assert (await client.get("/metrics", headers=given)).status_code == 401
        assert (await client.get("/healthz")).status_code == 200


async def test_who_has_the_token_is_let_in() -> None:
    async with opened(asgi_app([Gate(auth_token=TOKEN)])) as client:
        given = {"authorization": f"Bearer {TOKEN}"}
        assert answer_of(await call(client, "look", **given))["result"]["isError"] is False
        assert (await client.get("/metrics", headers=given)).status_code == 200


async def test_any_verifier_of_the_sdk_may_take_the_tokens_place() -> None:
    class Verifier:
        async def verify_token(self, token: str) -> AccessToken | None:
            return AccessToken(token=token, client_id="me", scopes=[]) if token == "mine" else None

    async with opened(asgi_app([Gate()], token_verifier=Verifier())) as client:
        assert (await call(client, "look")).status_code == 401
        assert (await call(client, "look", authorization="Bearer mine")).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_serving_beyond_loopback_without_a_token_is_refused(host: str) -> None:
    with pytest.raises(ConfigurationError):
        serve([Gate()], transport="http", host=host, port=0)


async def test_a_body_above_the_limit_is_refused() -> None:
    async with opened(asgi_app([Gate(max_request_bytes=2_000)])) as client:
        response = await client.post("/mcp", content=b"x" * 5_000, headers=HEADERS)
    assert response.status_code == 413


# What may be served.


@pytest.mark.parametrize(
    "tools",
    [Gate, Gate(), [Gate], [Gate()], lambda: Gate, lambda: [Gate()]],
    ids=["class", "instance", "classes", "instances", "function of a class", "function of instances"],
)
def test_a_toolset_its_class_a_list_or_a_function_of_them_is_served(tools: Any) -> None:
    assert mcp_server(tools, name="gates").name == "gates"
    assert asgi_app(tools) is not None


@pytest.mark.parametrize(
    "tools", [[], 5, "docs", [object()], lambda: 5], ids=["empty", "number", "text", "object", "function of a number"]
)
def test_anything_else_is_a_clear_error(tools: Any) -> None:
    with pytest.raises(ConfigurationError):
        mcp_server(tools)
