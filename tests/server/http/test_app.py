"""The routes beside `/mcp`, and access control."""

from __future__ import annotations

import io
import json
from asyncio import create_task
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from loguru import logger
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from starlette.applications import Starlette

from failsoft import ConfigurationError, Runtime, Settings, asgi_app, configure_logging
from failsoft.metrics import PrometheusRecorder
from tests.doors import check_exposure, is_loopback, transport_security
from tests.server.served_tools import Polite

pytestmark = pytest.mark.anyio

RESOURCE = "http://127.0.0.1:8321/mcp"
TOKEN = "correct horse battery staple"
ERAS = ("modern", "legacy")
PUBLIC = ("/healthz", "/readyz", "/status.json", "/", "/page/page.js")
GUARDED = ("/metrics", "/mcp")
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
MODERN = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def polite(**settings: Any) -> Polite:
    """Return tools with these settings."""
    return Polite(runtime=Runtime(settings=Settings(**settings)))


@asynccontextmanager
async def opened(app: Starlette, host: str = "127.0.0.1:8321") -> AsyncIterator[httpx2.AsyncClient]:
    """Return a client of the running app, without a socket between them."""
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app, raise_app_exceptions=False), base_url=f"http://{host}"
        ) as client,
    ):
        yield client


async def call(client: httpx2.AsyncClient, tool: str, *, era: str, **headers: str) -> httpx2.Response:
    """Call a tool as raw HTTP."""
    params: dict[str, Any] = {"name": tool, "arguments": {}}
    if era == "modern":
        params["_meta"] = ENVELOPE
        headers = {**MODERN, "mcp-name": tool, **headers}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return await client.post("/mcp", json=body, headers={**ACCEPT, **headers})


def result_of(response: httpx2.Response) -> dict[str, Any]:
    """Return the result in a JSON body or in the last event of a stream."""
    assert response.status_code == 200, response.text
    text = response.text
    if response.headers["content-type"].startswith("text/event-stream"):
        text = [line for line in text.splitlines() if line.startswith("data:")][-1].removeprefix("data:")
    result = json.loads(text)["result"]
    assert isinstance(result, dict)
    return result


async def test_every_route_answers() -> None:
    async with opened(asgi_app(polite())) as client:
        for route in (*PUBLIC, "/metrics"):
            assert (await client.get(route)).status_code == 200, route
        for era in ERAS:
            assert result_of(await call(client, "process_id", era=era))["isError"] is False
        assert (await client.get("/nowhere")).status_code == 404


async def test_the_mcp_route_answers_in_both_eras_without_a_session() -> None:
    async with opened(asgi_app(polite())) as client:
        for era in ERAS:
            response = await call(client, "process_id", era=era)
            assert "mcp-session-id" not in response.headers


@pytest.mark.parametrize("route", ["/", "/page/page.js", "/events", "/status.json", *GUARDED])
async def test_a_foreign_host_is_refused_on_every_route_but_the_probes(route: str) -> None:
    async with opened(asgi_app(polite()), host="evil.example") as client:
        get = await client.get(route) if route != "/mcp" else await call(client, "process_id", era="modern")
        assert get.status_code == 421


@pytest.mark.parametrize("route", [*PUBLIC, "/metrics"])
async def test_a_foreign_origin_is_refused_on_every_route(route: str) -> None:
    async with opened(asgi_app(polite())) as client:
        assert (await client.get(route, headers={"origin": "https://evil.example"})).status_code == 403
        assert (await client.get(route, headers={"origin": "http://localhost:8321"})).status_code == 200
        assert (await client.get(route, headers={"origin": "https://localhost:8321"})).status_code == 200


