"""The tasks extension: which clients get task handles, what a task says, and who may see it."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any, Literal

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.shared.exceptions import MCPError
from pydantic import SecretStr

from failsoft import BaseTool, CallContext, Conflict, Runtime, Settings, asgi_app, mcp_server, operation
from tests.server.http.test_app import ACCEPT, MODERN, opened

pytestmark = pytest.mark.anyio

TASKS = "io.modelcontextprotocol/tasks"
DECLARED = {"extensions": {TASKS: {}}}
TOKENS = "ada:the secret of ada,bob:the secret of bob"
METHODS = ("tasks/get", "tasks/update", "tasks/cancel")


class Bakery(BaseTool):
    """Bakes, which takes long."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.oven = asyncio.Event()

    @operation(job="required", read_only=True)
    async def bake(self, what: str, call: CallContext, *, waits: bool = False) -> dict[str, str]:
        """Bake something."""
        await call.report_progress(1, 2, f"kneading {what}")
        if what == "stone":
            raise Conflict("Stones do not bake.", effect="none")
        if waits:
            await self.oven.wait()
        return {"baked": what}

    @operation(job=True, read_only=True)
    async def slice(self, what: str) -> dict[str, str]:
        """Slice something, which is quick."""
        return {"sliced": what}


def bakery(**settings: Any) -> Bakery:
    return Bakery(runtime=Runtime(settings=Settings(auth_tokens=SecretStr(TOKENS), **settings)))


