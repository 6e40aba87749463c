"""Lists of tools that are not ours: what is bad or too much is left out, and the rest works."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from loguru import logger
from mcp.client import Client

from tests.doors import Overrides, ProxySource, assemble_proxy, from_command, message_of
from tests.proxy.conftest import proxied
from tests.proxy.test_listing import nested
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio
SCRIPTED = Path(__file__).with_name("scripted.py")
OBJECT: dict[str, Any] = {"type": "object"}
GOOD: dict[str, Any] = {"name": "good", "inputSchema": OBJECT}
READ_ONLY = {"readOnlyHint": True}
UNUSABLE_SCHEMAS: dict[str, Any] = {
    "deep": nested(300),
    "no Unicode": {"type": "object", "properties": {"\ud800": OBJECT}},
}
BAD_SCHEMAS: dict[str, Any] = {
    "outside": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}},
    "dangling": {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}},
    "invalid": {"type": "object", "properties": {"a": {"type": 5}}},
    "endless": {"type": "object", "$ref": "#"},
    "itself": {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}},
    "pattern": {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
    "bound": {"type": "object", "properties": {"a": {"type": "array", "minItems": -1}}},
}


def command(folder: Path, tools: list[Any], **answers: Any) -> list[str]:
    """Return the command of an upstream with these tools and answers."""
    script = folder / "script.json"
    script.write_text(json.dumps({"tools": tools, "answers": answers}), encoding="utf-8")
    return [PYTHON, str(SCRIPTED), str(script)]


@asynccontextmanager
async def client_of(folder: Path, tools: list[Any], **answers: Any) -> AsyncIterator[Client]:
    source = ProxySource([from_command(command(folder, tools, **answers), name="odd")], Overrides())
    with anyio.fail_after(60):
        async with Client(assemble_proxy(source).server, cache=None) as client:
            yield client


async def offered(folder: Path, tools: list[Any]) -> list[str]:
    """Return the names of the tools that a proxy offers in front of an upstream with these."""
    async with client_of(folder, tools) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize("member", ["inputSchema", "outputSchema"])
@pytest.mark.parametrize("name", UNUSABLE_SCHEMAS)
async def test_one_schema_that_nobody_could_use_does_not_take_the_other_tools_away(tmp_path, member, name):
    bad = {**GOOD, "name": "bad", member: UNUSABLE_SCHEMAS[name]}
    async with client_of(tmp_path, [GOOD, bad]) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        is_answered = "good" in names and not (await client.call_tool("good", {})).is_error
    assert names == ["good"]
    assert is_answered


def test_a_schema_without_a_bottom_takes_no_other_entry_of_its_line_away():
    good = '{"name": "good", "description": "\\"[{\\\\"}'
    endless = '{"a":' * 100_000 + '["]"' + "]" + "}" * 100_000
    line = f'{{"jsonrpc": "2.0", "id": 1, "result": {{"tools": [{good}, {{"name": "bad", "x": {endless}}}, {good}]}}}}'
    message = message_of(line.encode() + b" ", limit_bytes=100_000_000)
    assert message is not None
    first, bad, last = message.message.result["tools"]
    assert first == last == {"name": "good", "description": '"[{\\'}
    assert bad["name"] == "bad"
    for broken in (line.replace('"tools": [', '"rows": ['), '{"id": 1, "result": {"tools": []}}'):
        message = message_of(broken.encode(), limit_bytes=100_000_000)
        assert message is not None
        assert message.message.error.data == {"dev.failsoft/fault": {"kind": "malformed"}}


async def test_of_twenty_thousand_tools_the_first_are_offered(tmp_path):
    tools = [{"name": f"tool_{number}", "_meta": {"x": [{}] * 10}} for number in range(20_000)]
    assert await offered(tmp_path, tools) == [f"tool_{number}" for number in range(2_000)]


@pytest.mark.parametrize("member", ["inputSchema", "outputSchema"])
@pytest.mark.parametrize("name", BAD_SCHEMAS)
async def test_a_tool_with_a_bad_schema_is_left_out_with_a_warning_that_names_it(tmp_path, name, member):
    said: list[Any] = []
    logger.enable("failsoft")
    sink = logger.add(lambda message: said.append(message.record), level="WARNING")
    try:
        names = await offered(tmp_path, [GOOD, {**GOOD, "name": name, member: BAD_SCHEMAS[name]}])
    finally:
        logger.remove(sink)
    assert names == ["good"]
    assert any(name in f"{record['extra'].get('operation')} {record['message']}" for record in said)


async def test_no_more_tools_are_offered_than_the_setting_allows(tmp_path):
    upstream = command(tmp_path, [{**GOOD, "name": f"tool_{number}"} for number in range(12)])
    async with proxied(upstream=upstream, env={"FAILSOFT_PROXY_MAX_TOOLS": "10"}) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
    assert names == [f"tool_{number}" for number in range(10)]


async def test_a_tool_that_a_new_list_removes_while_it_is_called_is_no_defect_of_the_server(tmp_path):
    failed = {"error": {"code": -32603, "message": "busy"}}
    tools = [GOOD, {**GOOD, "name": "removed", "annotations": READ_ONLY}]
    async with client_of(tmp_path, tools, removed=[{"tools": [GOOD], "then": failed}, failed]) as client:
        result = await client.call_tool("removed", {})
    assert result.is_error
    assert result.structured_content["error"]["code"] != "UNKNOWN_ERROR"


async def test_titles_and_descriptions_are_shown_without_control_and_format_characters(tmp_path):
    hidden = "Find\x1b[2J books.\u202e\n\tOne\u200b a line.\r\n"
    shown = "Find [2J books.\n\tOne a line.\n"
    annotations = {"title": hidden, **READ_ONLY}
    values = {"enum": [hidden], "default": {"title": hidden}}
    schema = {"type": "object", "properties": {"title": {"description": hidden, **values}}, "description": hidden}
    marked = {"name": "good", "inputSchema": schema, "title": hidden, "description": hidden, "annotations": annotations}
    async with client_of(tmp_path, [marked]) as client:
        (tool,) = (await client.list_tools()).tools
    assert (tool.title, tool.description, tool.annotations.title) == (shown, shown, shown)
    assert tool.input_schema["description"] == shown
    assert tool.input_schema["properties"]["title"] == {"description": shown, **values}  # values are sent back


LOOKALIKE = "g\u043e\u043ed"


@pytest.mark.parametrize(
    "name", [LOOKALIKE, "g" * 5_000, "go\x1b[31mod", "\u202egood", "g\u200bood", "<b>good</b>", "good\n"]
)
async def test_a_name_that_a_person_would_misread_is_left_out(tmp_path, name):
    assert await offered(tmp_path, [GOOD, {**GOOD, "name": name}]) == ["good"]
