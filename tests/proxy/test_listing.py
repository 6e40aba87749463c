"""The tools that an upstream lists: bad entries are left out, long and ever-changing lists cost no call."""

from __future__ import annotations

import sys
from typing import Any

import anyio
import pytest
from mcp.client import Client

from tests.doors import ListReader, Overrides, ProxySource, UpstreamTarget, assemble_proxy, upstream_module
from tests.proxy.conftest import HOSTILE

pytestmark = pytest.mark.anyio
OBJECT: dict[str, Any] = {"type": "object"}


def hostile(name: str = "odd", **environment: str) -> UpstreamTarget:
    variables = {f"HOSTILE_{key.upper()}": value for key, value in environment.items()}
    return UpstreamTarget(name=name, command=(sys.executable, str(HOSTILE)), environment=variables)


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def client_of(*targets: UpstreamTarget) -> Client:
    return Client(assemble_proxy(ProxySource(targets, Overrides())).server, cache=None)


def usable(entries: Any) -> list[Any]:
    """Return the entries of a list that are offered, completed."""
    reader = ListReader("u", "", Overrides(), 10)
    return [tool.entry for tool in reader.read(entries, {}).values()]


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "text",
        {},
        {"name": 5, "inputSchema": OBJECT},
        {"name": "b", "inputSchema": []},
        {"name": "b", "inputSchema": {"type": "string"}},
        {"name": "b", "inputSchema": {"type": "object", "properties": []}},
        {"name": "b", "description": 5},
        {"name": "b", "annotations": "yes"},
        {"name": "b", "annotations": {"title": 5}},
        {"name": "b", "outputSchema": "text"},
    ],
)
def test_an_entry_that_breaks_the_protocol_is_left_out_alone(entry):
    good = {"name": "good", "inputSchema": OBJECT}
    assert usable([entry, good]) == [good]


@pytest.mark.parametrize("nothing", [None, {"a": 1}, "text", []])
def test_a_list_that_is_none_has_no_tools(nothing):
    assert usable(nothing) == []


def test_null_members_count_as_left_out_and_a_schema_without_a_type_as_one_of_an_object():
    entry = {"name": "b", "title": None, "description": None, "annotations": None, "outputSchema": None}
    assert usable([entry]) == [{"name": "b", "inputSchema": OBJECT}]
    array = {"name": "b", "outputSchema": {"type": "array"}}
    assert usable([array]) == [{"name": "b", "inputSchema": OBJECT}]
    schema = {"$ref": "#/$defs/A", "$defs": {"A": OBJECT}}
    assert usable([{"name": "b", "inputSchema": schema}])[0]["inputSchema"] == {**OBJECT, **schema}


async def test_the_tools_beside_a_bad_one_are_offered_and_work():
    entries = '[null, {"name": 5}, {"name": "nulls", "inputSchema": {}, "annotations": null, "description": null}]'
    async with client_of(hostile(tools=entries)) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"echo", "nulls"} <= names
        assert (await client.call_tool("echo", {"text": "on"})).content[0].text == "on"


async def test_a_flood_of_changes_is_one_list_and_calls_go_on(tmp_path):
    count = tmp_path / "lists"
    async with client_of(hostile(lists=str(count))) as client:
        for _ in range(3):
            assert (await client.call_tool("change_often", {})).content[0].text == "changed"
        assert (await client.call_tool("echo", {"text": "on"})).content[0].text == "on"
    assert len(count.read_text()) < 1_000  # of 3,000 announced changes


async def test_an_attempt_that_gets_no_answer_ends_and_the_next_one_works(tmp_path, monkeypatch):
    monkeypatch.setattr(upstream_module, "_CONNECT_S", 0.3)
    async with client_of(hostile(hangs_first=str(tmp_path / "hung"))) as client:
        with anyio.fail_after(60):
            while not (await client.list_tools()).tools:  # noqa: ASYNC110 - the second attempt is under way
                await anyio.sleep(0.05)
        assert (await client.call_tool("echo", {"text": "on"})).content[0].text == "on"


async def test_upstreams_are_started_at_once(tmp_path):
    """Each of the two waits for the other before it answers."""
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    with anyio.fail_after(60):
        async with client_of(hostile("a", meets=f"{one}:{other}"), hostile("b", meets=f"{other}:{one}")) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
    assert {"a__echo", "b__echo"} <= names
