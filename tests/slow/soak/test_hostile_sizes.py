"""Sizes that are not ours: what a proxy and a client hold in memory, and how long they compute, stays bounded."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client as SdkClient

from failsoft import ToolError
from failsoft.client import Client
from tests.doors import Overrides, ProxySource, assemble_proxy, from_command, from_url
from tests.proxy import test_http_upstream
from tests.proxy.test_foreign_lists import GOOD, command

pytestmark = pytest.mark.anyio
MEGABYTE = 1_000_000
DECODED_MB = 64
HELD_AT_MOST = 48 * MEGABYTE
"""Above what a message of 8 MB, its text and its tree take, and below one copy of what is sent."""
BOUND_S = 60.0


def works(handler: Any, message: Any) -> None:
    """Answer with a body of less than a hundredth of its decoded size."""
    before, after = json.dumps({"content": [{"type": "text", "text": "|"}]}).encode().split(b"|")
    pack = zlib.compressobj(1, wbits=31)
    body = pack.compress(b'{"jsonrpc": "2.0", "id": %s, "result": ' % json.dumps(message["id"]).encode() + before)
    for _ in range(DECODED_MB):
        body += pack.compress(b"x" * MEGABYTE)
    body += pack.compress(after + b"}") + pack.flush()
    assert len(body) < MEGABYTE
    handler.reply(200, body, {"content-type": "application/json", "content-encoding": "gzip"})


@contextmanager
def compressed(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve MCP over HTTP with a tool whose answer is compressed."""
    monkeypatch.setattr(test_http_upstream.Handler, "works", works)
    with test_http_upstream.website() as url:
        yield url


@contextmanager
def peak() -> Iterator[list[int]]:
    """Give the highest number of bytes that were held within the block, at its end."""
    found: list[int] = []
    tracemalloc.start()
    try:
        yield found
        found.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


async def test_a_proxy_does_not_hold_what_a_small_body_decodes_to(monkeypatch):
    with compressed(monkeypatch) as url, anyio.fail_after(BOUND_S):
        source = ProxySource([from_url(url)], Overrides())
        async with SdkClient(assemble_proxy(source).server, cache=None) as client:
            await client.list_tools()
            with peak() as held:
                result = await client.call_tool("works", {})
    assert result.is_error
    assert held[0] < HELD_AT_MOST


async def test_the_client_does_not_hold_what_a_small_body_decodes_to(monkeypatch):
    with compressed(monkeypatch) as url, anyio.fail_after(BOUND_S):
        async with Client(url, mode="legacy") as client:
            with peak() as held:
                try:
                    await client.call("works", timeout_s=BOUND_S)
                except ToolError as error:
                    code = error.code
                else:
                    code = "ok"
    assert held[0] < HELD_AT_MOST
    assert code == "RESULT_TOO_LARGE"


async def taken(folder: Path, number: int) -> tuple[int, float]:
    """Return how many tools a proxy offers of so many, and how much CPU it uses until then."""
    tools = [{**GOOD, "name": f"tool_{index}"} for index in range(number)]
    source = ProxySource([from_command(command(folder, tools), name="odd")], Overrides())
    began = time.process_time()
    with anyio.fail_after(4 * BOUND_S):
        async with SdkClient(assemble_proxy(source).server, cache=None) as client:
            cursor, offered = None, 0
            while offered == 0 or cursor:
                page = await client.list_tools(cursor=cursor)
                cursor, offered = page.next_cursor, offered + len(page.tools)
    return offered, time.process_time() - began


async def test_six_thousand_tools_cost_little_more_than_two_thousand(tmp_path):
    await taken(tmp_path, 10)  # imports
    (few, of_few_s), (many, of_many_s) = await taken(tmp_path, 2_000), await taken(tmp_path, 6_000)
    assert (few, many) == (2_000, 2_000)
    assert of_many_s < 1.8 * of_few_s


STUBBORN = """
import contextlib, os, pathlib, sys, time
sys.path.insert(0, sys.argv[2])
pathlib.Path(sys.argv[3]).write_text(str(os.getpid()))
sys.argv = sys.argv[:2]
import runpy
with contextlib.suppress(BrokenPipeError):  # the proxy may be killed before it is answered
    runpy.run_path(str(pathlib.Path(sys.path[0], "scripted.py")), run_name="__main__")
time.sleep(3600)
"""


async def test_a_server_ends_with_its_proxy_also_if_that_is_killed(tmp_path):
    marker = tmp_path / "pid"
    script = command(tmp_path, [GOOD])[-1]
    scripted = str(Path(test_http_upstream.__file__).parent)
    words = ["-m", "failsoft", "proxy", "--", sys.executable, "-c", STUBBORN, script, scripted, str(marker)]
    proxy = await asyncio.create_subprocess_exec(sys.executable, *words, stdin=-1, stdout=-3, stderr=-3)
    server = 0
    try:
        async with asyncio.timeout(BOUND_S):
            while not (marker.exists() and marker.read_text()):  # noqa: ASYNC110 - written by another process
                await asyncio.sleep(0.05)
        server = int(marker.read_text())
        proxy.kill()
        await proxy.wait()
        has_ended = await ends(server, within_s=7.0)
    finally:
        if proxy.returncode is None:
            proxy.kill()
        if server and is_alive(server):
            os.kill(server, signal.SIGKILL)
    assert has_ended


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def ends(process: int, *, within_s: float) -> bool:
    """Return whether a process has ended by then: the grace of two seconds twice, and three seconds more."""
    try:
        async with asyncio.timeout(within_s):
            while is_alive(process):  # noqa: ASYNC110 - no child of this process
                await asyncio.sleep(0.05)
    except TimeoutError:
        return False
    return True
