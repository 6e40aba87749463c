"""The SDK's own client and the served docs: success, recovery and the typed failure, over each transport and era."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent
from prometheus_client.parser import text_string_to_metric_families

from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio

ERAS = ["2026-07-28", "legacy"]
COUNTED = {("get_documentation", "ok"), ("get_documentation", "recovered"), ("get_documentation", "error")}


@pytest.fixture(params=[f"{transport} {era}" for transport in ("stdio", "http") for era in ERAS])
def client(request: pytest.FixtureRequest, documents: Path) -> Client:
    """Return a client that is not connected yet."""
    transport, _, era = request.param.partition(" ")
    if transport == "http":
        return Client(request.getfixturevalue("url"), mode=era)
    command = ["-m", "failsoft", "serve", "docs", "--root", str(documents)]
    return Client(StdioServerParameters(command=PYTHON, args=command, env=dict(os.environ)), mode=era)


def answer_of(result: CallToolResult) -> dict[str, Any]:
    """Return the answer, the same in text and structure."""
    assert isinstance(result.content[0], TextContent)
    assert isinstance(result.structured_content, dict)
    if not result.is_error:
        assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def test_a_client_sees_success_recovery_failure_and_bad_arguments(client: Client) -> None:
    async with client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        found = answer_of(await client.call_tool("get_documentation", {"path": "guide/intro.mdx"}))
        recovered = answer_of(await client.call_tool("get_documentation", {"path": "guide/intro.md"}))
        missing = answer_of(await client.call_tool("get_documentation", {"path": "guide/intor.mdx"}))
        refused = answer_of(await client.call_tool("get_documentation", {"pth": 5}))
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("get_documnt", {})
    for answer in (found, recovered, missing, refused):
        schema = schemas["get_documentation"]
        assert schema is not None
        jsonschema.validate(answer, schema)
    assert found["data"]["documents"] == recovered["data"]["documents"]
    assert recovered["metadata"]["recovery"]["changed"] == {"path": "guide/intro.mdx"}
    assert missing["error"]["code"] == "DOC_NOT_FOUND"
    assert any("guide/intro.mdx" in suggestion for suggestion in missing["error"]["suggestions"])
    assert {item["reason"] for item in refused["error"]["violations"]} == {"missing", "unexpected"}
    assert unknown.value.error.code == -32602


async def test_the_next_step_of_a_failure_can_be_taken_as_it_is(client: Client) -> None:
    async with client:
        refused = answer_of(await client.call_tool("get_documentation", {"Path": "guide/intro.mdx"}))
        step = refused["error"]["next_step"]
        assert answer_of(await client.call_tool(step["tool"], step["arguments"]))["success"] is True


async def test_what_happened_is_counted(url: str) -> None:
    async with Client(url, mode=ERAS[0]) as client:
        for path in ("guide/intro.mdx", "guide/intro.md", "guide/gone.mdx"):
            await client.call_tool("get_documentation", {"path": path})
    async with httpx2.AsyncClient() as scraper:
        text = (await scraper.get(f"{url.removesuffix('/mcp')}/metrics")).text
    counted = {
        (sample.labels["operation"], sample.labels["outcome"])
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "mcp_tool_calls_total" and sample.value
    }
    assert counted >= COUNTED