@pytest.mark.parametrize("header", ["host", "origin"])
@pytest.mark.parametrize("era", ERAS)
async def test_refused_calls_are_logged_once_a_minute(era: str, header: str, caplog: pytest.LogCaptureFixture) -> None:
    async with opened(asgi_app(polite())) as client:
        for _ in range(2):
            refused = await call(client, "process_id", era=era, **{header: "https://evil.example"})
            assert refused.status_code in {421, 403}
    assert [record.message for record in caplog.records if "evil" in record.message] == [
        f"Invalid {header.title()} header: https://evil.example"
    ]


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:1", "127.0.0.1:9", "[::1]:8321", "tools.example", "api:80", "LOCALHOST"]
)
async def test_loopback_and_allowed_hosts_are_accepted(host: str) -> None:
    async with opened(asgi_app(polite(allowed_hosts="tools.example, api:80"))) as client:
        assert (await client.get("/healthz", headers={"host": host})).status_code == 200
        assert (await call(client, "process_id", era="modern", host=host)).status_code == 200


@pytest.mark.parametrize("host", ["api:81", "tools.example.evil", "localhost.evil", ""])
async def test_what_only_looks_like_an_allowed_host_is_refused(host: str) -> None:
    async with opened(asgi_app(polite(allowed_hosts="tools.example, api:80"))) as client:
        assert (await client.get("/status.json", headers={"host": host})).status_code == 421


async def test_a_star_switches_the_host_check_off_in_so_many_words() -> None:
    async with opened(asgi_app(polite(allowed_hosts="*")), host="anything.example") as client:
        assert (await client.get("/healthz")).status_code == 200


def test_the_host_check_stays_on_for_every_address() -> None:
    for host in ("0.0.0.0", "::", ""):
        assert transport_security(host, ()).enable_dns_rebinding_protection is True


def test_the_address_that_is_listened_on_is_accepted() -> None:
    assert "192.0.2.7:*" in transport_security("192.0.2.7", ()).allowed_hosts
    assert "[fe80::1]:*" in transport_security("fe80::1", ()).allowed_hosts


@pytest.mark.parametrize("authorization", [None, "Bearer wrong", "Bearer ", "Basic abc", f"bearer {TOKEN}x", TOKEN])
@pytest.mark.parametrize("route", GUARDED)
async def test_without_the_token_tools_and_metrics_are_refused(route: str, authorization: str | None) -> None:
    headers = {"authorization": authorization} if authorization else {}
    async with opened(asgi_app(polite(auth_token=TOKEN))) as client:
        for era in ERAS:
            if route == "/mcp":
                response = await call(client, "process_id", era=era, **headers)
            else:
                response = await client.get(route, headers=headers)
            assert response.status_code == 401
            assert response.headers["www-authenticate"].startswith("Bearer ")


async def test_with_the_token_both_are_reached_and_the_caller_has_a_name() -> None:
    bearer = {"authorization": f"Bearer {TOKEN}"}
    async with opened(asgi_app(polite(auth_token=TOKEN))) as client:
        assert (await client.get("/metrics", headers=bearer)).status_code == 200
        for era in ERAS:
            result = result_of(await call(client, "facts", era=era, **bearer))
            assert result["structuredContent"]["data"]["principal"] == "token:bearer"


async def test_with_named_tokens_each_caller_has_their_own_name() -> None:
    tool = polite(auth_token=TOKEN, auth_tokens="ada:correct-horse, ben:battery:staple,ada:next-horse")
    holders = {"correct-horse": "ada", "next-horse": "ada", "battery:staple": "ben", TOKEN: "bearer"}
    async with opened(asgi_app(tool)) as client:
        for token, holder in holders.items():
            result = result_of(await call(client, "facts", era=ERAS[0], authorization=f"Bearer {token}"))
            assert result["structuredContent"]["data"]["principal"] == f"token:{holder}"
        for refused in ("ada", "correct-horse,ada", "ben:battery:staple", "staple"):
            response = await call(client, "facts", era=ERAS[0], authorization=f"Bearer {refused}")
            assert response.status_code == 401


@pytest.mark.parametrize(
    "tokens",
    [
        "correct-horse",
        ":correct-horse",
        "ada:short",
        "ada:correct-horse,ben:correct-horse",
        "bearer:correct-horse",  # the principal of FAILSOFT_AUTH_TOKEN
        '{"ada":"correct-horse","ben":"battery-staple"}',
    ],
)
def test_named_tokens_that_say_nothing_clear_are_refused(tokens: str) -> None:
    with pytest.raises(ConfigurationError, match="auth_tokens"):
        Settings(auth_tokens=tokens)


