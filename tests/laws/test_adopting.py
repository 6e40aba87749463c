"""Adopting a server never says less: what its bare tools say of a failure is in the answer with failsoft in front."""

from __future__ import annotations

import functools
import json
import re
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
from tests.adopting.facts import facts_of, missing
from tests.adopting.failing_ways import RAISED, REPORTED, RESULTS, VALUES
from tests.adopting.own_servers import fastmcp_server, sdk_server
from tests.adopting.planted_secrets import LEAKS, WAYS
from tests.proxy.conftest import proxied

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("transports")]

UPSTREAM = [sys.executable, "-m", "tests.adopting.own_servers"]
ADOPTED = ("sdk", "fastmcp", "proxy")
TOOLS = [
    *(f"reports_{name}" for name in REPORTED),
    *(f"raises_{name}" for name in RAISED),
    *(f"returns_{name}" for name in VALUES),
    *(f"answers_{name}" for name in RESULTS),
]
WELL_KNOWN = {
    f"{kind}_{name}": category
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
async def connected(how: str, runtime: Any = None, *, adopted: bool = True) -> AsyncIterator[Any]:
    """Yield the function that calls a tool, by name and arguments."""
    if how == "fastmcp":
        from fastmcp import Client as FastMCPClient  # noqa: PLC0415 - takes seconds to load

        async with FastMCPClient(fastmcp_server(runtime, adopted=adopted)[0]) as client:
            yield client.call_tool_mcp
    elif how == "sdk":
        async with Client(sdk_server(runtime, adopted=adopted)[0]) as client:
            yield client.call_tool
    elif adopted:
        async with proxied("--name", "ways", upstream=UPSTREAM) as client:
            yield client.call_tool
    else:
        transport = stdio_client(StdioServerParameters(command=UPSTREAM[0], args=UPSTREAM[1:]))
        async with Client(transport, cache=None) as client:
            yield client.call_tool


async def answer(call: Any, tool: str, arguments: dict[str, Any]) -> Answer:
    try:
        result = await call(tool, arguments)
    except MCPError as error:
        text = f"{error.error.code} {error.error.message} {json.dumps(error.error.data, ensure_ascii=False)}"
        return Answer(failed=True, text=text, category="")
    tree = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    blocks = [block.get("text") or block.get("resource", {}).get("text", "") for block in tree["content"]]
    structured = json.dumps(tree.get("structuredContent", {}), ensure_ascii=False)
    told = tree.get("_meta", {}).get("dev.failsoft/error", {})
    return Answer(bool(tree.get("isError")), "\n".join([*blocks, structured]), told.get("category", ""))


@functools.cache
def kept() -> dict[tuple[str, bool], dict[str, Answer]]:
    """Return what the calls of this process have given, so that each server is asked once."""
    return {}


async def answers(how: str, *, adopted: bool) -> dict[str, Answer]:
    """Return the answer of each tool."""
    if (how, adopted) not in kept():
        async with connected(how, fresh_runtime() if adopted else None, adopted=adopted) as call:
            kept()[how, adopted] = {tool: await answer(call, tool, {"item": "tea"}) for tool in TOOLS}
    return kept()[how, adopted]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("how", ADOPTED)
async def test_no_fact_of_the_bare_server_is_missing(how, tool):
    bare, adopted = (await answers(how, adopted=False))[tool], (await answers(how, adopted=True))[tool]
    assert adopted.failed or not bare.failed
    assert missing(facts_of(bare.text), adopted.text) == [], (bare.text, adopted.text)


@pytest.mark.parametrize("tool", WELL_KNOWN)
@pytest.mark.parametrize("how", ADOPTED)
async def test_the_category_is_the_one_that_a_user_expects(how, tool):
    found = (await answers(how, adopted=True))[tool]
    assert found.category in WELL_KNOWN[tool].split("|"), found.text
