"""Runs the demo: a real MCP client calls a real server and reads its metrics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent
from prometheus_client.parser import text_string_to_metric_families

from failsoft.cli.demo.checks import judge, message_of, miscounted, outcome_of
from failsoft.cli.demo.story import STORY, Demo, DemoStep, Sample, Scene
from failsoft.framework.answer.response import ERROR_KEY, METADATA_KEY

_SHOWN = ("mcp_tool_calls", "mcp_tool_errors", "mcp_tool_recoveries", "mcp_tool_attempts")
_CALL_WITHIN_S = 30.0


async def play(url: str) -> Demo:
    """Make the calls to the server at this URL, read its metrics, and record deviations from the expected results."""
    demo = Demo(url)
    # Ignore proxies from the environment: the server is on this machine.
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


async def _scene(client: Client, step: DemoStep, advised: Mapping[str, Any]) -> Scene:
    """Make the call of a step, or the next step of the last failure, and check the response."""
    tool = step.tool or str(advised.get("tool", ""))
    arguments = dict(step.arguments if step.tool else advised.get("arguments", {}))
    answer, text, duration_ms, faults = await _answer(client, tool, arguments)
    outcome, by = outcome_of(answer)
    return Scene(
        title=step.title,
        tool=tool,
        arguments=arguments,
        outcome=outcome,
        by=by,
        message=text if "error" in answer else message_of(answer),
        duration_ms=duration_ms,
        answer=answer,
        faults=(*faults, *judge(step, answer)),
    )


async def _answer(client: Client, tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], str, float, list[str]]:
    """Return the response of the server, its text, its duration in ms, and contradictions between its parts."""
    try:
        result = await client.call_tool(tool, arguments)
    except MCPError as error:
        fault = "the protocol refused the call"
        return {"error": {"code": str(error.code), "message": error.message}}, error.message, 0.0, [fault]
    answer, facts = result.structured_content or {}, result.meta or {}
    block = result.content[0]
    text = block.text if isinstance(block, TextContent) else ""
    faults = [] if _is_same(text, answer) else ["text and structured content differ"]
    if result.is_error != ("error" in answer):
        faults.append("isError contradicts the structured content")
    timed = facts.get(ERROR_KEY) or facts.get(METADATA_KEY) or {}
    return answer, text, timed.get("execution_time_ms", 0.0), faults


def _is_same(text: str, answer: Mapping[str, Any]) -> bool:
    """Return whether the text says what the structured content does: as JSON, of a failure as plain lines."""
    if "error" in answer:
        return f"({answer['error'].get('code')}): " in text.partition("\n")[0]
    return bool(json.loads(text or "null") == answer)


def _parsed(exposition: str) -> list[Sample]:
    return [
        Sample(sample.name, dict(sorted(sample.labels.items())), sample.value)
        for family in text_string_to_metric_families(exposition)
        if family.name in _SHOWN
        for sample in family.samples
        if sample.value and not sample.name.endswith("_created")
    ]