@pytest.mark.parametrize("route", PUBLIC)
async def test_the_other_routes_need_no_token(route: str) -> None:
    async with opened(asgi_app(polite(auth_token=TOKEN))) as client:
        assert (await client.get(route)).status_code == 200


class Scoped:
    """Grants each token the scope that it names."""

    async def verify_token(self, token: str) -> AccessToken:
        return AccessToken(token=token, client_id="c", scopes=[token])


@pytest.mark.parametrize(("scope", "is_shown"), [("tools", True), ("files", False)])
async def test_only_a_token_with_the_required_scopes_is_shown_which_tools_there_are(scope: str, is_shown: bool) -> None:
    facts = {"issuer_url": "https://idp.example", "resource_server_url": "https://me.example/mcp"}
    auth = AuthSettings.model_validate({**facts, "required_scopes": ["tools"], "validate_token_resource": False})
    async with opened(asgi_app(Polite(), token_verifier=Scoped(), auth=auth)) as client:
        bearer = {"authorization": f"Bearer {scope}"}
        assert ("operations" in (await client.get("/status.json", headers=bearer)).json()) == is_shown
        assert (await client.get("/page/catalogue", headers=bearer)).status_code == (200 if is_shown else 401)


async def test_only_holders_of_the_token_are_shown_which_tools_there_are() -> None:
    async with opened(asgi_app(polite(auth_token=TOKEN))) as client:
        bearer = {"authorization": f"Bearer {TOKEN}"}
        assert "operations" not in (await client.get("/status.json")).json()
        assert "process_id" not in (await client.get("/")).text
        assert len((await client.get("/status.json", headers=bearer)).json()["operations"]) > 5
        assert "process_id" in (await client.get("/page/catalogue", headers=bearer)).text


async def test_a_token_beyond_ascii_is_accepted_as_the_bytes_it_is() -> None:
    app = asgi_app(polite(auth_token="schlüssel"))
    async with opened(app) as client:
        bearer = {b"authorization": "Bearer schlüssel".encode()}
        assert (await client.get("/metrics", headers=bearer)).status_code == 200


class Directory:
    """A verifier that knows three people, and breaks on a fourth."""

    async def verify_token(self, token: str) -> AccessToken | None:
        if token == "broken":
            raise OSError(token)
        if token not in {"alice", "bob", "carol"}:
            return None
        scopes = ["tools"] if token == "carol" else []
        return AccessToken(
            token=token,
            client_id="app",
            scopes=scopes,
            subject=token,
            claims={"iss": "https://id.example"},
            resource=RESOURCE,
        )


async def test_a_verifier_of_the_sdk_decides_and_names_the_caller() -> None:
    verifier: TokenVerifier = Directory()
    async with opened(asgi_app(polite(auth_token=TOKEN), token_verifier=verifier)) as client:
        for era in ERAS:
            for name in ("alice", "bob"):
                result = result_of(await call(client, "facts", era=era, authorization=f"Bearer {name}"))
                assert result["structuredContent"]["data"]["principal"] == f"oauth:https://id.example {name}"
            for refused in ("mallory", TOKEN):
                response = await call(client, "facts", era=era, authorization=f"Bearer {refused}")
                assert response.status_code == 401


OAUTH = AuthSettings.model_validate(
    {
        "issuer_url": "https://id.example",
        "resource_server_url": RESOURCE,
        "required_scopes": ["tools"],
        "validate_token_resource": True,
    }
)


@pytest.mark.parametrize("name", ["host", "authorization", "origin"])
async def test_a_request_with_two_headers_that_decide_about_access_is_refused(name: str) -> None:
    async with opened(asgi_app(polite(auth_token=TOKEN))) as client:
        good = {"host": "localhost", "authorization": f"Bearer {TOKEN}", "origin": "http://localhost"}
        headers = [*good.items(), (name, "else")]
        assert (await client.get("/metrics", headers=headers)).status_code == 400
        assert (await client.get("/metrics", headers=good)).status_code == 200


