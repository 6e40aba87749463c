"""Resources and prompts of an upstream that are not ours: bounded, each checked by itself, failures typed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from tests.doors import Overrides, ProxySource, assemble_proxy, from_command
from tests.proxy.test_foreign_lists import SCRIPTED
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio
OFFERS = {"tools": {}, "resources": {}, "prompts": {}}
GOOD: dict[str, dict[str, Any]] = {
    "resources": {"uri": "shop://stock", "name": "stock"},
    "prompts": {"name": "sell"},
}
BAD: list[Any] = [5, None, {}, {"name": 5}, {"name": "odd", "uri": 7, "arguments": "none"}]


@asynccontextmanager
async def client_of(folder: Path, *answers: dict[str, Any]) -> AsyncIterator[Client]:
    """Yield a client of a proxy before an upstream for each of these answers by method."""
    targets = []
    for number, own in enumerate(answers):
        script = folder / f"script{number}.json"
        script.write_text(json.dumps({"tools": [], "offers": OFFERS, "answers": own}))
        targets.append(from_command([PYTHON, str(SCRIPTED), str(script)], name=f"u{number}"))
    with anyio.fail_after(60):
        async with Client(assemble_proxy(ProxySource(tuple(targets), Overrides())).server, cache=None) as client:
            yield client


@pytest.mark.parametrize("count", [1, 2])
async def test_what_breaks_the_protocol_is_left_out_of_a_list(tmp_path, count):
    found = {kind: {"result": {kind: [*BAD, good]}} for kind, good in GOOD.items()}
    answers = {f"{kind}/list": answer for kind, answer in found.items()}
    async with client_of(tmp_path, *[answers] * count) as client:
        resources = [str(item.uri) for item in (await client.list_resources()).resources]
        prompts = [item.name for item in (await client.list_prompts()).prompts]
    assert resources == ["shop://stock"] * count
    assert prompts == (["sell"] if count == 1 else ["u0__sell", "u1__sell"])


@pytest.mark.parametrize("listed", [None, 5, {"a": 1}, "x"])
async def test_a_list_that_is_none_is_a_typed_failure_or_empty(tmp_path, listed):
    answers = {"resources/list": {"result": {"resources": listed}}}
    good = {"resources/list": {"result": {"resources": [GOOD["resources"]]}}}
    async with client_of(tmp_path, answers, good) as client:
        assert [item.name for item in (await client.list_resources()).resources] == ["stock"]


READ = {"contents": [{"uri": "shop://stock", "text": "x" * 2_000_000}]}


@pytest.mark.parametrize(
    ("result", "code"),
    [(READ, "RESULT_TOO_LARGE"), ({"contents": 5}, "BAD_OUTPUT"), ({}, "BAD_OUTPUT"), ([], "BAD_OUTPUT")],
)
async def test_a_resource_that_cannot_be_passed_on_is_a_typed_failure(tmp_path, result, code):
    async with client_of(tmp_path, {"resources/read": {"result": result}}) as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource("shop://stock")
    assert refused.value.error.code == -32603
    assert refused.value.error.data["code"] == code


async def test_the_description_of_a_prompt_hides_and_reorders_nothing(tmp_path):
    message = {"role": "user", "content": {"type": "text", "text": "Sell\u202e it."}}
    result = {"description": "Sell\x1b[2J\u202e it.", "messages": [message]}
    async with client_of(tmp_path, {"prompts/get": {"result": result}}) as client:
        prompt = await client.get_prompt("sell")
    assert prompt.description is not None
    assert prompt.description.isprintable()
    assert prompt.messages[0].content.text == "Sell\u202e it."


async def test_lists_of_several_upstreams_are_bounded_together(tmp_path):
    page = {"resources": [{**GOOD["resources"], "description": "x" * 500_000}], "nextCursor": "more"}
    answers = {"resources/list": [{"result": {**page, "nextCursor": f"{number}"}} for number in range(40)]}
    async with client_of(tmp_path, answers, {"resources/list": {"result": {"resources": []}}}) as client:
        listed = (await client.list_resources()).resources
    assert 1 < len(listed) < 10
