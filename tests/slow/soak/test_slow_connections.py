"""More slow connections than a process usually has files."""

from __future__ import annotations

import json
import resource
import sys
from contextlib import ExitStack

import httpx2
import pytest

from tests.server.http.process.test_slow_clients import BEGUN, connected
from tests.server.processes import BOUND_S, Served

CALLING = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


class Cold(Served):
    """A server that has the limits of this process."""

    python = sys.executable


def test_two_thousand_slow_connections() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4_096:
        pytest.skip("the system grants too few descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4_096), hard))
    server = Cold("http", "tools=polite")
    with ExitStack() as stack:
        stack.callback(server.close)
        url = server.wait_for("ready")
        for _ in range(2_000):
            stack.enter_context(connected(url, BEGUN))
        assert httpx2.get(f"{url}/healthz", timeout=BOUND_S).status_code == 200
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "process_id", "arguments": {}}}
        answer = httpx2.post(f"{url}/mcp", json=call, headers=CALLING, timeout=BOUND_S)
        event = next(line for line in answer.text.splitlines() if line.startswith("data: "))
        assert json.loads(event.removeprefix("data: "))["result"]["structuredContent"]["success"]
        lines = len(server.errors)
    assert lines < 10