@pytest.mark.parametrize("auth", [None, OAUTH])
async def test_a_verifier_that_raises_refuses_every_request(auth: AuthSettings | None) -> None:
    log = io.StringIO()
    configure_logging("WARNING", json_lines=True, stream=log)
    try:
        async with opened(asgi_app(polite(), token_verifier=Directory(), auth=auth)) as client:
            for _ in range(5):
                assert (await call(client, "facts", era="modern", authorization="Bearer broken")).status_code == 401
    finally:
        logger.remove()
        logger.disable("failsoft")
    said = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(line["event"], line["count"]) for line in said] == [("verifier_failed", 1), ("access_refused", 1)]


@pytest.mark.parametrize(
    "facts",
    [
        {"expires_at": 1},
        {"resource": "https://elsewhere.example/mcp"},
        {"resource": None},
        {"resource": "no address"},
        {"scopes": ["other"]},
    ],
    ids=str,
)
async def test_a_token_that_is_expired_or_made_for_another_server_is_refused(facts: dict[str, Any]) -> None:
    class Issuer:
        async def verify_token(self, token: str) -> AccessToken | None:
            good = {"token": token, "client_id": "app", "scopes": ["tools"], "resource": RESOURCE}
            return AccessToken.model_validate({**good, **facts})

    async with opened(asgi_app(polite(), token_verifier=Issuer(), auth=OAUTH)) as client:
        for era in ERAS:
            response = await call(client, "facts", era=era, authorization="Bearer any")
            assert response.status_code == (403 if "scopes" in facts else 401)
        assert (await client.get("/metrics", headers={"authorization": "Bearer any"})).status_code in {401, 403}


async def test_oauth_settings_ask_for_their_scopes_on_tools_and_metrics_and_say_where_tokens_come_from() -> None:
    async with opened(asgi_app(polite(), token_verifier=Directory(), auth=OAUTH)) as client:
        for name, code in (("nobody", 401), ("alice", 403), ("carol", 200)):
            bearer = {"authorization": f"Bearer {name}"}
            assert (await call(client, "facts", era="modern", **bearer)).status_code == code
            assert (await client.get("/metrics", headers=bearer)).status_code == code
        refused = await call(client, "facts", era="modern")
        assert "resource_metadata=" in refused.headers["www-authenticate"]
        assert (await client.get("/.well-known/oauth-protected-resource/mcp")).status_code == 200


def test_oauth_settings_without_a_verifier_are_refused() -> None:
    with pytest.raises(ConfigurationError):
        asgi_app(polite(), auth=OAUTH)


@pytest.mark.parametrize("era", ERAS)
async def test_a_body_above_the_limit_is_refused_with_413(era: str) -> None:
    async with opened(asgi_app(polite(max_request_bytes=2_000))) as client:
        headers = {**ACCEPT, **(MODERN if era == "modern" else {})}
        declared = await client.post("/mcp", content=b" " * 2_001, headers=headers)
        assert declared.status_code == 413

        async def parts() -> AsyncIterator[bytes]:
            for _ in range(3):
                yield b" " * 1_000

        assert (await client.post("/mcp", content=parts(), headers=headers)).status_code == 413
        assert (await call(client, "process_id", era=era)).status_code == 200


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}',
        b'{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"nothing/here","params":{}}',
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800","arguments":{}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"double","arguments":{"number":1e999}}}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
async def test_malformed_requests_are_answered_and_the_next_one_is_served(body: bytes, era: str) -> None:
    async with opened(asgi_app(polite())) as client:
        headers = {**ACCEPT, **({**MODERN, "mcp-name": "double"} if era == "modern" else {})}
        response = await client.post("/mcp", content=body, headers=headers)
        assert response.status_code < 500 or response.json()["error"]["code"] == -32603
        assert (await call(client, "process_id", era=era)).status_code == 200


async def test_hostile_strings_in_arguments_are_answered() -> None:
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":{"name":"a\\ud800b",'
        b'"\\udfff":1},"_meta":'
        + json.dumps({**ENVELOPE, "progressToken": "X"}).encode().replace(b"X", b"\\ud800")
        + b"}}"
    )
    async with opened(asgi_app(polite())) as client:
        response = await client.post("/mcp", content=body, headers={**ACCEPT, **MODERN, "mcp-name": "find"})
        assert result_of(response)["isError"] is True


