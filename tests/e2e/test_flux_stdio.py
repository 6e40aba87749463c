"""The flux toolset over stdio: a real client follows next steps to growth, and no process outlives the server."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client, StdioServerParameters

from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import children, is_running, until
from tests.zygote import program_of

pytestmark = IN_FLUX

COMMAND = ["-m", "failsoft", "serve", "flux"]
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@pytest.mark.anyio
async def test_a_client_that_follows_next_steps_alone_comes_to_growth(flux_python: str, tmp_path: Path) -> None:
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}  # models outlive their server
    server = StdioServerParameters(command=flux_python, args=COMMAND, env=env)
    async with Client(server) as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}

        async def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            result = await client.call_tool(name, arguments)
            answer = result.structured_content
            assert answer is not None
            assert json.loads(result.content[0].text) == answer  # type: ignore[union-attr]
            assert result.is_error is not answer["success"]
            jsonschema.validate(answer, schemas[name] or {})
            return answer

        wrong = await call("load_model", {"name": "Textbook"})
        model = await call(wrong["next_step"]["tool"], wrong["next_step"]["arguments"])
        poor = await call("build_media", {"compounds": ["cpd00027", "cpd00007", "cpd00001"]})
        asked = {"model_id": model["model_id"], "media_id": poor["media_id"]}
        error = await call("run_fba", asked)
        assert error["error_code"] == "FBA_INFEASIBLE"
        rich = await call(error["next_step"]["tool"], error["next_step"]["arguments"])
        grown = await call("run_fba", {**asked, "media_id": rich["media_id"]})
        assert grown["growth_rate"] > 0.1
        assert (await call("list_models", {}))["total"] == 1


class Server:
    """A server whose standard output is read as it is."""

    def __init__(self, python: str) -> None:
        self.process = subprocess.Popen([python, *COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._number = 0
        self.ask("initialize", HELLO)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert answer["id"] == self._number
        return answer

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def family(self) -> list[int]:
        """Return the process ids of everything that the server has started."""
        found = [program_of(child) for child in children(program_of(self.process.pid))]
        return found + [item for child in found for item in children(child)]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


@pytest.fixture
def server(flux_python: str) -> Iterator[Server]:
    served = Server(flux_python)
    yield served
    served.close()


def test_nothing_outlives_a_server_that_is_killed_or_ends(server: Server) -> None:
    answer = server.ask("tools/call", {"name": "load_model", "arguments": {"name": "textbook"}})
    assert answer["result"]["structuredContent"]["success"]
    family = server.family()
    assert len(family) >= 2
    server.process.kill()
    until(lambda: not any(map(is_running, family)), "the end of the workers")


def test_a_server_that_ends_takes_its_workers_along_and_has_written_nothing_but_answers(server: Server) -> None:
    server.ask("tools/call", {"name": "load_model", "arguments": {"name": "textbook"}})
    family = server.family()
    assert len(family) >= 2
    assert server.process.stdin is not None
    assert server.process.stdout is not None
    server.process.stdin.close()
    assert server.process.stdout.read() == b""
    assert server.process.wait(60) == 0
    until(lambda: not any(map(is_running, family)), "the end of the workers")  # the kernel kills them as it can
