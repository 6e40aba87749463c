"""What a proxy declares to its upstreams that its client can be asked: what that client has declared."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client

from tests.doors import Overrides, ProxySource, assemble_proxy, from_command
from tests.proxy.conftest import HOSTILE, proxied, proxy_parameters
from tests.proxy.test_foreign_lists import GOOD, command
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio
TOOL = {**GOOD, "name": "capabilities"}


async def sample(_ctx: Any, _params: Any) -> types.CreateMessageResult:
    return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="yes"), model="m")


async def elicit(_ctx: Any, _params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="decline")


async def roots(_ctx: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[])


CALLBACKS = {"sampling": sample, "elicitation": elicit, "roots": roots}


async def declared_to(client: Client) -> set[str]:
    return set(json.loads((await client.call_tool("capabilities", {})).content[0].text))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("kinds", [(), ("elicitation",), ("sampling", "roots"), tuple(CALLBACKS)])
async def test_what_the_client_can_be_asked_is_declared_and_nothing_else(tmp_path, mode, kinds):
    names = {"sampling": "sampling_callback", "elicitation": "elicitation_callback", "roots": "list_roots_callback"}
    callbacks = {names[kind]: CALLBACKS[kind] for kind in kinds}
    async with proxied(upstream=command(tmp_path, [TOOL]), mode=mode, **callbacks) as client:
        assert await declared_to(client) == set(kinds)


async def test_of_many_clients_only_the_person_behind_a_call_can_be_asked(tmp_path):
    source = ProxySource([from_command(command(tmp_path, [TOOL]), name="odd")], Overrides())
    async with Client(assemble_proxy(source).server, cache=None, sampling_callback=sample) as client:
        assert await declared_to(client) == {"elicitation"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_client_still_learns_what_the_server_offers(mode):
    async with proxied(upstream=[PYTHON, str(HOSTILE)], mode=mode, sampling_callback=sample) as client:
        offered = client.server_capabilities
        assert (offered.tools is None, offered.resources is None, offered.prompts is None) == (False, False, False)


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def test_what_is_asked_for_while_a_slow_server_starts_waits_for_it(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    slow = ["sh", "-c", 'while [ ! -e "$0" ]; do sleep 0.05; done; exec "$@"', str(gate), *command(tmp_path, [TOOL])]
    proxy = proxy_parameters(upstream=slow)
    with subprocess.Popen(
        [proxy.command, *proxy.args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=proxy.env, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number, method in enumerate(("server/discover", "tools/list", "ping")):
            sent = {"jsonrpc": "2.0", "id": number, "method": method, "params": {"_meta": MODERN}}
            process.stdin.write(json.dumps(sent) + "\n")
            process.stdin.flush()
        first = json.loads(process.stdout.readline())
        gate.touch()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        process.wait(60)
    (listed,) = [one["result"]["tools"] for one in (first, *answers) if one["id"] == 1]
    assert [tool["name"] for tool in listed] == ["capabilities"]
    assert first["id"] == 2


BOTH = [PYTHON, str(Path(__file__).with_name("both_eras.py"))]


async def test_a_client_of_the_older_era_gets_the_log_and_the_changes_of_a_server_of_the_newer_one():
    logged = []

    async def log(params: Any) -> None:
        logged.append(params.data)

    async with proxied(upstream=BOTH, mode="legacy", logging_callback=log) as client:
        assert client.server_capabilities.tools.list_changed is True
        await client.call_tool("count", {})
        assert logged == ["counting"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_instructions_of_the_server_reach_the_client(mode):
    async with proxied(upstream=BOTH, mode=mode) as client:
        assert client.instructions == "Read before you count."
