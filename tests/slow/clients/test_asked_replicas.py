"""Questions over HTTP at two workers, and at two replicas with a Redis between them; and thousands of conversations."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.programs.redis import RedisServer
from tests.server.http.test_backchannel import Worker, asked, worker
from tests.server.processes import Served
from tests.server.protocol.test_request_state import Replica, replica

pytestmark = pytest.mark.anyio
CALLS = 30
CONVERSATIONS = 1_000
CONTENTS: list[Any] = [{"confirm": True}, {"confirm": False}, {"confirm": "true"}, {"confirm": 1}, {}, None]
ACTIONS = ["accept", "accept", "accept", "decline", "cancel"]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


class Balanced(httpx2.AsyncHTTPTransport):
    """Sends each request to the next of several servers."""

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self._ports = itertools.cycle(httpx2.URL(url).port for url in urls)
        self.sent: Counter[int | None] = Counter()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        port = next(self._ports)
        self.sent[port] += 1
        request.url = request.url.copy_with(port=port)
        return await super().handle_async_request(request)


async def all_are_answered(urls: list[str], mode: str) -> None:
    """Make calls at once whose answers come to any server, every second of them with consent."""
    count = itertools.count()

    async def person(_ctx: Any, _params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"confirm": next(count) % 2 == 0})

    transport = Balanced(urls)
    async with (
        httpx2.AsyncClient(transport=transport, timeout=60) as http,
        Client(
            streamable_http_client(f"{urls[0]}/mcp", http_client=http), mode=mode, elicitation_callback=person
        ) as client,
    ):
        results = await asyncio.gather(*(client.call_tool("buy", {"what": str(number)}) for number in range(CALLS)))
    codes = Counter((result.structured_content or {}).get("error", {}).get("code") for result in results)
    assert codes == {None: CALLS // 2, "APPROVAL_REQUIRED": CALLS // 2}
    assert len(transport.sent) == len(urls)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_an_answer_to_any_worker_or_replica_finds_its_call(mode: str, tmp_path: Path) -> None:
    redis = RedisServer()
    servers = [
        Served("http", "tools=asked", "workers=2", FAILSOFT_STATE_URL=f"sqlite:{tmp_path}/state.db"),
        *(Served("http", "tools=asked", FAILSOFT_STATE_URL=redis.url) for _ in range(2)),
    ]
    try:
        workers, *replicas = [server.wait_for("ready") for server in servers]
        await all_are_answered([workers], mode)
        await all_are_answered(replicas, mode)
    finally:
        for server in servers:
            server.close()
        redis.close()


class Conversation:
    """What a caller makes of questions, sound and unsound, and what may be bought by that."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a conversation that can be repeated

    def answer(self) -> dict[str, Any]:
        content = self.random.choice(CONTENTS)
        return {"action": self.random.choice(ACTIONS), **({} if content is None else {"content": content})}

    async def modern(self, shop: Replica) -> None:
        """Take up to three questions, and send several answers to each of them."""
        states = [
            (await shop.asked(what=what), what) for what in self.random.choices("ab", k=self.random.randint(1, 3))
        ]
        spent: set[str] = set()
        for _ in range(self.random.randint(1, 5)):
            state, what = self.random.choice(states)
            of, sent_what = self.random.choice(["ada", "ada", "bob"]), self.random.choice([what, what, "c"])
            sent = self.random.choice([state, state, state[:-1], f"{state}A", "v1.x"])
            answer = self.answer()
            is_sound = (of, sent_what, sent) == ("ada", what, state) and state not in spent
            before = len(shop.tools.bought)
            await shop.buy(what=sent_what, of=of, requestState=sent, inputResponses={"question": answer})
            has_consent = answer["action"] == "accept" and answer.get("content") == {"confirm": True}
            has_consent = has_consent and type(answer["content"]["confirm"]) is bool
            assert len(shop.tools.bought) - before == int(is_sound and has_consent)
            if is_sound:
                spent.add(state)

    async def legacy(self, one: Worker, sessions: dict[str, str | None]) -> None:
        """Post several answers to a question; the first one of the caller counts."""
        before = len(one.tools.bought)
        expected = None
        async with asked(one, sessions["ada"]) as (call, running, question):
            while expected is None:
                of, sent = self.random.choice(["ada", "bob"]), self.random.choice([question, f"{question}x", "ask.1"])
                answer = self.answer()
                await one.answer(sent, sessions[of], of=of, result=answer)
                if (of, sent) == ("ada", question):
                    content = answer.get("content") or {}
                    expected = int(answer["action"] == "accept" and content.get("confirm") is True)
            while "result" not in await call.next():
                pass
            await running
        assert len(one.tools.bought) - before == expected


async def test_nothing_is_done_without_consent_in_thousands_of_conversations() -> None:
    async with replica() as shop:
        for seed in range(CONVERSATIONS):
            await Conversation(seed).modern(shop)
        assert shop.tools.bought


async def test_nothing_is_done_without_consent_in_thousands_of_conversations_over_streams() -> None:
    async with worker(within_s=300) as one:
        sessions = {name: await one.session(of=name) for name in ("ada", "bob")}
        for seed in range(CONVERSATIONS):
            await Conversation(seed).legacy(one, sessions)
        assert one.tools.bought
