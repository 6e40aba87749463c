"""Questions to clients of older versions over HTTP: who is asked, and whose answer counts, at which process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette

from failsoft import Runtime, Settings, asgi_app
from tests.doors import seam_module
from tests.server.asked_tools import Asked
from tests.server.http.test_app import ACCEPT
from tests.server.served_tools import Polite

pytestmark = pytest.mark.anyio

TOKENS = "ada:the secret of ada,bob:the secret of bob"
FORMS = {"elicitation": {}}
AGREED = {"action": "accept", "content": {"confirm": True}}
WITHIN_S = 30


class Post:
    """A request of a principal to an app, whose response is read message by message."""

    def __init__(self, app: Starlette, tree: Any, *, of: str = "ada", session: str | None = None, method: str = "POST"):
        self._app = app
        self._body = json.dumps(tree).encode()
        self._method = method
        headers = {**ACCEPT, "mcp-protocol-version": "2025-11-25", "host": "127.0.0.1:8321"}
        headers |= {"authorization": f"Bearer the secret of {of}"}
        headers |= {} if session is None else {"mcp-session-id": session}
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._is_read = False
        self._is_left = asyncio.Event()
        self._arrived: asyncio.Queue[Any] = asyncio.Queue()
        self.status = 0
        self.headers: dict[bytes, bytes] = {}

    async def _receive(self) -> dict[str, Any]:
        if not self._is_read:
            self._is_read = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._is_left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
        for part in message.get("body", b"").split(b"data: ")[1:]:
            self._arrived.put_nowait(json.loads(part.partition(b"\r\n")[0]))

    def leave(self) -> None:
        """Close the connection."""
        self._is_left.set()

    async def next(self) -> Any:
        """Return the next message of the response."""
        return await self._arrived.get()

    async def run(self) -> int:
        """Send it; return the status once the response has ended."""
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self._method,
            "scheme": "http",
            "path": "/mcp",
            "raw_path": b"/mcp",
            "query_string": b"",
            "root_path": "",
            "headers": self._headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8321),
        }
        await self._app(scope, self._receive, self._send)
        return self.status


class Worker:
    """A process that serves, in this one."""

    def __init__(self, tools: Asked, app: Starlette) -> None:
        self.tools = tools
        self.app = app

    async def session(self, capabilities: Any = FORMS, *, of: str = "ada") -> str | None:
        """Return the id of the session that a client opens."""
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client}
        post = Post(self.app, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, of=of)
        assert await post.run() == 200
        found = post.headers.get(b"mcp-session-id")
        return None if found is None else found.decode()

    def call(self, session: str | None, *, of: str = "ada") -> Post:
        """Return a call that asks, not sent yet."""
        params = {"name": "buy", "arguments": {"what": "tea"}}
        tree = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        return Post(self.app, tree, of=of, session=session)

    async def answer(self, question: Any, session: str | None, *, of: str = "ada", result: Any = AGREED) -> None:
        """Post an answer; each is accepted, whether or not it counts."""
        tree = {"jsonrpc": "2.0", "id": question, "result": result}
        assert await Post(self.app, tree, of=of, session=session).run() == 202


@asynccontextmanager
async def worker(*, within_s: float = WITHIN_S, **settings: Any) -> AsyncIterator[Worker]:
    tools = Asked(runtime=Runtime(settings=Settings(auth_tokens=SecretStr(TOKENS), **settings)))
    app = asgi_app(tools, name="shop")
    with anyio.fail_after(within_s):
        async with app.router.lifespan_context(app):
            yield Worker(tools, app)


@asynccontextmanager
async def asked(one: Worker, session: str | None) -> AsyncIterator[tuple[Post, asyncio.Task[int], Any]]:
    """Begin a call, and wait for its question."""
    call = one.call(session)
    running = asyncio.create_task(call.run())
    question = await call.next()
    assert question["method"] == "elicitation/create"
    assert "tea" in question["params"]["message"]
    try:
        yield call, running, question["id"]
    finally:
        running.cancel()
        await asyncio.wait([running])


@pytest.mark.parametrize(
    ("capabilities", "is_opened"),
    [
        ({}, False),
        ({"sampling": {}}, False),
        ({"elicitation": {}}, True),
        ({"elicitation": {"form": {}}}, True),
        ({"elicitation": {"url": {}}}, False),
        ({"elicitation": {"url": {}, "form": {}}}, True),
    ],
)
async def test_only_a_client_that_shows_forms_gets_a_session(capabilities: Any, *, is_opened: bool) -> None:
    async with worker() as one:
        assert (await one.session(capabilities) is not None) is is_opened


async def test_no_session_is_opened_where_no_tool_asks() -> None:
    app = asgi_app(Polite(runtime=Runtime(settings=Settings(auth_tokens=SecretStr(TOKENS)))))
    async with app.router.lifespan_context(app):
        assert await Worker(Asked(), app).session() is None


async def test_no_session_is_opened_where_the_sdk_answers_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seam_module, "_found", ["it answers otherwise"])
    async with worker() as one:
        assert await one.session() is None


async def test_a_session_is_of_its_principal_and_server_and_nothing_else_is_one() -> None:
    async with worker() as one, worker() as other:
        for session in (
            None,
            "made-up",
            "v1.AAAA",
            await one.session(of="bob"),
            await other.session(),  # which has a key of its own
        ):
            call = one.call(session)
            assert await call.run() == 200
            assert "no person can be asked" in (await call.next())["result"]["structuredContent"]["error"]["message"]
        assert one.tools.bought == []


async def test_a_session_has_no_stream_of_its_own() -> None:
    async with worker() as one:
        get = Post(one.app, {}, session=await one.session(), method="GET")
        assert await get.run() == 405


async def test_only_the_caller_answers_its_question_and_once() -> None:
    async with worker() as one:
        session = await one.session()
        async with asked(one, session) as (call, running, question):
            await one.answer("ask.made-up", session)
            await one.answer(f"{question}x", session)
            await one.answer(question, await one.session(of="bob"), of="bob")
            assert one.tools.bought == []
            await one.answer(question, session, result={"action": "accept", "content": {"confirm": True}})
            assert (await call.next())["result"]["structuredContent"]["data"] == "tea"
            assert await running == 200
            await one.answer(question, session)
        assert one.tools.bought == ["tea"]


async def test_an_answer_finds_the_process_that_waits_for_it(tmp_path: Path) -> None:
    url = SecretStr(f"sqlite:{tmp_path}/state.db")
    async with worker(state_url=url) as one, worker(state_url=url) as other:
        session = await other.session()
        async with asked(one, session) as (call, running, question):
            await other.answer(question, await other.session(of="bob"), of="bob")
            await other.answer(question, session)
            await other.answer(question, session, result={"action": "decline"})
            assert (await call.next())["result"]["structuredContent"]["data"] == "tea"
            assert await running == 200
        assert (one.tools.bought, other.tools.bought) == (["tea"], [])


async def test_a_client_that_leaves_is_not_waited_for() -> None:
    async with worker() as one:
        async with asked(one, await one.session()) as (call, running, _):
            call.leave()
            await running
        assert one.app.state.assembly.lifecycle.in_flight == 0
        assert one.tools.bought == []


async def test_a_question_without_an_answer_is_taken_back(tmp_path: Path) -> None:
    async with worker(ask_timeout_s=0.1, state_url=SecretStr(f"sqlite:{tmp_path}/state.db")) as one:
        session = await one.session()
        async with asked(one, session) as (call, running, question):
            notice = await call.next()
            assert (notice["method"], notice["params"]["requestId"]) == ("notifications/cancelled", question)
            assert "No person answered" in (await call.next())["result"]["structuredContent"]["error"]["message"]
            await running
            await one.answer(question, session)
        assert one.tools.bought == []


async def test_a_server_that_drains_gives_a_person_no_longer_than_a_call() -> None:
    async with worker() as one, asked(one, await one.session()) as (call, running, question):
        lifecycle = one.app.state.assembly.lifecycle
        lifecycle.drain()
        await lifecycle.finish(0.05)
        notice = await call.next()
        assert (notice["method"], notice["params"]["requestId"]) == ("notifications/cancelled", question)
        error = (await call.next())["result"]["structuredContent"]["error"]
        assert (error["code"], error["effect"]) == ("UNAVAILABLE", "none")
        assert await running == 200
        assert one.tools.bought == []


@pytest.mark.parametrize(
    "result", [None, "accept", {}, {"action": "maybe"}, {"action": "accept", "content": "x" * 70_000}, [AGREED]]
)
async def test_an_answer_in_no_form_of_the_protocol_is_none(result: Any) -> None:
    async with worker() as one:
        session = await one.session()
        async with asked(one, session) as (call, _, question):
            await one.answer(question, session, result=result)
            messages = [await call.next()]
            while "result" not in messages[-1]:
                messages.append(await call.next())
            error = messages[-1]["result"]["structuredContent"]["error"]
            assert (error["code"], error["effect"]) == ("APPROVAL_REQUIRED", "none")
        assert one.tools.bought == []
