"""Adopting a server never says less, and never says a secret: the answers of failing tools, bare and adopted."""

from __future__ import annotations

import functools
import json
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from prometheus_client import generate_latest

from failsoft import Runtime, Settings
from failsoft.metrics import PrometheusRecorder
from failsoft.testing import fresh_runtime
from tests.laws.adopting.facts import facts_of, missing
from tests.laws.adopting.failing_ways import RAISED, REPORTED, RESULTS, VALUES
from tests.laws.adopting.own_servers import fastmcp_server, sdk_server
from tests.laws.adopting.planted_secrets import LEAKS, WAYS
from tests.proxy.conftest import proxy_parameters
from tests.zygote import PYTHON

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("transports")]

ROOT = str(Path(__file__).parents[2])
SERVE = f"import sys; sys.path.insert(0, {ROOT!r}); from tests.laws.adopting.own_servers import serve; serve()"
UPSTREAM = ["sh", "-c", 'exec "$0" -c "$1" 2>/dev/null', PYTHON, SERVE]
TOOLS = {
    "reports": [f"reports_{name}" for name in REPORTED],
    "raises": [f"raises_{name}" for name in RAISED],
    "returns": [f"returns_{name}" for name in VALUES],
    "answers": [f"answers_{name}" for name in RESULTS],
}
EXPECTED = {
    f"{kind}_{name}": set(category.split("|"))
    for kind, table in (("reports", REPORTED), ("raises", RAISED))
    for name, (_, category) in table.items()
    if category != "?"
}


@dataclass(frozen=True)
class Answer:
    """What a client reads of one answer."""

    failed: bool
    text: str
    category: str


@asynccontextmanager
async def connected(
    how: str, runtime: Any = None, *, adopted: bool = True, errors: Any = None, env: dict[str, str] | None = None
) -> AsyncIterator[Any]:
    """Yield the function that calls a tool, by name and arguments; errors is the file for what the proxy logs."""
    logging.disable()  # FastMCP's own log takes a second for a crash
    try:
        async with _started(how, runtime, adopted, errors, env) as call:
            yield call
    finally:
        logging.disable(logging.NOTSET)


@asynccontextmanager
async def _started(
    how: str, runtime: Any, adopted: bool, errors: Any, env: dict[str, str] | None
) -> AsyncIterator[Any]:
    if how in {"fastmcp", "masked"}:
        from fastmcp import Client as FastMCPClient  # noqa: PLC0415 - takes seconds to load

        server, _ = fastmcp_server(runtime, adopted=adopted, masked=how == "masked")
        async with FastMCPClient(server) as client:
            yield client.call_tool_mcp
    elif how == "sdk":
        async with Client(sdk_server(runtime, adopted=adopted)[0]) as client:
            yield client.call_tool
    else:
        started = StdioServerParameters(command=UPSTREAM[0], args=UPSTREAM[1:])
        if adopted:
            started = proxy_parameters("--name", "ways", upstream=UPSTREAM, env=env)
        async with Client(stdio_client(started, errlog=errors or sys.stderr), cache=None) as client:
            yield client.call_tool


async def answer(call: Any, tool: str, arguments: dict[str, Any]) -> Answer:
    try:
        result = await call(tool, arguments)
    except MCPError as error:
        data = json.dumps(error.error.data, ensure_ascii=False) if error.error.data else ""
        return Answer(failed=True, text=f"{error.error.message} {data}", category="")
    tree = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    blocks = [block.get("text") or block.get("resource", {}).get("text", "") for block in tree["content"]]
    structured = tree.get("structuredContent")
    said = "\n".join([*blocks, *([json.dumps(structured, ensure_ascii=False)] if structured else [])])
    told = tree.get("_meta", {}).get("dev.failsoft/error", {})
    return Answer(bool(tree.get("isError")), said, told.get("category", ""))


@functools.cache
def kept() -> dict[tuple[str, bool], dict[str, Answer]]:
    """Return what the calls of this process have given, so that each server is asked once."""
    return {}


async def answers(how: str, *, adopted: bool) -> dict[str, Answer]:
    """Return the answer of each tool."""
    if (how, adopted) not in kept():
        async with connected(how, fresh_runtime() if adopted else None, adopted=adopted) as call:
            kept()[how, adopted] = {
                tool: await answer(call, tool, {"item": "tea"}) for tools in TOOLS.values() for tool in tools
            }
    return kept()[how, adopted]


@pytest.mark.parametrize(("how", "kind"), [(how, kind) for how in ("sdk", "fastmcp", "proxy") for kind in TOOLS])
async def test_no_fact_that_the_bare_server_gave_is_missing(how, kind):
    bare, adopted = await answers(how, adopted=False), await answers(how, adopted=True)
    lost = {tool: missing(facts_of(bare[tool].text), adopted[tool].text) for tool in TOOLS[kind]}
    assert {tool: facts for tool, facts in lost.items() if facts} == {}
    assert [tool for tool in TOOLS[kind] if bare[tool].failed and not adopted[tool].failed] == []


@pytest.mark.parametrize("how", ["sdk", "fastmcp", "proxy"])
async def test_a_failure_has_the_category_that_a_user_expects(how):
    bare, adopted = await answers(how, adopted=False), await answers(how, adopted=True)
    told = {
        tool: (adopted[tool].category, bare[tool].text)
        for tool, expected in EXPECTED.items()
        if adopted[tool].category not in expected
        and not (how == "proxy" and bare[tool].text == f"Error executing tool {tool}")
    }
    assert told == {}


@pytest.mark.parametrize("how", ["sdk", "masked"])
async def test_a_text_that_the_bare_server_masks_is_not_shown(how):
    bare, adopted = await answers(how, adopted=False), await answers(how, adopted=True)
    texts = {f"raises_{name}": str(make()) for name, (make, _) in RAISED.items()}
    masked = {tool: text for tool, text in texts.items() if text not in bare[tool].text}
    assert len(masked) > 40
    assert [tool for tool, text in masked.items() if text in adopted[tool].text] == []


@pytest.mark.parametrize("how", ["sdk", "fastmcp", "proxy"])
async def test_no_planted_secret_appears(how, tmp_path):
    audit, log = tmp_path / "audit-log.jsonl", tmp_path / "log.txt"
    recorder = PrometheusRecorder()
    runtime = Runtime(settings=Settings(audit_path=audit), metrics=recorder)
    logger.enable("failsoft")
    with log.open("a+", encoding="utf-8") as file:
        sink = logger.add(file, level="INFO")
        env = {"FAILSOFT_AUDIT_PATH": str(audit), "FAILSOFT_LOG_LEVEL": "INFO"}
        async with connected(how, runtime, errors=file, env=env) as call:
            said = [
                (await answer(call, "leak", {"number": number, "way": WAYS[number % 5]})).text
                + (await answer(call, "leak_result", {"number": number})).text
                for number in range(len(LEAKS))
            ]
        logger.remove(sink)
    places = {
        "answers": "\n".join(said),
        "log": log.read_text(encoding="utf-8"),
        "audit": audit.read_text(encoding="utf-8"),
        "metrics": generate_latest(recorder.registry).decode(),
    }
    assert places["log"].count("\n") > 100
    assert places["audit"].count("\n") > 100
    shown = {place: [text for text, secret in LEAKS if secret in read] for place, read in places.items()}
    assert {place: texts for place, texts in shown.items() if texts} == {}
