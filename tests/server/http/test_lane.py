"""The lane answers as the SDK does."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from loguru import logger
from mcp.server import _otel, _streamable_http_modern as modern, streamable_http_manager
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp_types import CallToolRequestParams, CallToolResult, TextContent
from opentelemetry import trace
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from failsoft import BaseTool, Runtime, Settings, asgi_app
from tests.doors import exchange_module as exchange
from tests.server.http.lane_requests import Answer, Post, Request, plain, requests, the_sdks_way
from tests.server.http.test_app import opened
from tests.server.served_tools import Hostile, Polite
from tests.thorough import examples

pytestmark = pytest.mark.anyio

REQUESTS = examples(400)
ROUNDS = 30
TOKENS = {"ada": "correct horse battery", "bob": "incorrect horse battery"}


def tools(**options: Any) -> list[BaseTool]:
    return [made(runtime=Runtime(settings=Settings(**options))) for made in (Polite, Hostile)]


def served(way: str, made: list[BaseTool]) -> Starlette:
    """Return an app with these tools, with the lane or without it."""
    app = asgi_app(made)
    return app if way == "lane" else the_sdks_way(app)


@asynccontextmanager
async def both(**options: Any) -> AsyncIterator[tuple[Starlette, Starlette]]:
    """Run two servers with the same tools, with the lane and without it."""
    on, off = (served(way, tools(**options)) for way in ("lane", "sdk"))
    async with on.router.lifespan_context(on), off.router.lifespan_context(off):
        yield on, off


@contextmanager
def without_the_sdk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the SDK answer nothing, so that only the lane can."""

    async def refuse(*_: Any) -> None:
        pytest.fail("the SDK was asked")

    with monkeypatch.context() as patched:
        patched.setattr(streamable_http_manager, "handle_modern_request", refuse)
        yield


async def answers(request: Request, *apps: Starlette) -> list[Any]:
    posts = [Post(app, request) for app in apps]
    for post in posts:
        await post.run()
    return [post.answer for post in posts]


async def test_generated_requests_are_answered_alike() -> None:
    """The law of the lane. One event loop serves all examples, so the examples are drawn beforehand."""
    drawn: list[Request] = []

    @settings(max_examples=REQUESTS, database=None, suppress_health_check=[*HealthCheck])
    @given(requests())
    def draw(request: Request) -> None:
        drawn.append(request)

    draw()
    logger.disable("failsoft")
    try:
        async with both(max_request_bytes=4_000) as apps:
            for request in drawn:
                fast, slow = await answers(request, *apps)
                assert fast == slow, request
    finally:
        logger.enable("failsoft")


async def test_failures_in_json_text_are_answered_alike() -> None:
    bad = [plain("raise_it", {"kind": kind}) for kind in ("group", "unspeakable", "no such kind")]
    bad += [plain("find", arguments) for arguments in ({}, {"name": "gone"}, {"nme": "gone"}, {"name": 5})]
    async with both(answer="json") as apps:
        for request in bad:
            fast, slow = await answers(request, *apps)
            assert fast == slow, request


async def test_plain_calls_leave_no_reference_cycles() -> None:
    """Each would be kept until a garbage collection, which delays the calls that are running."""
    app = asgi_app(tools())
    async with app.router.lifespan_context(app):
        await answers(plain("facts"), app)
        found = []
        gc.freeze()  # what earlier tests left is not looked at, such as connections of closed event loops
        gc.disable()
        try:
            while len(found) < ROUNDS and min(found, default=50) >= 50:  # threads of earlier tests may leave some, too
                for _ in range(50):
                    await answers(plain("facts"), app)
                found.append(gc.collect())
        finally:
            gc.enable()
    assert min(found) < 50


async def test_plain_calls_are_answered_without_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    app = asgi_app(tools())
    async with app.router.lifespan_context(app):
        with without_the_sdk(monkeypatch):
            for request in (plain("double", {"number": 4}), plain("facts"), plain("find", {"name": "gone"})):
                (answer,) = await answers(request, app)
                assert (answer.status, json.loads(answer.bodies[0])["id"]) == (200, 1)


async def answered(app: Starlette) -> Answer:
    """Return the answer to a plain call."""
    async with app.router.lifespan_context(app):
        (answer,) = await answers(plain("facts"), app)
    assert answer.status == 200
    return answer  # type: ignore[no-any-return]  # of a list of any answers


