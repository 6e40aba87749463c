"""What leaves `async with Client(...)`, and what the client says of a server that has gone."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import failsoft
from failsoft import BaseTool, operation
from failsoft.client import Client
from tests.proxy.test_foreign_lists import GOOD, command
from tests.proxy.test_http_upstream import website

pytestmark = pytest.mark.anyio
HOSTILE = Path(__file__).with_name("hostile_server.py")


class Docs(BaseTool):
    """Pages."""

    @operation(read_only=True)
    async def get_page(self, path: str) -> str:
        """Return a page."""
        raise failsoft.DocumentNotFound(path=path)


async def failed(target: Any, name: str, arguments: dict[str, Any], *, of_our_own: bool = False) -> BaseException:
    """Return what leaves the block of a client whose call, or whose caller, fails."""
    try:
        async with Client(target) as client:
            if of_our_own:
                {}["mine"]
            await client.call(name, arguments)
    except BaseException as error:  # noqa: BLE001 - what kind it is, is the question
        return error
    pytest.fail("the call did not fail")


def stdio(folder: Path) -> list[str]:
    return command(folder, [GOOD], good={"content": [{"type": "text", "text": "no"}], "isError": True})


@pytest.mark.parametrize("transport", ["in process", "stdio", "HTTP", "an error of the caller's own"])
async def test_an_error_that_leaves_the_block_of_a_client_stays_as_it_is(tmp_path, transport):
    if transport == "in process":
        error, kind = await failed(Docs, "get_page", {"path": "a.md"}), failsoft.DocumentNotFound
    elif transport == "stdio":
        error, kind = await failed(stdio(tmp_path), "good", {}), failsoft.ReportedFailure
    elif transport == "HTTP":
        with website() as url:
            error, kind = await failed(url, "fails", {}), failsoft.ToolError
    else:
        error, kind = await failed(Docs, "get_page", {}, of_our_own=True), KeyError
    assert isinstance(error, kind)


async def test_a_server_that_died_is_not_said_to_be_started_again():
    async with Client([sys.executable, str(HOSTILE), "die"]) as client:
        with pytest.raises(failsoft.Unavailable) as lost:
            await client.call("work", timeout_s=30)
    assert "started again" not in lost.value.message
    assert (lost.value.effect, lost.value.retry) == ("unknown", "never")


async def test_a_call_after_the_death_of_the_server_says_that_the_connection_is_lost():
    async with Client([sys.executable, str(HOSTILE), "die"]) as client:
        with pytest.raises(failsoft.Unavailable):
            await client.call("work", timeout_s=30)
        for again in (client.call("work"), client.tools()):
            with pytest.raises(failsoft.Unavailable) as lost:
                await again
            assert "is lost" in lost.value.message
            assert (lost.value.effect, lost.value.retry) == ("none", "never")


async def test_a_limit_around_the_block_ends_it_with_the_error_of_that_limit(tmp_path):
    async def stay() -> None:
        async with asyncio.timeout(None) as limit, Client(stdio(tmp_path)):
            limit.reschedule(0)
            await asyncio.sleep(60)

    with pytest.raises(TimeoutError) as late:
        await stay()
    assert type(late.value) is TimeoutError


async def test_a_client_that_is_not_connected_is_used_wrongly():
    with pytest.raises(RuntimeError):
        await Client(Docs).call("get_page", {"path": "a.md"})


async def test_an_error_of_a_server_with_the_code_of_a_closed_connection_is_its_own(tmp_path):
    answer = {"error": {"code": -32000, "message": "closed until nine"}}
    async with Client(command(tmp_path, [GOOD], good=answer)) as client:
        for _ in range(2):
            with pytest.raises(failsoft.UpstreamError) as reported:
                await client.call("good")
            assert "closed until nine" in reported.value.message


async def test_a_failure_is_not_replaced_by_that_of_the_list_that_shows_whether_it_may_be_repeated(tmp_path):
    busy = {"content": [{"type": "text", "text": json.dumps({"status": 503, "message": "busy"})}], "isError": True}
    unlisted = {"error": {"code": -32603, "message": "no list today"}}
    target = command(tmp_path, [GOOD], good=busy, **{"tools/list": unlisted})
    code = ""
    async with Client(target) as client:
        try:
            await client.call("good", timeout_s=30)
        except failsoft.ToolError as error:
            code = error.code
    assert code == "UNAVAILABLE"


@pytest.mark.parametrize("tree", [{"success": False, "message": "no tea"}, {"error": "no tea"}, {"error": True}])
async def test_a_result_of_a_foreign_server_that_says_it_failed_is_raised(tmp_path, tree):
    answer = {"content": [{"type": "text", "text": json.dumps(tree)}], "structuredContent": tree}
    raised: Any = None
    async with Client(command(tmp_path, [GOOD], good=answer)) as client:
        try:
            await client.call("good")
        except failsoft.ToolError as error:
            raised = error
    assert isinstance(raised, failsoft.ReportedFailure)


async def test_the_group_of_a_task_group_in_the_block_leaves_it(tmp_path):
    async def grouped() -> None:
        async with Client(stdio(tmp_path)) as client, asyncio.TaskGroup() as group:
            group.create_task(client.call("good", {}))
            group.create_task(asyncio.sleep(60))

    with pytest.raises(ExceptionGroup) as left:
        await grouped()
    assert [type(one) for one in left.value.exceptions] == [failsoft.ReportedFailure]
