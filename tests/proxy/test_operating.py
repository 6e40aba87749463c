"""What an operator sees of a proxy: its log, and servers that come later than the proxy."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

from tests.proxy.conftest import HOSTILE, proxied, proxy_parameters

pytestmark = pytest.mark.anyio


def test_a_server_that_cannot_be_started_is_in_the_log_with_the_reason():
    command = [sys.executable, "-m", "failsoft", "proxy", "--", "/nonexistent/server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as proxy:
        assert proxy.stderr is not None
        line = json.loads(proxy.stderr.readline())
        proxy.communicate(timeout=60)
    assert (line["level"], line["upstream"]) == ("WARNING", "server")
    assert line["reason"].startswith("FileNotFoundError")
    assert proxy.returncode == 0


async def test_a_server_that_comes_late_is_offered_and_announced(tmp_path):
    announced = anyio.Event()

    async def seen(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            announced.set()

    upstream = [sys.executable, str(HOSTILE)]
    environment = {"HOSTILE_FIRST_START": str(tmp_path / "started")}
    async with proxied(upstream=upstream, env=environment, mode="legacy", message_handler=seen) as client:
        with anyio.fail_after(60):
            if not (await client.list_tools()).tools:
                await announced.wait()
        assert (await client.call_tool("echo", {"text": "late"})).content[0].text == "late"


async def test_a_stale_answer_stands_in_for_a_failed_read_only_tool(tmp_path):
    file = tmp_path / "overrides.toml"
    file.write_text("[tools.works_once]\nattempts = 1\nstale_s = 60\n")
    async with proxied("--overrides", str(file), upstream=[sys.executable, str(HOSTILE)]) as client:
        first = await client.call_tool("works_once", {"text": "a"})
        again = await client.call_tool("works_once", {"text": "a"})
        other = await client.call_tool("works_once", {"text": "b"})
    assert first.content == again.content
    assert again.meta["dev.failsoft/metadata"]["recovery"]["degraded"] is True
    assert other.structured_content["error"]["code"] == "UPSTREAM_ERROR"


async def test_a_hidden_tool_cannot_be_called_and_a_misspelt_override_is_logged(tmp_path):
    file, log = tmp_path / "overrides.toml", tmp_path / "log"
    file.write_text("[tools.die]\nhidden = true\n[tools.ecko]\nhidden = true\n")
    parameters = proxy_parameters("--overrides", str(file), upstream=[sys.executable, str(HOSTILE)])
    with log.open("w") as errors:
        async with Client(stdio_client(parameters, errlog=errors), cache=None) as client:
            with pytest.raises(MCPError) as raised:
                await client.call_tool("die", {})
    assert raised.value.error.code == -32602
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    unused = next(line for line in lines if line.get("override"))
    assert (unused["level"], unused["override"], unused["closest"]) == ("WARNING", "ecko", "echo")