async def test_a_progress_token_that_cannot_be_written_costs_the_progress_and_not_the_call() -> None:
    params = json.dumps({"name": "count", "arguments": {"steps": 3}, "_meta": {**ENVELOPE, "progressToken": "X"}})
    body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'.replace('"X"', '"\\ud800"')
    async with opened(asgi_app(polite())) as client:
        response = await client.post("/mcp", content=body, headers={**ACCEPT, **MODERN, "mcp-name": "count"})
        assert result_of(response)["structuredContent"]["data"] == 3


async def test_readiness_follows_the_lifespan_and_health_does_not() -> None:
    app = asgi_app(polite())
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:

        async def codes() -> tuple[int, int]:
            return (await client.get("/healthz")).status_code, (await client.get("/readyz")).status_code

        assert await codes() == (200, 503)
        async with app.router.lifespan_context(app):
            assert await codes() == (200, 200)
            app.state.assembly.lifecycle.drain()
            assert await codes() == (200, 503)
        assert await codes() == (200, 503)


class Fatal(BaseException):
    """What no task group survives."""


async def test_readiness_turns_when_the_session_manager_dies() -> None:
    app = asgi_app(polite())

    async def explode() -> None:
        raise Fatal

    async def ready() -> int:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            assert (await client.get("/healthz")).status_code == 200
            return (await client.get("/readyz")).status_code

    async def live_and_die() -> None:
        async with app.router.lifespan_context(app):
            assert await ready() == 200
            app.state.assembly.server.session_manager._task_group.start_soon(explode)
            await anyio.sleep_forever()

    with pytest.raises(BaseExceptionGroup):
        await live_and_die()
    assert await ready() == 503


@pytest.mark.parametrize("path", ["/mcp", "/", "/status.json"])
async def test_a_server_that_drains_sends_new_requests_elsewhere(path: str) -> None:
    app = asgi_app(polite())
    async with opened(app) as client:
        app.state.assembly.lifecycle.drain()
        answer = await (client.post(path, json={}) if path == "/mcp" else client.get(path))
        assert answer.status_code == 503
        assert (answer.headers["retry-after"], answer.headers["connection"]) == ("5", "close")
        watched = {place: (await client.get(place)).status_code for place in ("/healthz", "/metrics", "/readyz")}
        assert watched == {"/healthz": 200, "/metrics": 200, "/readyz": 503}


async def test_what_is_in_flight_when_a_server_drains_is_answered_on_a_connection_that_closes() -> None:
    tools = polite()
    app = asgi_app(tools)
    params = {"name": "finish_when", "arguments": {"key": "k"}, "_meta": ENVELOPE}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    async with opened(app) as client:
        calling = create_task(client.post("/mcp", json=body, headers={**ACCEPT, **MODERN, "mcp-name": "finish_when"}))
        with anyio.fail_after(30):
            await tools.events["k started"].wait()
        app.state.assembly.lifecycle.drain()
        tools.events["k let go"].set()
        answer = await calling
        assert result_of(answer)["isError"] is False
        assert answer.headers["connection"] == "close"


async def test_status_lists_what_is_served() -> None:
    tools = Polite(runtime=Runtime(settings=Settings(), metrics=PrometheusRecorder()))
    async with opened(asgi_app(tools, name="shop")) as client:
        status = (await client.get("/status.json")).json()
        assert (status["name"], status["phase"]) == ("shop", "ready")
        assert ("polite", "find", True) in [
            (one["tool"], one["operation"], one["read_only"]) for one in status["operations"]
        ]


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("192.0.2.1", False),
        ("example.org", False),
        ("localhost.example.org", False),
    ],
)
def test_loopback_is_what_only_this_machine_reaches(host: str, loopback: Any) -> None:
    assert is_loopback(host) is loopback
    if loopback:
        check_exposure(host, has_token=False, insecure=False)
    else:
        with pytest.raises(ConfigurationError):
            check_exposure(host, has_token=False, insecure=False)
    check_exposure(host, has_token=True, insecure=False)
    check_exposure(host, has_token=False, insecure=True)
