"""Bytes of other servers cost little memory, in the client and in a proxy: decoded, endless, or of many values."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time

import pytest

from tests.client.hostile_bytes import __file__ as program, website
from tests.doors import stdio_streams

GROWTH_BYTES = 100_000_000
WEB = {
    "works": "fine",
    "packed_answer": "fine",
    "gzip_bomb": "RESULT_TOO_LARGE",
    "deflate_bomb": "RESULT_TOO_LARGE",
    "twofold_bomb": "RESULT_TOO_LARGE",
    "event_bomb": "RESULT_TOO_LARGE",
    "error_bomb": "UPSTREAM_ERROR",
    "redirect_bomb": "UPSTREAM_ERROR",
    "endless_body": "RESULT_TOO_LARGE",
    "endless_event": "RESULT_TOO_LARGE",
    "endless_lines": "RESULT_TOO_LARGE",
    "endless_comments": "DEADLINE_EXCEEDED",
    "many_objects": "RESULT_TOO_LARGE",
    "many_objects_event": "RESULT_TOO_LARGE",
    "many_that_fit": "{'rows': [{}, {}, {}",
    "many_that_fit_event": "{'rows': [{}, {}, {}",
    "many_numbers": "RESULT_TOO_LARGE",
    "huge_headers": "BAD_OUTPUT",
}
LOCAL = {
    "long_line": "RESULT_TOO_LARGE",
    "garbage": "",
    "flood": "",
    "noise": "",
    "many_objects": "RESULT_TOO_LARGE",
    "many_that_fit": "{'rows': [{}, {}, {}",
    "endless_line": "DEADLINE_EXCEEDED",
}

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")


def measured(*words: str, **variables: str) -> dict[str, str]:
    """Return the code of each answer; fail if memory grew too far. Variables are those of the program."""
    done = subprocess.run(
        [sys.executable, str(program), "measure", *words],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    report = json.loads(done.stdout)
    assert {name: grown for name, (_, grown) in report["grown"].items() if grown > GROWTH_BYTES} == {}
    return {name: code for name, (code, _) in report["grown"].items()}


def some(expected: dict[str, str], *names: str) -> dict[str, str]:
    return {name: expected[name] for name in names}


def test_a_server_over_http_costs_little_memory():
    """The slow tests have all its answers, and the proxy."""
    expected = some(WEB, "works", "gzip_bomb", "endless_event", "many_that_fit")
    with website() as url:
        assert measured("url", url, HOSTILE_TOOLS=" ".join(expected)) == expected


def test_a_server_over_stdio_costs_little_memory():
    """As above."""
    expected = some(LOCAL, "long_line", "flood", "many_that_fit")
    assert measured("command", HOSTILE_TOOLS=" ".join(expected)) == expected


@pytest.mark.anyio
async def test_a_list_of_megabytes_is_read_beside_the_event_loop(tmp_path, monkeypatch):
    """Its parts that are no Unicode make it be read several times."""
    tools = [{"name": f"t{number}", "description": "\ud800" * 20, "inputSchema": {}} for number in range(20_000)]
    (tmp_path / "list").write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}) + "\n")
    began = time.thread_time()
    json.loads((tmp_path / "list").read_bytes())
    parsing = time.thread_time() - began
    longest, run = 0.0, asyncio.Handle._run

    def timed(handle):
        nonlocal longest
        began = time.thread_time()
        run(handle)
        longest = max(longest, time.thread_time() - began)

    monkeypatch.setattr(asyncio.Handle, "_run", timed)
    command = ["/bin/sh", "-c", f"cat {tmp_path / 'list'}; read -r _"]
    async with stdio_streams(command, environment={}, folder=None, limit_bytes=10_000_000) as (incoming, _):
        message = await incoming.receive()
    assert len(message.message.result["tools"]) == len(tools)
    assert longest < parsing / 2
