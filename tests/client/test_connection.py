"""What leaves `async with Client(...)`, and what the client says of a server that has gone."""

from __future__ import annotations

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


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason=(
        "an error that leaves `async with Client(...)` becomes a group in a group, which no `except "
        "DocumentNotFound` catches; it should stay as it is"
    ),
)
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


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="the client says of a server that died that it is being started again, which nobody does; it should not",
)
async def test_a_server_that_died_is_not_said_to_be_started_again():
    async with Client([sys.executable, str(HOSTILE), "die"]) as client:
        with pytest.raises(failsoft.Unavailable) as lost:
            await client.call("work", timeout_s=30)
    assert "started again" not in lost.value.message
    assert (lost.value.effect, lost.value.retry) == ("unknown", "never")


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason=(
        "where the tools cannot be listed to see whether a call may be repeated, the error of the list "
        "replaces that of the call; the call's should stay"
    ),
)
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
