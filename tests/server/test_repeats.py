"""A client that repeats a failed call is told so over every transport, and whether it follows advice is counted."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from tests.server.processes import BOUND_S, Served

AGAIN = "This call has now failed three times in the same way."

pytestmark = pytest.mark.anyio


def told(result: Any) -> tuple[bool, bool]:
    """Return whether the text and the facts for programs say that the call is a repeat."""
    return AGAIN in result.content[0].text.splitlines(), result.meta["dev.failsoft/error"].get(
        "stop_reason"
    ) == "repeated"


async def test_the_third_failure_says_so(client: Client) -> None:
    name = uuid.uuid4().hex
    answers = [await client.call_tool("find", {"name": name}) for _ in range(3)]
    assert [told(answer) for answer in answers] == [(False, False), (False, False), (True, True)]
    refused = [await client.call_tool("double", {"number": name}) for _ in range(3)]
    assert [told(answer) for answer in refused] == [(False, False), (False, False), (True, True)]


async def test_two_workers_count_together(served: Callable[..., Served]) -> None:
    server = served("http", "tools=polite", "workers=2")
    url = await anyio.to_thread.run_sync(server.wait_for, "ready")
    workers = set[int]()
    with anyio.fail_after(BOUND_S):
        while len(workers) < 2:  # each connection may come to either
            async with Client(f"{url}/mcp") as client:
                process = int((await client.call_tool("process_id")).structured_content["data"])  # type: ignore[index]
                if process not in workers:
                    workers.add(process)
                    for _ in range(4):
                        await client.call_tool("double", {"number": "5"})
                    await client.call_tool("double", {"number": 5})
        assert await scraped(url) == {"repeated": 4, "followed_ok": 2, "followed_failed": 0, "ignored": 6}


async def scraped(url: str) -> dict[str, int]:
    """Return what the metrics say, once those of the other worker are there."""
    line = r'^mcp_(?:next_steps|repeated_failures)_total\{code="INVALID_PARAM"(?:,result="(\w+)")?\} (\d+)'
    until, found = time.monotonic() + BOUND_S / 2, dict[str, int]()
    async with httpx2.AsyncClient() as client:
        while sum(found.values()) < 12 and time.monotonic() < until:
            text = (await client.get(f"{url}/metrics")).text
            found = {result or "repeated": int(count) for result, count in re.findall(line, text, re.MULTILINE)}
    return found