async def test_middleware_that_is_added_to_the_sdk_s_server_has_the_sdk_s_context() -> None:
    app = asgi_app(tools())
    seen: list[Any] = []

    async def witness(ctx: Any, call_next: Any) -> Any:
        seen.append((ctx.method, ctx.session.client_params.client_info.name, await ctx.request.body() != b""))
        return await call_next(ctx)

    app.state.assembly.server.middleware.append(witness)
    await answered(app)
    assert seen == [("tools/call", "test", True)]


async def test_a_handler_that_replaces_that_of_the_sdk_s_server_answers() -> None:
    app = asgi_app(tools())

    async def handler(_ctx: Any, params: CallToolRequestParams) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text=f"mine: {params.name}")])

    app.state.assembly.server.add_request_handler("tools/call", CallToolRequestParams, handler)
    assert "mine: facts" in str(await answered(app))


@pytest.mark.parametrize("place", ["endpoint", "route", "middleware"])
async def test_what_is_put_between_the_gate_and_the_tools_is_not_bypassed(place: str) -> None:
    app = asgi_app(tools())
    route: Any = app.routes[0]

    def close(inner: ASGIApp) -> ASGIApp:
        async def closed(scope: Scope, receive: Receive, send: Send) -> None:
            await (Response(status_code=401) if scope["type"] == "http" else inner)(scope, receive, send)

        return closed

    if place == "endpoint":
        route.app = close(route.app)
    elif place == "route":
        app.routes.insert(0, Mount("", close(app)))
    else:
        app.user_middleware.append(Middleware(close))
    async with app.router.lifespan_context(app):
        (answer,) = await answers(plain("facts"), app)
    assert answer.status == 401


@pytest.mark.parametrize("token", ["correct horse battery", "another horse battery", None])
async def test_tokens_decide_who_calls_in_both_ways(token: str | None) -> None:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    names = ",".join(f"{name}:{secret}" for name, secret in TOKENS.items())
    async with both(auth_tokens=names) as apps:
        fast, slow = await answers(plain("facts", {}, headers=headers), *apps)
    assert fast == slow
    assert fast.status == (200 if token in TOKENS.values() else 401)
    assert ('"principal": "token:ada"' in str(fast.bodies)) is (fast.status == 200)


class Verifier:
    """Grants each token the scope that it names."""

    async def verify_token(self, token: str) -> AccessToken:
        return AccessToken(token=token, client_id="c", scopes=[token])


