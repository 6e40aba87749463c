"""Questions of upstreams, passed on over HTTP to clients of both eras; what an upstream seals is sealed again."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.client import Client

from failsoft import Settings
from tests.doors import (
    ConnectionLimits,
    Overrides,
    ProxySource,
    assemble_proxy,
    bound_socket,
    build_app,
    from_command,
    serving_beside,
)
from tests.proxy.test_questions import QUESTION, SERVER, Person, told, upstream
from tests.server.http.test_app import ACCEPT, MODERN, opened, result_of
from tests.server.protocol.test_request_state import ENVELOPE
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio
INPUT = [PYTHON, str(SERVER.with_name("input_server.py"))]
MONDAY = {"question": {"action": "accept", "content": {"day": "Monday"}}}


def proxy_app(command: list[str]) -> Any:
    source = ProxySource((from_command(command, name="calendar"),), Overrides())
    return build_app(assemble_proxy(source), host="127.0.0.1")


@asynccontextmanager
async def connected(command: list[str], mode: str, **callbacks: Any) -> AsyncIterator[Client]:
    """Yield a client of a proxy in this process, over HTTP."""
    with bound_socket("127.0.0.1", 0) as listener:
        listener.listen()
        async with serving_beside(proxy_app(command), listener, limits=ConnectionLimits.from_settings(Settings())):
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
            async with Client(url, mode=mode, cache=None, **callbacks) as client:
                yield client


async def book(client: httpx2.AsyncClient, field: str = "day", **params: Any) -> dict[str, Any]:
    """Return the result of a call that the upstream asks about."""
    params = {"name": "book", "arguments": {"field": field}, "_meta": ENVELOPE, **params}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return result_of(await client.post("/mcp", json=body, headers={**ACCEPT, **MODERN, "mcp-name": "book"}))


async def test_the_state_of_an_upstream_is_sealed_and_good_for_one_call_with_the_same_arguments() -> None:
    async with opened(proxy_app(INPUT)) as client:
        asked = await book(client)
        (form,) = asked["inputRequests"].values()
        assert form["params"]["message"].startswith('The server "calendar" asks')
        state = asked["requestState"]
        assert "of this server" not in state
        for odd in ({"requestState": "of this server"}, {"requestState": state, "field": "hour"}):
            refused = await book(client, **{"inputResponses": MONDAY, **odd})  # type: ignore[arg-type]
            assert refused["structuredContent"]["error"]["code"] == "PRECONDITION_FAILED"
        done = await book(client, requestState=state, inputResponses=MONDAY)
        assert done["content"][0]["text"] == "Monday"
        again = await book(client, requestState=state, inputResponses=MONDAY)
        assert re.search("used before", again["structuredContent"]["error"]["message"])


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_question_of_a_result_reaches_the_person_over_http(mode: str) -> None:
    person = Person(day="Monday")
    async with connected(INPUT, mode, elicitation_callback=person) as client:
        assert (await client.call_tool("book", {"field": "day"})).content[0].text == "Monday"
        assert len(person.shown) == 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_question_of_an_older_upstream_reaches_the_person_over_http(tmp_path: Path, mode: str) -> None:
    person = Person(day="Monday")
    async with connected(upstream(tmp_path / "f"), mode, elicitation_callback=person) as client:
        for _ in range(2):
            assert await told(client, "ask", dict(QUESTION)) == {"action": "accept", "content": {"day": "Monday"}}
        person.result = types.ElicitResult(action="decline")
        assert (await told(client, "ask", dict(QUESTION)))["action"] == "decline"
    assert len(person.shown) == 3


async def test_an_answer_that_finds_no_older_upstream_waiting_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAILSOFT_ASK_KEY", "k" * 32)

    async def call(client: httpx2.AsyncClient, **params: Any) -> dict[str, Any]:
        params = {"name": "ask", "arguments": dict(QUESTION), "_meta": ENVELOPE, **params}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return result_of(await client.post("/mcp", json=body, headers={**ACCEPT, **MODERN, "mcp-name": "ask"}))

    apps = [proxy_app(upstream(tmp_path / "f")) for _ in range(2)]  # of one key, as replicas are
    async with opened(apps[0]) as one, opened(apps[1]) as other:
        state = (await call(one))["requestState"]
        refused = (await call(other, requestState=state, inputResponses=MONDAY))["structuredContent"]["error"]
    assert (refused["code"], refused["effect"]) == ("UNAVAILABLE", "unknown")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("command", ["older", "newer"])
async def test_a_client_that_cannot_be_asked_gets_a_typed_failure(tmp_path: Path, mode: str, command: str) -> None:
    older = command == "older"
    async with connected(upstream(tmp_path / "f") if older else INPUT, mode) as client:
        result = await client.call_tool(*(("ask", dict(QUESTION)) if older else ("book", {"field": "day"})))
    if older:  # that server answers with the refusal that it got
        assert "-32601" in result.content[0].text
    else:
        assert result.structured_content["error"]["code"] == "UNSUPPORTED"
