"""What an operator sees of a proxy: its log, and servers that come later than the proxy."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

from tests.proxy.conftest import HOSTILE, proxied, proxy_parameters, with_variables
from tests.proxy.test_foreign_lists import GOOD, command
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def run_proxy(*words: str) -> subprocess.CompletedProcess[str]:
    command = [PYTHON, "-m", "failsoft", "proxy", *words]
    return subprocess.run(
        command, input=json.dumps(INITIALIZE) + "\n", capture_output=True, text=True, timeout=300, check=False
    )


def test_a_program_that_does_not_exist_is_a_configuration_error() -> None:
    done = run_proxy("--", "no-such-program-of-failsoft", "--root", "/")
    assert done.returncode == 3
    assert "CONFIG_ERROR" in done.stderr
    assert "no-such-program-of-failsoft" in done.stderr


def test_an_upstream_that_cannot_be_started_beside_one_that_can_is_in_the_log_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("FAILSOFT_TIMEOUT", "5")
    servers = {"here": {"command": PYTHON, "args": [str(HOSTILE)]}, "gone": {"command": "/nonexistent/server"}}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    done = run_proxy("--config", str(file))
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    line = next(line for line in lines if line.get("upstream") == "gone")
    assert line["level"] == "WARNING"
    assert line["reason"].startswith("FileNotFoundError")
    assert done.returncode == 0
    assert "did you mean FAILSOFT_DEFAULT_TIMEOUT_S?" in done.stderr


LISTS = (
    types.ToolListChangedNotification,
    types.ResourceListChangedNotification,
    types.PromptListChangedNotification,
)


class Announced:
    """The lists that a client was notified about."""

    def __init__(self) -> None:
        self.events = {kind: anyio.Event() for kind in LISTS}

    async def __call__(self, message: Any) -> None:
        if type(message) in self.events:
            self.events[type(message)].set()

    async def wait(self, *kinds: type) -> None:
        with anyio.fail_after(60):
            for kind in kinds:
                await self.events[kind].wait()


async def test_a_server_that_comes_late_is_offered_and_announced(tmp_path):
    announced = Announced()
    upstream = with_variables([PYTHON, str(HOSTILE)], {"HOSTILE_FIRST_START": str(tmp_path / "started")})
    async with proxied(upstream=upstream, mode="legacy", message_handler=announced) as client:
        if not (await client.list_tools()).tools:
            await announced.wait(*LISTS)
        assert (await client.call_tool("echo", {"text": "late"})).content[0].text == "late"
        assert (await client.list_resources()).resources == (await client.list_prompts()).prompts == []


async def test_resources_and_prompts_that_appear_later_are_announced_and_listed():
    announced = Announced()
    upstream = [PYTHON, str(HOSTILE)]
    async with proxied(upstream=upstream, mode="legacy", message_handler=announced) as client:
        assert (await client.list_resources()).resources == []
        assert (await client.list_prompts()).meta == {"shop/a": 1}  # without what the upstream sent in our name
        await client.call_tool("grow", {})
        await announced.wait(*LISTS[1:])
        (resource,) = (await client.list_resources()).resources
        (prompt,) = (await client.list_prompts()).prompts
        assert (resource.name, resource.description) == ("stock", "All [2J stock.")
        assert (prompt.name, prompt.arguments[0].description) == ("sell", "Which book.")


async def test_a_resource_that_is_never_sent_is_a_timeout():
    environment = {"FAILSOFT_DEFAULT_TIMEOUT_S": "0.5"}
    async with proxied(upstream=[PYTHON, str(HOSTILE)], env=environment) as client:
        with pytest.raises(MCPError) as raised:
            await client.read_resource("shop://never")
    assert raised.value.error.data["code"] == "TIMEOUT"


async def test_a_stale_answer_stands_in_for_a_failed_read_only_tool(tmp_path):
    file = tmp_path / "overrides.toml"
    file.write_text("[tools.works_once]\nattempts = 1\nstale_s = 60\n")
    async with proxied("--overrides", str(file), upstream=[PYTHON, str(HOSTILE)]) as client:
        first = await client.call_tool("works_once", {"text": "a"})
        again = await client.call_tool("works_once", {"text": "a"})
        other = await client.call_tool("works_once", {"text": "b"})
    assert first.content == again.content
    assert again.meta["dev.failsoft/metadata"]["recovery"]["degraded"] is True
    assert other.structured_content["error"]["code"] == "UPSTREAM_ERROR"


async def test_a_hidden_tool_cannot_be_called_and_a_misspelt_override_is_logged(tmp_path):
    file, log = tmp_path / "overrides.toml", tmp_path / "log"
    file.write_text("[tools.die]\nhidden = true\n[tools.ecko]\nhidden = true\n")
    parameters = proxy_parameters("--overrides", str(file), upstream=[PYTHON, str(HOSTILE)])
    with log.open("w") as errors:
        async with Client(stdio_client(parameters, errlog=errors), cache=None) as client:
            with pytest.raises(MCPError) as raised:
                await client.call_tool("die", {})
    assert raised.value.error.code == -32602
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    unused = next(line for line in lines if line.get("override"))
    assert (unused["level"], unused["override"], unused["closest"]) == ("WARNING", "ecko", "echo")


async def test_limits_hold_for_all_tools_of_an_upstream_and_for_no_other(tmp_path):
    command = {"command": PYTHON, "args": [str(HOSTILE)]}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"a": command, "b": command}}))
    limits = 'tools.a = {dependency = "a", rate_limit = {limit = "2/hour"}, bulkhead = {limit = 4}}'
    parameters = proxy_parameters("--config", str(config), upstream=[], env={"FAILSOFT_RECOVERY": limits})
    async with Client(stdio_client(parameters), cache=None) as client:
        names = ("a__echo", "a__echo_safely", "a__echo", "b__echo", "b__echo", "b__echo")
        results = [await client.call_tool(name, {"text": "on"}) for name in names]
    codes = [item.structured_content["error"]["code"] if item.is_error else "ok" for item in results]
    assert codes == ["ok", "ok", "RATE_LIMITED", "ok", "ok", "ok"]


async def test_a_log_message_of_an_upstream_is_passed_on_once(tmp_path):
    logged: list[Any] = []

    async def log(params: Any) -> None:
        logged.append(params.data)

    upstream = command(tmp_path, [{**GOOD, "name": "log"}])
    async with proxied(upstream=upstream, mode="legacy", logging_callback=log) as client:
        for _ in range(3):
            await client.call_tool("log", {})
        with anyio.fail_after(60):
            while len(logged) < 3:  # noqa: ASYNC110 - sent by another process
                await anyio.sleep(0.02)
        await client.list_tools()
    assert logged == ["busy"] * 3