@pytest.mark.parametrize(("scope", "status"), [("tools", 200), ("files", 403), (None, 401)])
async def test_scopes_decide_who_calls_in_both_ways(
    scope: str | None, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {"issuer_url": "https://idp.example", "resource_server_url": "https://me.example/mcp"}
    auth = AuthSettings.model_validate({**facts, "required_scopes": ["tools"], "validate_token_resource": False})
    on, off = (asgi_app(tools(), token_verifier=Verifier(), auth=auth) for _ in range(2))
    request = plain("facts", {}, headers={} if scope is None else {"authorization": f"Bearer {scope}"})
    async with on.router.lifespan_context(on), the_sdks_way(off).router.lifespan_context(off):
        fast, slow = await answers(request, on, off)
        with without_the_sdk(monkeypatch):
            await answers(request, on)
    assert fast == slow
    assert fast.status == status


@pytest.mark.parametrize("way", ["lane", "sdk"])
async def test_a_client_that_disconnects_cancels_its_call(way: str) -> None:
    made = tools()
    app = served(way, made)
    polite: Any = made[0]
    async with app.router.lifespan_context(app), anyio.create_task_group() as group:
        post = Post(app, plain("hang", {"key": "k"}))
        group.start_soon(post.run)
        with anyio.fail_after(30):
            await polite.events["k started"].wait()
            post.closed.set()
            await polite.events["k cancelled"].wait()
    assert post.sent == []


@pytest.mark.parametrize("way", ["lane", "sdk"])
async def test_a_slow_call_becomes_a_stream_with_pings(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    assert exchange.PING_S == modern._SSE_PING_INTERVAL
    monkeypatch.setattr(modern, "_SSE_PING_INTERVAL", 0.01)
    monkeypatch.setattr(exchange, "PING_S", 0.01)
    made = tools()
    app = served(way, made)
    polite: Any = made[0]
    async with app.router.lifespan_context(app), anyio.create_task_group() as group:
        post = Post(app, plain("finish_when", {"key": "k"}))
        group.start_soon(post.run)
        with anyio.fail_after(30):
            while len(post.sent) < 3:  # noqa: ASYNC110 - the head and two pings
                await asyncio.sleep(0.01)
        polite.events["k let go"].set()
    start, *pings, last = post.sent
    assert (start["status"], start["headers"]) == (200, modern._SSE_HEADERS)
    assert {ping["body"] for ping in pings} == {b": ping\r\n\r\n"}
    assert json.loads(last["body"].partition(b"data: ")[2])["result"]["structuredContent"]["data"] == "finished"
    assert last["more_body"] is False


@pytest.mark.parametrize("way", ["lane", "sdk"])
async def test_calls_in_flight_are_finished_while_the_server_drains(way: str) -> None:
    made = tools()
    app = served(way, made)
    polite: Any = made[0]
    lifecycle = app.state.assembly.lifecycle
    async with app.router.lifespan_context(app), anyio.create_task_group() as group:
        posts = [Post(app, plain(*call)) for call in (("finish_when", {"key": "k"}), ("hang", {"key": "h"}))]
        for post in posts:
            group.start_soon(post.run)
        await polite.events["k started"].wait()
        await polite.events["h started"].wait()
        lifecycle.drain()
        (late,) = await answers(plain("facts"), app)
        polite.events["k let go"].set()
        await lifecycle.finish(0.05)
    assert (late.status, late.headers[b"connection"]) == (503, b"close")
    found = [json.loads(post.answer.bodies[0])["result"]["structuredContent"] for post in posts]
    assert (found[0]["data"], found[1]["error"]["code"]) == ("finished", "UNAVAILABLE")
    assert all(post.answer.headers[b"connection"] == b"close" for post in posts)


class Span(trace.NonRecordingSpan):
    """A span that records what is set on it."""

    def __init__(self, **facts: Any) -> None:
        super().__init__(trace.SpanContext(1, 1, is_remote=False))
        self.facts: list[Any] = [sorted(facts["attributes"].items()), facts["name"], facts["kind"]]
        self.parent = trace.get_current_span(facts["context"]).get_span_context().span_id

    def is_recording(self) -> bool:
        return True

    def set_attribute(self, key: str, value: Any) -> None:
        self.facts.append((key, "" if key == "failsoft.error_id" else value))

    def set_status(self, status: Any, description: str | None = None) -> None:
        self.facts.append((status, description))


async def test_the_spans_of_both_ways_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    opened_spans: list[Span] = []

    @contextmanager
    def span(**facts: Any) -> Iterator[Span]:
        opened_spans.append(Span(**facts))
        with trace.use_span(opened_spans[-1]):
            yield opened_spans[-1]

    monkeypatch.setattr(_otel, "otel_span", span)
    traced = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    async with both() as apps:
        for name in ("here", "moved", "gone"):
            await answers(plain("find", {"name": name}, **traced), *apps)
    assert [span.parent for span in opened_spans] == [0xB7AD6B7169203331] * 6
    fast, slow = ([one.facts for one in opened_spans[start::2]] for start in (0, 1))
    assert fast == slow


async def test_metadata_that_was_accepted_once_does_not_admit_what_only_equals_it() -> None:
    """`1 == True == 1.0`, and a handler may change the metadata that it is given."""
    valid = {"name": "a", "version": "1", "title": "b"}
    infos: list[Any] = [
        valid,
        {**valid, "title": 1},
        {**valid, "icons": [1]},
        valid,
        {"name": "a"},
        {**valid, "title": True},
    ]
    async with both() as apps:
        for info in infos:
            fast, slow = await answers(plain("facts", **{"io.modelcontextprotocol/clientInfo": info}), *apps)
            assert fast == slow, info


async def test_metadata_that_only_the_model_of_the_parameters_refuses_is_refused() -> None:
    async with both() as apps:
        fast, slow = await answers(plain("facts", {}, progressToken=None), *apps)
    assert fast == slow


async def test_calls_are_counted_alike() -> None:
    gained = []
    for way in ("lane", "sdk"):
        app = served(way, tools())
        async with opened(app) as client:
            before = await _counts(client)
            for request in (plain("find", {"name": "gone"}), plain("find", {"name": "moved"}), plain("double")):
                await answers(request, app)
            gained.append({name: count - before.get(name, 0.0) for name, count in (await _counts(client)).items()})
    assert gained[0] == gained[1]
    assert sum(gained[0].values()) > 0


async def _counts(client: httpx2.AsyncClient) -> dict[str, float]:
    """Return the counters, which all servers of the process share; that of steps also grows by those of other tests."""
    lines = (await client.get("/metrics")).text.splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines if "_total{" in line or "_count{" in line]
    return {name: float(value) for name, value in pairs if not name.startswith("mcp_next_steps_total")}
