"""`failsoft demo`: a real client calls a real server over documents that ship with failsoft, for a few seconds."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.resources import as_file, files
from typing import Annotated, Any, NamedTuple

import typer

from failsoft.cli.errors import ExitCode
from failsoft.cli.screen import Screen
from failsoft.framework.answer.response import ERROR_KEY, METADATA_KEY
from failsoft.framework.errors import InitializationError

_STARTS_WITHIN_S = 60.0
_ENDS_WITHIN_S = 15.0
_CALL_WITHIN_S = 30.0
_LINES = 6
"""The most lines that are shown of an answer."""
_URL = re.compile(r"http://[\w.:\[\]]+(?=/mcp)")
_NOT_OURS = ("FAILSOFT_", "PROMETHEUS_", "DEBUG_STACK")
"""Variables that are removed, so that the user's settings do not change the demo."""
_SHOWN = ("mcp_tool_calls", "mcp_tool_errors", "mcp_tool_recoveries", "mcp_tool_attempts")
_ENDED = {
    "ok": ("it worked", "bold green"),
    "recovered": ("recovered by", "bold yellow"),
    "error": ("failed softly with", "bold magenta"),
    "rejected": ("refused unrun with", "bold magenta"),
}


class DemoStep(NamedTuple):
    """One call of the demo.

    Args:
        title: Its purpose, in a few words.
        outcome: The expected outcome, as in the metrics: `ok`, `recovered`, `error` or `rejected`.
        by: The expected strategy of the recovery, or the expected error code.
        tool: The MCP tool; empty for the next step of the last failure.
        arguments: Its arguments.
        violations: The expected number of violations.
    """

    title: str
    outcome: str
    by: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = {}
    violations: int = 0


STORY = (
    DemoStep(
        title="a document that exists",
        tool="get_documentation",
        arguments={"path": "guide/intro.mdx"},
        outcome="ok",
    ),
    DemoStep(
        title="a document that exists with another extension",
        tool="get_documentation",
        arguments={"path": "guide/install.md"},
        outcome="recovered",
        by="alternate_path",
    ),
    DemoStep(
        title="a search with a syntax error",
        tool="search_documents",
        arguments={"query": '"typed errors ('},
        outcome="recovered",
        by="plain_words",
    ),
    DemoStep(
        title="a document that does not exist",
        tool="get_documentation",
        arguments={"path": "guide/logs.md"},
        outcome="error",
        by="DOC_NOT_FOUND",
    ),
    DemoStep(
        title="the call that the failure suggested",
        outcome="ok",
    ),
    DemoStep(
        title="three invalid arguments",
        tool="search_documents",
        arguments={"query": "metrics", "limit": "ten", "mode": "exact", "sort": "date"},
        outcome="rejected",
        by="INVALID_PARAM",
        violations=3,
    ),
)


def demo(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print what happened as JSON.")] = False,
) -> None:
    """Show what failsoft does, on real documents, in a few seconds.

    A real MCP client calls a real server on a free port of this machine, which serves documents that come with
    failsoft. The demo shows calls that succeed, calls that are recovered, calls that fail softly, and the resulting
    metrics. The exit code is 1 if any result is not as expected.
    """
    shown = asyncio.run(_perform())
    if as_json:
        Screen().json(shown)
    else:
        _show(Screen(), shown)
    if shown["faults"]:
        raise typer.Exit(ExitCode.FAILED)


async def _perform() -> dict[str, Any]:
    """Start the server, load the client while it comes up, make the calls, and see the server end."""
    began = time.perf_counter()
    async with _started_server() as process:
        await asyncio.to_thread(__import__, "mcp.client.streamable_http")
        shown = await _play(await _url(process))
    if process.returncode != 0:
        shown["faults"].append(f"the server ended with exit code {process.returncode}, not 0")
    return {"behaved": not shown["faults"], **shown, "duration_s": round(time.perf_counter() - began, 2)}