@dataclass
class Shop:
    """A bakery over HTTP, as its callers see it."""

    tools: Bakery
    client: httpx2.AsyncClient
    ids: Any = field(default_factory=count)

    async def send(
        self, method: str, params: dict[str, Any], *, of: str = "ada", declared: Any = DECLARED, **headers: str
    ) -> httpx2.Response:
        """Return the response to a request, `of` whom the token says."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": declared,
        }
        body = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": {**params, "_meta": meta}}
        sent = {**ACCEPT, **MODERN, "mcp-method": method, "authorization": f"Bearer the secret of {of}", **headers}
        return await self.client.post("/mcp", content=json.dumps(body), headers=sent)

    async def call(self, tool: str, *, declared: Any = DECLARED, **arguments: Any) -> dict[str, Any]:
        """Return the result of a call."""
        params = {"name": tool, "arguments": arguments}
        response = await self.send("tools/call", params, declared=declared, **{"mcp-name": tool})
        result: dict[str, Any] = response.json()["result"]
        return result

    async def task(self, task_id: str, method: str = "tasks/get", **options: Any) -> dict[str, Any]:
        """Return the result of a method for a task."""
        params = {"taskId": task_id, **({"inputResponses": {}} if method == "tasks/update" else {})}
        response = await self.send(method, params, **{"mcp-name": task_id, **options})
        assert response.status_code == 200, response.text
        result: dict[str, Any] = response.json()["result"]
        return result

    async def error(self, task_id: str, method: str = "tasks/get", **options: Any) -> dict[str, Any]:
        """Return the error of a method for a task."""
        params = {"taskId": task_id, **({"inputResponses": {}} if method == "tasks/update" else {})}
        error: dict[str, Any] = (await self.send(method, params, **options)).json()["error"]
        return error

    async def ended(self, task_id: str) -> dict[str, Any]:
        """Return a task once it has ended."""
        async with asyncio.timeout(20):
            while (task := await self.task(task_id))["status"] == "working":  # noqa: ASYNC110 - as clients do
                await asyncio.sleep(0.01)
        return task


@asynccontextmanager
async def shop(**settings: Any) -> AsyncIterator[Shop]:
    tools = bakery(**settings)
    async with opened(asgi_app(tools)) as client:
        yield Shop(tools, client)


async def test_a_call_becomes_a_task_that_ends_with_the_result_of_the_call() -> None:
    async with shop() as baker:
        handle = await baker.call("bake", what="bread")
        assert handle["resultType"] == "task"
        assert {"content", "structuredContent", "isError", "result"}.isdisjoint(handle)
        task = await baker.ended(handle["taskId"])
        seen = await baker.call("get_job", job_id=handle["taskId"])
    assert (task["resultType"], task["status"], task["taskId"]) == ("complete", "completed", handle["taskId"])
    assert "pollIntervalMs" not in task
    result = task["result"]
    assert result["structuredContent"] == seen["structuredContent"]["data"]["result"]
    assert (result["structuredContent"]["data"], result["isError"]) == ({"baked": "bread"}, False)
    assert result["content"][0]["type"] == "text"


async def test_a_call_that_fails_is_a_completed_task_whose_result_is_an_error() -> None:
    async with shop() as baker:
        handle = await baker.call("bake", what="stone")
        task = await baker.ended(handle["taskId"])
    assert (task["status"], task["result"]["isError"]) == ("completed", True)
    assert task["result"]["_meta"]["dev.failsoft/error"]["code"] == "CONFLICT"
    assert "error" not in task


async def test_times_and_intervals_are_those_that_clients_check() -> None:
    async with shop(job_keep_s=3600) as baker:
        handle = await baker.call("bake", what="bread", waits=True)
        async with asyncio.timeout(20):
            while "statusMessage" not in (task := await baker.task(handle["taskId"])):  # noqa: ASYNC110 - as clients do
                await asyncio.sleep(0.01)
        assert task["statusMessage"] == "kneading bread"
        assert task["status"] == "working"
        assert 500 <= task["pollIntervalMs"] <= 30_000
        baker.tools.oven.set()
        ended = await baker.ended(handle["taskId"])
    every = [handle, task, ended]
    assert len({one["createdAt"] for one in every}) == 1
    changed = [datetime.fromisoformat(one["lastUpdatedAt"]) for one in every]
    assert changed == sorted(changed)
    assert changed[0].tzinfo is not None
    assert datetime.fromisoformat(handle["createdAt"]) <= changed[0]
    assert all(3_600_000 <= one["ttlMs"] < 3_660_000 for one in every)


async def test_what_ends_at_once_is_no_task() -> None:
    async with shop() as baker:
        result = await baker.call("slice", what="bread")
    assert (result["resultType"], result["structuredContent"]["data"]) == ("complete", {"sliced": "bread"})


@pytest.mark.parametrize(
    "declared", [{}, {"extensions": {}}, {"extensions": {"com.example/tasks": {}}}, {"experimental": {}}]
)
async def test_every_request_says_anew_whether_its_client_knows_tasks(declared: Any) -> None:
    async with shop() as baker:
        handle = await baker.call("bake", what="bread")
        other = await baker.call("bake", what="cake", declared=declared)
        assert (other["resultType"], other["isError"]) == ("complete", False)
        assert other["structuredContent"]["data"]["state"] == "working"
        for method in METHODS:
            error = await baker.error(handle["taskId"], method, declared=declared)
            assert error["code"] == -32021
            assert error["data"] == {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        assert (await baker.ended(handle["taskId"]))["status"] == "completed"


@pytest.mark.parametrize("method", METHODS)
async def test_what_is_not_ones_own_is_not_there(method: str) -> None:
    async with shop() as baker:
        task_id = (await baker.call("bake", what="bread", waits=True))["taskId"]
        last = "0" if task_id[-1] != "0" else "1"
        foreign = await baker.error(task_id, method, of="bob")
        others = [await baker.error(other, method) for other in ("x", f"{task_id[:-1]}{last}", "\u2603", "a" * 5_000)]
        assert foreign["code"] == -32602
        assert all(other == foreign for other in others)
        assert {(await baker.error(odd, method))["code"] for odd in ("", "\ud800")} == {-32602}
        assert (await baker.task(task_id))["status"] == "working"


async def test_an_expired_task_is_not_there() -> None:
    async with shop(job_keep_s=0.05) as baker:
        task_id = (await baker.call("bake", what="bread"))["taskId"]
        async with asyncio.timeout(20):
            while "error" not in (seen := (await baker.send("tasks/get", {"taskId": task_id})).json()):  # noqa: ASYNC110 - a store forgets
                await asyncio.sleep(0.02)
        assert seen["error"] == await baker.error("x")


async def test_a_header_that_names_another_task_is_refused_and_a_missing_one_is_not() -> None:
    async with shop() as baker:
        task_id = (await baker.call("bake", what="bread", waits=True))["taskId"]
        for method in METHODS[:2]:
            response = await baker.send(method, {"taskId": task_id, "inputResponses": {}}, **{"mcp-name": "another"})
            assert (response.status_code, response.json()["error"]["code"]) == (400, -32020)
        encoded = f"=?base64?{base64.b64encode(task_id.encode()).decode()}?="
        for headers in ({"mcp-name": task_id}, {"mcp-name": encoded}, {}):
            assert "result" in (await baker.send("tasks/get", {"taskId": task_id}, **headers)).json()


async def test_a_task_is_cancelled_and_one_that_has_ended_stays_as_it_is() -> None:
    async with shop() as baker:
        task_id = (await baker.call("bake", what="bread", waits=True))["taskId"]
        acknowledged = await baker.task(task_id, "tasks/cancel")
        assert acknowledged.keys() == {"resultType", "_meta"}
        task = await baker.ended(task_id)
        assert (task["status"], "result" in task) == ("cancelled", False)
        done = (await baker.call("bake", what="cake"))["taskId"]
        before = await baker.ended(done)
        await baker.task(done, "tasks/cancel")
        assert (await baker.task(done))["status"] == before["status"] == "completed"


async def test_answers_that_nobody_asked_for_are_acknowledged_and_ignored() -> None:
    async with shop() as baker:
        task_id = (await baker.call("bake", what="bread", waits=True))["taskId"]
        sent = {"taskId": task_id, "inputResponses": {"question": {"action": "accept", "content": {"confirm": True}}}}
        result = (await baker.send("tasks/update", sent)).json()["result"]
        assert (result["resultType"], "taskId" in result) == ("complete", False)
        assert (await baker.task(task_id))["status"] == "working"


class Task(types.Result):
    """A task handle, as a client of the SDK claims it."""

    result_type: Literal["task"]
    task_id: str
    ttl_ms: int


class State(types.Result):
    """A task as `tasks/get` returns it."""

    status: str
    result: types.CallToolResult | None = None


class TaskParams(types.RequestParams):
    task_id: str


class GetTask(types.Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"


class Waiting(ClientExtension):
    """Polls tasks until they have ended."""

    identifier = TASKS

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Task, resolve=self.resolve)]

    async def resolve(self, task: Task, ctx: ClaimContext) -> types.CallToolResult:
        while True:
            state = await ctx.session.send_request(GetTask(params=TaskParams(task_id=task.task_id)), State)
            if state.result is not None:
                return state.result
            await asyncio.sleep(0.01)


async def test_a_client_of_the_sdk_waits_through_its_claim() -> None:
    async with Client(mcp_server(Bakery), mode="auto", extensions=[Waiting()]) as client:
        assert client.server_capabilities.extensions == {TASKS: {}}
        good, bad = [await client.call_tool("bake", {"what": what}) for what in ("bread", "stone")]
    assert (good.is_error, bad.is_error) == (False, True)
    assert (good.structured_content or {})["data"] == {"baked": "bread"}


async def test_a_client_of_an_older_version_gets_the_handle_of_the_job() -> None:
    async with Client(mcp_server(Bakery), mode="legacy", extensions=[Waiting()]) as client:
        result = await client.call_tool("bake", {"what": "bread"})
        assert (result.structured_content or {})["data"]["state"] == "working"
        with pytest.raises(MCPError) as refused:
            await client.session.send_request(GetTask(params=TaskParams(task_id="x")), types.EmptyResult)
    assert refused.value.code == -32021


async def test_a_server_without_jobs_does_not_declare_the_extension() -> None:
    class Plain(BaseTool):
        @operation(read_only=True)
        async def look(self) -> str:
            """Look."""
            return "seen"

    async with Client(mcp_server(Plain), mode="auto", extensions=[Waiting()]) as client:
        assert not client.server_capabilities.extensions
        with pytest.raises(MCPError) as refused:
            await client.session.send_request(GetTask(params=TaskParams(task_id="x")), types.EmptyResult)
    assert refused.value.code == -32601
