"""A server whose standard error is not read: calls are answered, and it ends on a signal."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from tests.cli.serving import serving
from tests.zygote import PYTHON

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the size of a pipe is set as Linux does")

BOUND_S = 60
CALLS = 30
"""Each leaves a line of some 700 bytes, and the pipe holds 4,096."""


@pytest.fixture
def unread() -> Iterator[int]:
    """Return the end of a small pipe that is written to, while the other end is not read."""
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4_096)
    yield write
    os.close(read)
    os.close(write)


@pytest.mark.anyio
async def test_a_server_over_http_answers_though_its_log_is_not_read(folder: Path) -> None:
    with serving(folder, "--app", "library:Library") as (url, process):
        assert process.stderr is not None
        fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, 4_096)
        with anyio.fail_after(BOUND_S):
            async with Client(f"{url}/mcp") as client:
                for _ in range(CALLS):
                    assert (await client.call_tool("get_book", {"title": "Duna"})).is_error
            assert httpx2.get(f"{url}/readyz").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(BOUND_S) == 0


def test_a_server_over_stdio_answers_though_its_log_is_not_read(folder: Path, unread: int) -> None:
    command = [PYTHON, "-m", "failsoft", "serve", "--app", "library:Library"]
    call = {"name": "get_book", "arguments": {"title": "Duna"}}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        *({"id": number, "method": "tools/call", "params": call} for number in range(1, CALLS + 1)),
    ]
    written = b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages)
    done = subprocess.run(
        command, cwd=folder, input=written, stdout=subprocess.PIPE, stderr=unread, timeout=BOUND_S, check=True
    )
    assert {json.loads(line)["id"] for line in done.stdout.splitlines()} == set(range(CALLS + 1))