async def _play(url: str) -> dict[str, Any]:
    """Make the calls to the server at this URL, and read its metrics.

    Returns:
        `url`, `scenes` (`title, tool, arguments, outcome, by, message, duration_ms, answer, faults`), `samples` of the
        metrics (`name, labels, value`), and `faults`: what was not as expected.
    """
    import httpx2  # noqa: PLC0415 - loaded while the server comes up
    from mcp import Client  # noqa: PLC0415 - the same
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - the same

    scenes: list[dict[str, Any]] = []
    # Ignore proxies from the environment: the server is on this machine.
    async with httpx2.AsyncClient(trust_env=False, timeout=_CALL_WITHIN_S) as http:
        async with Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client:
            await client.list_tools()
            advised: Mapping[str, Any] = {}
            for step in STORY:
                scenes.append(await _scene(client, step, advised))
                advised = scenes[-1]["answer"].get("error", {}).get("next_step", {})
        scraped = await http.get(f"{url}/metrics")
    faults = [f"{scene['title']}: {fault}" for scene in scenes for fault in scene["faults"]]
    samples = _samples(scraped.text) if scraped.is_success else []
    faults += _miscounted(scenes, samples)
    return {"url": url, "scenes": scenes, "samples": samples, "faults": faults}


async def _scene(client: Any, step: DemoStep, advised: Mapping[str, Any]) -> dict[str, Any]:
    """Make the call of a step, or the next step of the last failure, and check the response."""
    from mcp import MCPError  # noqa: PLC0415 - as above

    tool = step.tool or str(advised.get("tool", ""))
    arguments = dict(step.arguments if step.tool else advised.get("arguments", {}))
    faults: list[str] = []
    facts: Mapping[str, Any] = {}
    try:
        result = await client.call_tool(tool, arguments)
    except MCPError as error:
        answer: dict[str, Any] = {"error": {"code": str(error.code), "message": error.message}}
        text = error.message
        faults.append("the protocol refused the call")
    else:
        answer, facts = result.structured_content or {}, result.meta or {}
        receipt = answer.get("metadata", {}).get("recovery", {})
        text = "\n".join([*receipt.get("message", "").splitlines(), *(getattr(b, "text", "") for b in result.content)])
        if result.is_error != ("error" in answer):
            faults.append("isError contradicts the structured content")
    outcome, by = _outcome_of(answer)
    timed = facts.get(ERROR_KEY) or facts.get(METADATA_KEY) or {}
    return {
        "title": step.title,
        "tool": tool,
        "arguments": arguments,
        "outcome": outcome,
        "by": by,
        "message": text,
        "duration_ms": timed.get("execution_time_ms", 0.0),
        "answer": answer,
        "faults": [*faults, *_judge(step, answer)],
    }


def _judge(step: DemoStep, answer: Mapping[str, Any]) -> list[str]:
    """Return how the answer to a step differs from the expected one; an empty list if it does not."""
    faults = []
    outcome, by = _outcome_of(answer)
    if (outcome, by) != (step.outcome, step.by):
        faults.append(f"it ended {outcome} {by}".rstrip() + f", not {step.outcome} {step.by}".rstrip())
    data = answer.get("data", {})
    if "error" not in answer and not data.get("documents", data.get("results")):
        faults.append("nothing was found")
    if len(answer.get("error", {}).get("violations", ())) != step.violations:
        faults.append(f"it did not name {step.violations} violations")
    return faults


