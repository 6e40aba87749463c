"""The demo itself: a real MCP client calls a real server, and reads the metrics that the calls leave."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent
from prometheus_client.parser import text_string_to_metric_families

from failsoft.cli.demo_checks import judge, miscounted, outcome_of, told
from failsoft.cli.demo_story import STORY, Demo, Sample, Scene, Step

__all__ = ["play"]

_SHOWN = ("mcp_tool_calls", "mcp_tool_errors", "mcp_tool_recoveries", "mcp_tool_attempts")
_CALL_WITHIN_S = 30.0


async def play(url: str) -> Demo:
    """Make the calls at the server with this URL, read the metrics, and note what is not as it has to be."""
    demo = Demo(url)
    # A proxy that the environment names must not stand between us and this machine.
    async with httpx2.AsyncClient(trust_env=False, timeout=_CALL_WITHIN_S) as http:
        async with Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client:
            await client.list_tools()
            advised: Mapping[str, Any] = {}
            for step in STORY:
                demo.scenes.append(await _scene(client, step, advised))
                advised = demo.scenes[-1].answer.get("error", {}).get("next_step", {})
        scraped = await http.get(f"{url}/metrics")
    demo.faults = [f"{scene.title}: {fault}" for scene in demo.scenes for fault in scene.faults]
    if scraped.is_success:
        demo.samples = _parsed(scraped.text)
        demo.faults += miscounted(demo.scenes, demo.samples)
    else:
        demo.faults.append(f"/metrics answered with the status {scraped.status_code}")
    return demo


async def _scene(client: Client, step: Step, advised: Mapping[str, Any]) -> Scene:
    """Make the call of a step, or the one that the last failure advised, and judge its answer."""
    tool = step.tool or str(advised.get("tool", ""))
    arguments = dict(step.arguments if step.tool else advised.get("arguments", {}))
    answer, faults = await _answer(client, tool, arguments)
    outcome, by = outcome_of(answer)
    return Scene(
        title=step.title,
        tool=tool,
        arguments=arguments,
        outcome=outcome,
        by=by,
        told=told(answer),
        duration_ms=answer.get("metadata", {}).get("execution_time_ms", 0.0),
        answer=answer,
        faults=(*faults, *judge(step, answer)),
    )


async def _answer(client: Client, tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return what the server answered, and how its parts contradict each other."""
    try:
        result = await client.call_tool(tool, arguments)
    except MCPError as error:
        return {"error": {"code": str(error.code), "message": error.message}}, ["the protocol refused the call"]
    answer = result.structured_content or {}
    block = result.content[0]
    text = json.loads(block.text) if isinstance(block, TextContent) else None
    faults = [] if text == answer else ["text and structure say different things"]
    if result.is_error != ("error" in answer):
        faults.append("isError does not say what the answer says")
    return answer, faults


def _parsed(exposition: str) -> list[Sample]:
    return [
        Sample(sample.name, dict(sorted(sample.labels.items())), sample.value)
        for family in text_string_to_metric_families(exposition)
        if family.name in _SHOWN
        for sample in family.samples
        if sample.value and not sample.name.endswith("_created")
    ]
