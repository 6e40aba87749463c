"""What comes back with an answer is good for one call, of one principal, at one server, and once."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from failsoft import Runtime, Settings, asgi_app
from tests.programs.redis import RedisServer, RunningRedis
from tests.server.asked_tools import Asked
from tests.server.http.test_app import ACCEPT, MODERN, opened, result_of

pytestmark = pytest.mark.anyio

TOKENS = "ada:the secret of ada,bob:the secret of bob"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}
AGREED = {"question": {"action": "accept", "content": {"confirm": True}}}
KEY = "k" * 32


@dataclass
class Replica:
    """A server in this process, as its callers see it."""

    tools: Asked
    client: httpx2.AsyncClient
    seal: Any
    ids: list[int] = field(default_factory=list)

    async def buy(self, what: str = "tea", *, of: str = "ada", tool: str = "buy", **params: Any) -> dict[str, Any]:
        """Return the result of a call, `of` whom the token says."""
        params = {"name": tool, "arguments": {"what": what}, "_meta": ENVELOPE, **params}
        self.ids.append(len(self.ids))
        body = {"jsonrpc": "2.0", "id": len(self.ids), "method": "tools/call", "params": params}
        headers = {**ACCEPT, **MODERN, "mcp-name": tool, "authorization": f"Bearer the secret of {of}"}
        return result_of(await self.client.post("/mcp", json=body, headers=headers))

    async def asked(self, **call: Any) -> str:
        """Return the state that a call is asked with."""
        result = await self.buy(**call)
        assert result["resultType"] == "input_required", result
        return str(result["requestState"])

    async def refusal(self, state: str | None, answers: Any = AGREED, **call: Any) -> str:
        """Return why a call with a state is refused, after a look that nothing was done and how it goes on."""
        before = list(self.tools.bought)
        brought = {"requestState": state, "inputResponses": answers}
        result = await self.buy(**call, **{name: value for name, value in brought.items() if value is not None})
        error = result["structuredContent"]["error"]
        assert (error["code"], error["effect"], self.tools.bought) == ("PRECONDITION_FAILED", "none", before), error
        assert "call `buy` again without it" in error["message"]
        return str(error["message"]).partition("refused: ")[2].partition(".")[0]

    async def agree(self, state: str, **call: Any) -> list[str]:
        """Return what was bought after an answer that agrees."""
        result = await self.buy(requestState=state, inputResponses=AGREED, **call)
        assert result["isError"] is False, result
        return self.tools.bought


@asynccontextmanager
async def replica(name: str = "shop", **settings: Any) -> AsyncIterator[Replica]:
    tools = Asked(runtime=Runtime(settings=Settings(auth_tokens=SecretStr(TOKENS), **settings)))
    app = asgi_app(tools, name=name)
    async with opened(app) as client:
        yield Replica(tools, client, app.state.assembly.asking.seal)


async def test_the_question_is_the_result_and_says_no_more_than_what_is_asked() -> None:
    async with replica() as shop:
        result = await shop.buy()
    question = result["inputRequests"]["question"]
    assert (question["method"], question["params"]["mode"]) == ("elicitation/create", "form")
    assert list(question["params"]["requestedSchema"]["properties"]) == ["confirm"]
    assert "tea" not in result["requestState"]
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "shop"


async def test_a_state_is_spent_by_the_call_that_it_was_made_for_and_by_no_refused_one() -> None:
    async with replica() as shop:
        state = await shop.asked()
        assert await shop.refusal(state, of="bob") == "it was issued to another caller"
        assert await shop.refusal(state, what="coffee") == "it was issued for another call"
        assert await shop.refusal(state, answers=None) == "the answer is missing"
        assert await shop.refusal(state, answers={"other": AGREED["question"]}) == "the answer is missing"
        assert await shop.refusal(state, answers={"question": {"roots": []}}) == "the answer is missing"
        assert await shop.refusal(state[:-2] + "AA") == "this server has not issued it"
        assert await shop.agree(state) == ["tea"]
        assert await shop.refusal(state) == "it was used before"


@pytest.mark.parametrize("state", [None, "", "v1.", "v1.AAAA", "x" * 10_000, "\N{SNOWMAN}", "ask.1"])
async def test_a_state_or_an_answer_that_is_made_up_is_no_consent(state: str | None) -> None:
    async with replica() as shop:
        expected = "it answers no question" if state is None else "this server has not issued it"
        assert await shop.refusal(state) == expected


async def test_a_state_for_a_tool_that_asks_nothing_is_refused() -> None:
    async with replica() as shop:
        params = {"name": "count", "arguments": {}, "requestState": "v1.x", "inputResponses": AGREED}
        result = await shop.buy(tool="count", **params)
    assert result["structuredContent"]["error"]["code"] == "PRECONDITION_FAILED"


async def test_two_requests_with_one_state_at_once_do_the_work_once() -> None:
    async with replica() as shop:
        state = await shop.asked()
        calls = (shop.buy(requestState=state, inputResponses=AGREED) for _ in range(8))
        results = await asyncio.gather(*calls)
        assert sorted(result["isError"] for result in results) == [False] + [True] * 7
        assert shop.tools.bought == ["tea"]


async def test_a_state_that_is_too_late_is_an_answer_that_did_not_come() -> None:
    async with replica(ask_timeout_s=10) as shop:
        state = await shop.asked()
        shop.seal.clock = lambda: time.time() + 11
        result = await shop.buy(requestState=state, inputResponses=AGREED)
        assert "No person answered" in result["structuredContent"]["error"]["message"]
        assert await shop.refusal(state, of="bob") == "it was issued to another caller"
        assert shop.tools.bought == []


@pytest.mark.parametrize(("behind_s", "expected"), [(0, None), (30, None), (61, "it is from the future")])
async def test_clocks_of_replicas_may_differ_by_a_minute(behind_s: float, expected: str | None) -> None:
    async with replica(ask_key=SecretStr(KEY)) as one, replica(ask_key=SecretStr(KEY)) as other:
        state = await one.asked()
        other.seal.clock = lambda: time.time() - behind_s
        if expected is None:
            assert await other.agree(state) == ["tea"]
        else:
            assert await other.refusal(state) == expected


async def test_keys_rotate_and_another_server_with_the_same_key_refuses() -> None:
    rotated = SecretStr(f"{'n' * 32},{KEY}")
    async with (
        replica(ask_key=SecretStr(KEY)) as old,
        replica(ask_key=rotated) as new,
        replica("bank", ask_key=SecretStr(KEY)) as foreign,
    ):
        state = await old.asked()
        assert await foreign.refusal(state) == "this server has not issued it"
        assert await new.agree(state) == ["tea"]
        assert await old.refusal(await new.asked()) == "this server has not issued it"


@pytest.mark.parametrize("store", ["sqlite", "redis"])
async def test_replicas_share_a_key_and_what_is_spent(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:{tmp_path}/state.db"
    if store == "redis":
        server: RunningRedis = request.getfixturevalue("redis_server")
        url = server.url
    async with replica(state_url=SecretStr(url)) as one, replica(state_url=SecretStr(url)) as other:
        state = await one.asked()
        results = await asyncio.gather(
            *(shop.buy(requestState=state, inputResponses=AGREED) for shop in (one, other) * 3)
        )
        assert [result["isError"] for result in results].count(False) == 1
        assert one.tools.bought + other.tools.bought == ["tea"]


async def test_a_store_that_is_lost_lets_nothing_be_spent(own_redis: RedisServer) -> None:
    async with replica(state_url=SecretStr(own_redis.url)) as shop:
        state = await shop.asked()
        own_redis.kill()
        result = await shop.buy(requestState=state, inputResponses=AGREED)
        error = result["structuredContent"]["error"]
        assert (error["code"], error["effect"], shop.tools.bought) == ("STATE_UNAVAILABLE", "none", [])
        own_redis.start()
    async with replica(state_url=SecretStr(own_redis.url)) as shop:
        own_redis.kill()
        error = (await shop.buy())["structuredContent"]["error"]
        assert (error["code"], error["effect"]) == ("STATE_UNAVAILABLE", "none")


async def test_ten_thousand_open_questions_take_no_memory() -> None:
    async with replica() as shop:
        seal = shop.seal
        await shop.asked()
        tracemalloc.start()
        try:
            for number in range(10_000):
                await seal.make("state", "token:ada", 60.0, once=str(number))
            kept_bytes = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        assert kept_bytes < 100_000
        assert [record.key for record in await seal.records.find("")] == ["seal:key"]