def _miscounted(scenes: Sequence[Mapping[str, Any]], samples: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how the counted calls differ from the actual ones; an empty list if they agree."""
    made = Counter(f"{scene['tool']} {scene['outcome']}" for scene in scenes)
    counted = {
        f"{sample['labels']['operation']} {sample['labels']['outcome']}": sample["value"]
        for sample in samples
        if sample["name"] == "mcp_tool_calls_total"
    }
    return [
        f"/metrics counts {counted.get(what, 0):g} {what}, and {made[what]} were made"
        for what in sorted(made.keys() | counted.keys())
        if made[what] != counted.get(what, 0)
    ]


def _outcome_of(answer: Mapping[str, Any]) -> tuple[str, str]:
    """Return the outcome, and the strategy or the error code that led to it."""
    error = answer.get("error")
    if error is not None:
        return ("rejected" if error.get("category") == "invalid_argument" else "error"), str(error.get("code", ""))
    receipt = answer.get("metadata", {}).get("recovery")
    return ("recovered", str(receipt["strategy"])) if receipt else ("ok", "")


def _samples(exposition: str) -> list[dict[str, Any]]:
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415 - as above

    return [
        {"name": sample.name, "labels": dict(sorted(sample.labels.items())), "value": sample.value}
        for family in text_string_to_metric_families(exposition)
        if family.name in _SHOWN
        for sample in family.samples
        if sample.value and not sample.name.endswith("_created")
    ]


def _show(screen: Screen, shown: Mapping[str, Any]) -> None:
    screen.text(f"A real MCP client calls `failsoft serve docs` on {shown['url']}/mcp\n")
    for number, scene in enumerate(shown["scenes"], 1):
        how, style = _ENDED[scene["outcome"]]
        screen.heading(f"{number}. {scene['title']}, {' '.join([how, scene['by']]).rstrip()}", style=style)
        _show_wrapped(screen, f"{scene['tool']} {json.dumps(scene['arguments'], ensure_ascii=False)}", "> ")
        _show_wrapped(screen, scene["message"], "  ")
        screen.text()
    screen.heading("What they left on /metrics")
    counts: dict[str, list[str]] = {}
    for sample in shown["samples"]:
        labels = sample["labels"]
        what = " ".join(labels[name] for name in sorted(labels.keys() - {"tool", "operation"}, reverse=True))
        counts.setdefault(f"{sample['name']} of {labels['operation']}", []).append(f"{what} {sample['value']:g}")
    for metric, values in counts.items():
        _show_wrapped(screen, f"{metric}: {', '.join(values)}", "  ")
    screen.text()
    for fault in shown["faults"]:
        screen.text(f"Not as it should be: {fault}")
    if not shown["faults"]:
        count, took = len(shown["scenes"]), shown["duration_s"]
        screen.text(f"All {count} calls went as they should, and the metrics agree ({took:.1f} s).")
        screen.text("Next: failsoft serve docs --root DIR, or failsoft explain DOC_NOT_FOUND")


def _show_wrapped(screen: Screen, text: str, mark: str) -> None:
    """Write the first lines of a text, wrapped to the width."""
    width = screen.width - len(mark)
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, width) or [""]]
    more = ["..."] if len(lines) > _LINES else []
    for line in [*lines[:_LINES], *more]:
        screen.text(f"{mark}{line}")


@asynccontextmanager
async def _started_server() -> AsyncIterator[asyncio.subprocess.Process]:
    """Start the server over the documents that ship with the package, on a free port, and end it afterwards."""
    with as_file(files("failsoft.tools.docs") / "demo") as folder, tempfile.TemporaryDirectory() as cache:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "failsoft", "serve", "docs", "--root", str(folder)),
            *("--transport", "http", "--port", "0"),
            env={**_environment(), "XDG_CACHE_HOME": cache},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            yield process
            await _end(process)
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_NOT_OURS)}


async def _url(process: asyncio.subprocess.Process) -> str:
    """Return the address that the server announces on its standard error."""
    assert process.stderr is not None  # noqa: S101 - it was asked for
    last = ""
    with suppress(TimeoutError):
        async with asyncio.timeout(_STARTS_WITHIN_S):
            async for line in process.stderr:
                text = line.decode(errors="replace").rstrip()
                if found := _URL.search(text):
                    return found[0]
                # Indented lines continue the line above, so the last line without indentation names the cause.
                last = text if text[:1].strip() else last
    raise InitializationError(message=f"The demo's server did not start: {last or 'it said nothing'}", component="demo")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Terminate the server and wait. `communicate` also reads its log lines, since a full pipe would block it."""
    with suppress(ProcessLookupError):
        process.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(_ENDS_WITHIN_S):
            await process.communicate()
