"""Results that are answered without the SDK's work have the envelope that the SDK would give them, in every version."""

from __future__ import annotations

import json
import re
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest
from mcp.server import Server
from mcp.server.stdio import stdio_server

from failsoft import BaseTool, mcp_server, operation
from tests.doors import DirectAnswers
from tests.server.http.lane_requests import META
from tests.server.served_tools import Hostile, Polite

pytestmark = pytest.mark.anyio

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("tools/list", {}),
    ("tools/call", {"name": "double", "arguments": {"number": 4}}),
    ("tools/call", {"name": "find", "arguments": {"name": "gone"}}),
    ("tools/call", {"name": "find", "arguments": {"name": "moved"}}),
    ("tools/call", {"name": "picture"}),
    ("tools/call", {"name": "picture", "arguments": None}),
    ("tools/call", {"name": "double", "arguments": [4]}),
    ("tools/call", {"name": "no_such_tool", "arguments": {}}),
    ("tools/call", {"arguments": {}}),
    ("tools/call", {"name": "double", "arguments": {"number": 4}, "extra": 1}),
    ("tools/list", {"cursor": "x"}),
]
VOLATILE = re.compile(
    r'(execution_time_ms\\*":|timestamp\\*": *\\*"|(?:error|request)[_ ]id[\\": ]+)[0-9a-fTZ:.+-]+', re.IGNORECASE
)


class Input:
    """What a client sends over stdio; its lines are read one by one, after each answer."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self.is_next = anyio.Semaphore(1)

    def __aiter__(self) -> Input:
        return self

    async def __anext__(self) -> str:
        await self.is_next.acquire()
        if not self._lines:
            raise StopAsyncIteration
        line = self._lines.pop(0)
        if '"id"' not in line:
            self.is_next.release()
        return line + "\n"


class Output:
    """What the server writes."""

    def __init__(self, given: Input) -> None:
        self._given = given
        self.lines: list[str] = []

    async def write(self, text: str) -> None:
        self.lines.append(VOLATILE.sub(r"\g<1>0", text))
        self._given.is_next.release()

    async def flush(self) -> None:
        """Nothing waits."""


async def conversation(
    server: Server[Any], version: str, *, is_begun: bool = True, are_notifications: bool = False
) -> list[Any]:
    """Return what the server answers over the SDK's stdio transport, to requests or to notifications of the same."""
    is_modern = version == VERSIONS[-1]
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    trees: list[dict[str, Any]] = []
    if not is_modern and is_begun:
        trees += [{"id": 0, "method": "initialize", "params": params}, {"method": "notifications/initialized"}]
    more = {"_meta": META} if is_modern else {}
    ids: list[dict[str, int]] = [{} if are_notifications else {"id": number} for number in range(1, len(REQUESTS) + 1)]
    trees += [
        {**own_id, "method": name, "params": {**own, **more}} for own_id, (name, own) in zip(ids, REQUESTS, strict=True)
    ]
    given = Input([json.dumps({"jsonrpc": "2.0", **tree}) for tree in trees])
    out = Output(given)
    async with AsyncExitStack() as stack:
        read, write = await stack.enter_async_context(stdio_server(given, out))  # type: ignore[arg-type]  # as files
        with anyio.fail_after(30):
            await server.run(read, write, server.create_initialization_options())
    return [json.dumps(json.loads(line), sort_keys=True) for line in out.lines]


def plain_server() -> Server[Any]:
    """Return a server without the middleware that answers instead of the SDK."""
    server = mcp_server([Polite, Hostile])
    server.middleware[:] = [one for one in server.middleware if not isinstance(one, DirectAnswers)]
    return server


@pytest.mark.parametrize("version", VERSIONS)
async def test_envelopes_over_stdio_are_those_of_the_sdk(version: str) -> None:
    ours = await conversation(mcp_server([Polite, Hostile]), version)
    assert ours == await conversation(plain_server(), version)
    assert sum('"structuredContent"' in line for line in ours) >= 4


async def test_before_the_handshake_of_an_older_version_nothing_is_answered() -> None:
    ours = await conversation(mcp_server([Polite, Hostile]), VERSIONS[2], is_begun=False)
    assert ours == await conversation(plain_server(), VERSIONS[2], is_begun=False)
    assert all('"error"' in line for line in ours)


class Counted(BaseTool):
    """Counts its calls."""

    calls = 0

    @operation(read_only=True)
    async def double(self, number: int) -> int:
        """Return twice the number."""
        self.calls += 1
        return 2 * number


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_notification_runs_no_tool(version: str) -> None:
    tool = Counted()
    assert await conversation(mcp_server(tool), version) != []
    answered = tool.calls
    assert answered > 0
    await conversation(mcp_server(tool), version, are_notifications=True)
    assert tool.calls == answered
