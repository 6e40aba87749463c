"""The demo itself: a real MCP client against a real server, every claim checked against what was answered."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent
from prometheus_client.parser import text_string_to_metric_families

from failsoft.cli.demo_story import STORY, Expected, Step

__all__ = ["Demo", "Sample", "Scene", "play"]

_SHOWN = ("mcp_tool_calls", "mcp_tool_errors", "mcp_tool_recoveries", "mcp_tool_attempts")
_CALL_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One call as it went: what was asked, what came of it, what the caller was told, how long the server took."""

    title: str
    tool: str
    arguments: Mapping[str, Any]
    outcome: Expected
    by: str
    told: str
    duration_ms: float
    answer: Mapping[str, Any]
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of `/metrics`."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(slots=True)
class Demo:
    """Everything that happened, and what was not as it should have been."""

    url: str
    scenes: list[Scene] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    duration_s: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the demo as a JSON tree."""
        return {"behaved": not self.faults, **asdict(self)}


async def play(url: str) -> Demo:
    """Make the calls at the server with this URL and read the metrics that they leave."""
    demo = Demo(url)
    # A proxy that the environment names must not stand between us and this machine.
    async with httpx2.AsyncClient(trust_env=False, timeout=_CALL_WITHIN_S) as http:
        async with Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client:
            await client.list_tools()
            step_to_follow: Mapping[str, Any] = {}
            for step in STORY:
                scene = await _call(client, step, step_to_follow)
                demo.scenes.append(scene)
                step_to_follow = scene.answer.get("error", {}).get("next_step", {})
        scraped = await http.get(f"{url}/metrics")
    demo.faults = [fault for scene in demo.scenes for fault in scene.faults]
    if scraped.is_success:
        demo.samples = _parsed(scraped.text)
        demo.faults += _miscounted(demo.scenes, demo.samples)
    else:
        demo.faults.append(f"/metrics answered with the status {scraped.status_code}")
    return demo


async def _call(client: Client, step: Step, to_follow: Mapping[str, Any]) -> Scene:
    """Make one call and hold its answer against what has to come of it."""
    tool = step.tool or str(to_follow.get("tool", ""))
    arguments = step.arguments if step.tool else to_follow.get("arguments", {})
    result = await client.call_tool(tool, dict(arguments))
    answer = result.structured_content or {}
    outcome, by = _outcome(answer)
    faults = [] if _text(result) == answer else ["text and structure say different things"]
    if result.is_error != ("error" in answer):
        faults.append("isError does not say what the answer says")
    if (outcome, by) != (step.outcome, step.by):
        faults.append(f"it ended {outcome} {by}, not {step.outcome} {step.by}")
    if len(answer.get("error", {}).get("violations", ())) != step.violations:
        faults.append(f"it should have named {step.violations} violations")
    return Scene(
        title=step.title,
        tool=tool,
        arguments=arguments,
        outcome=outcome,
        by=by,
        told=_told(answer),
        duration_ms=answer.get("metadata", {}).get("execution_time_ms", 0.0),
        answer=answer,
        faults=tuple(f"{step.title}: {fault}" for fault in faults),
    )


def _text(result: CallToolResult) -> Any:
    """Return what a client reads that looks at the first text only."""
    block = result.content[0]
    return json.loads(block.text) if isinstance(block, TextContent) else None


def _outcome(answer: Mapping[str, Any]) -> tuple[Expected, str]:
    """Return the outcome, and what it is due to: the strategy, or the code."""
    if "error" in answer:
        code = answer["error"]["code"]
        return ("rejected" if answer["error"]["category"] == "invalid_argument" else "error"), code
    receipt = answer.get("metadata", {}).get("recovery")
    return ("recovered", receipt["strategy"]) if receipt else ("ok", "")


def _told(answer: Mapping[str, Any]) -> str:
    """Return what the caller read: the message of a failure, else the receipt and what was found."""
    if "error" in answer:
        return str(answer["error"]["message"])
    receipt = answer.get("metadata", {}).get("recovery")
    return f"{receipt['message']}. {_found(answer['data'])}" if receipt else _found(answer["data"])


def _found(data: Mapping[str, Any]) -> str:
    listed = data.get("documents", data.get("results", ()))
    if not listed:
        return "Nothing was found."
    first = f"Got '{listed[0]['title']}' ({listed[0]['path']})"
    return f"{first}." if len(listed) == 1 else f"{first} and {len(listed) - 1} more."


def _parsed(exposition: str) -> list[Sample]:
    return [
        Sample(sample.name, dict(sorted(sample.labels.items())), sample.value)
        for family in text_string_to_metric_families(exposition)
        if family.name in _SHOWN
        for sample in family.samples
        if sample.value and not sample.name.endswith("_created")
    ]


def _miscounted(scenes: Sequence[Scene], samples: Sequence[Sample]) -> list[str]:
    """Return how the counted calls differ from those that were made; an empty list if they agree."""
    made = Counter(f"{scene.tool} {scene.outcome}" for scene in scenes)
    counted = {
        f"{sample.labels['operation']} {sample.labels['outcome']}": sample.value
        for sample in samples
        if sample.name == "mcp_tool_calls_total"
    }
    return [
        f"/metrics counts {counted.get(what, 0):g} {what}, and {made[what]} were made"
        for what in sorted(made.keys() | counted.keys())
        if made[what] != counted.get(what, 0)
    ]
