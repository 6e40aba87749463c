"""Bytes of other servers cost little memory, in the client and in a proxy: decoded, endless, or of many values."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from tests.doors import stdio_streams


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
