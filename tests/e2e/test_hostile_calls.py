"""Hostile calls in memory: each is answered properly, counted, and survived.

`tests/slow/clients/test_hostile_traffic.py` sends them over HTTP and stdio, in broken forms as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import given, strategies as st
from loguru import logger
from mcp import Client, MCPError
from mcp.types import CallToolRequestParams

from failsoft import Runtime, Settings, mcp_server
from failsoft.metrics import PrometheusRecorder, render
from failsoft.tools.docs import Docs
from tests.e2e.hostile import TOOLS, is_text, spoken
from tests.e2e.under_attack import BOUND_S, Grounds, Judge, assert_all_counted, bounded, samples_in
from tests.thorough import examples

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

BATCHES, AT_ONCE = examples(200), 20


class _InMemory:
    """A client of a server in this process, which is asked from a plain function."""

    def __init__(self, grounds: Grounds) -> None:
        self.recorder = PrometheusRecorder()
        runtime = Runtime(settings=Settings(max_response_bytes=1_000_000), metrics=self.recorder)
        self.server = mcp_server(Docs(grounds.root, runtime=runtime))
        self.faults: list[str] = []

    async def ask(self, client: Client, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        """Return the answers to calls that are made at once: a result, or the protocol's error."""
        answers: list[Any] = [None] * len(calls)

        async def ask_one(place: int, name: str, arguments: dict[str, Any]) -> None:
            try:
                answers[place] = await client.call_tool(name, arguments)
            except MCPError as error:
                answers[place] = error.error

        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:
                for place, (name, arguments) in enumerate(calls):
                    group.start_soon(ask_one, place, name, arguments)
        return answers


def can_be_sent(call: tuple[str, dict[str, Any]]) -> bool:
    """Return whether the SDK's client can send it: the name in a header, all else as pydantic dumps it.

    Neither is possible with half of a surrogate pair, which pydantic refuses in the keys of inner objects.
    """
    name, arguments = call
    try:
        CallToolRequestParams(name=name, arguments=arguments).model_dump(mode="json")
    except UnicodeEncodeError:
        return False
    return is_text(name)


@pytest.fixture
def faults() -> Iterator[list[str]]:
    """Return what is logged as a fault of ours."""
    lines: list[str] = []
    logger.enable("failsoft")
    sink = logger.add(lines.append, level="ERROR", format="{message} {extra} {exception}", diagnose=False)
    yield lines
    logger.remove(sink)
    logger.disable("failsoft")


def test_hostile_calls_are_answered_and_counted(tmp_path: Path, faults: list[str]) -> None:
    grounds = Grounds(tmp_path)
    attacked = _InMemory(grounds)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(attacked.server)) as client:
        listed = portal.call(client.list_tools).tools
        judge = Judge(grounds, {tool.name: tool.output_schema or {} for tool in listed})
        before = samples_in(render(attacked.recorder)[0].decode())

        @bounded(BATCHES)
        @given(st.lists(spoken().filter(can_be_sent), min_size=AT_ONCE, max_size=AT_ONCE))
        def each_is_answered(calls: list[tuple[str, dict[str, Any]]]) -> None:
            for (name, _), answer in zip(calls, portal.call(attacked.ask, client, calls), strict=True):
                seen = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
                assert grounds.hides(json.dumps(seen)), seen
                if name in TOOLS:
                    judge.result(seen, name)
                else:
                    judge.error(seen)

        each_is_answered()
        assert portal.call(client.call_tool, "get_documentation", {"path": "guide/intro.mdx"}).is_error is False
    judge.answered["get_documentation", False] += 1
    assert sum(judge.answered.values()) > BATCHES * AT_ONCE // 2
    assert_all_counted(before, samples_in(render(attacked.recorder)[0].decode()), judge)
    assert faults == []
