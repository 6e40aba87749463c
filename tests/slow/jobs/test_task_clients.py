"""Real clients that know task handles, over stdio and HTTP, while their servers are killed and replaced.

The client of the SDK runs here. The others are as they are on PyPI, each in an environment of its own, which
`scripts/fetch.sh more_agents` makes; CI does without them.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.ports import reserved_ports
from tests.programs.nginx import page_configuration
from tests.server.http.process.ledger import Serving
from tests.server.processes import BOUND_S
from tests.server.protocol.test_tasks import GetTask, State, Task, TaskParams, Waiting
from tests.zygote import PYTHON, program_of

ROOT = Path(__file__).parents[3]
APP = "tests.slow.jobs.kitchen:Kitchen"
CLIENTS = {"fastmcp": "tasks", "fastmcp_handle": "tasks", "pydantic_ai": "tasks", "strands": "strands"}
"""The clients of task_client.py, and the environment of each."""
FOLDER = Path(os.environ.get("MORE_AGENTS", Path.home() / ".cache" / "failsoft-more-agents"))
OTHERS = tuple(CLIENTS) if (FOLDER / "stamp").exists() else ()
SECONDS = 3.0
"""How long a dish takes that is cooked while servers are replaced."""


class Replica(Serving):
    """`failsoft serve` with the kitchen."""

    program = ("-m", "failsoft", "serve", "--app", APP)


class Kitchens:
    """Two replicas with one state store, behind nginx as the page about deployment sets it up, but without TLS."""

    def __init__(self, nginx: str, folder: Path, stack: ExitStack) -> None:
        port, *self._ports = stack.enter_context(reserved_ports(3))
        self.url = f"http://127.0.0.1:{port}/mcp"
        self._begun = folder / "begun"
        self._settings = {"FAILSOFT_STATE_URL": f"sqlite:{folder}/state.db", "BEGUN": str(self._begun)}
        self._stack = stack
        self.replicas = [self._started(0), self._started(1)]
        for replica in self.replicas:
            replica.url()
        file = page_configuration(folder, port, self._ports)
        file.write_text(re.sub(r"ssl_certificate\w* [^;]+;| ssl(?=;)", "", file.read_text()))
        command = [nginx, "-p", str(folder), "-c", str(file), "-e", str(folder / "error.log")]
        proxy = subprocess.Popen(command)
        stack.callback(proxy.wait, BOUND_S)
        stack.callback(proxy.terminate)

    def _started(self, number: int) -> Replica:
        replica = Replica("--port", str(self._ports[number]), **self._settings)
        self._stack.callback(replica.close)
        return replica

    def begun(self) -> Counter[str]:
        """Return how often each dish was begun."""
        return Counter(line.split()[0] for line in self._lines())

    def processes(self) -> list[int]:
        """Return the processes that cook, by the time."""
        return [int(line.split()[1]) for line in self._lines()]

    def _lines(self) -> list[str]:
        return self._begun.read_text().splitlines() if self._begun.exists() else []

    async def has_begun(self, *dishes: str) -> None:
        """Wait until these dishes are begun."""
        async with asyncio.timeout(BOUND_S):
            while not self.begun().keys() >= {*dishes}:  # noqa: ASYNC110 - other processes write
                await asyncio.sleep(0.02)

    async def replace(self, number: int, how: signal.Signals) -> None:
        """End a replica and start it again."""
        replica = self.replicas[number]
        os.kill(program_of(replica.process.pid), how)
        await asyncio.to_thread(replica.wait)
        self.replicas[number] = self._started(number)
        await asyncio.to_thread(self.replicas[number].url)


@pytest.fixture(scope="module")
def kitchens(nginx: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kitchens]:
    """Two replicas behind nginx."""
    with ExitStack() as stack:
        yield Kitchens(nginx, tmp_path_factory.mktemp("kitchens"), stack)


async def outcomes(client: str, target: str | Sequence[str], calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what a client prints of the calls."""
    python = str(FOLDER / CLIENTS[client] / "bin" / "python")
    script = str(Path(__file__).with_name("task_client.py"))
    process = await asyncio.create_subprocess_exec(
        *(python, script, client, json.dumps(target), json.dumps(calls)),
        env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(BOUND_S):
        printed, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()[-3_000:]
    return [json.loads(line) for line in printed.splitlines()]


def dish(name: str, **arguments: Any) -> dict[str, Any]:
    """Return a call."""
    return {"name": "cook", "arguments": {"what": name, **arguments}}


def is_cooked(outcome: dict[str, Any], name: str) -> bool:
    """Return whether the client was given the result of the call."""
    expected = {"success": True, "data": {"cooked": name}}
    return (outcome["structured"], outcome["is_error"]) == (expected, False)


async def sdk(target: Any, calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the client of the SDK gets through its claim, in the form of the others."""
    where = streamable_http_client(target) if isinstance(target, str) else StdioServerParameters(**target)
    async with Client(where, extensions=[Waiting()]) as client:
        results = [await client.call_tool(call["name"], call["arguments"]) for call in calls]
    return [{"structured": result.structured_content, "is_error": result.is_error} for result in results]


def test_every_client_gets_its_result_though_a_process_and_a_replica_are_killed_and_the_other_one_ends(
    kitchens: Kitchens,
) -> None:
    async def story() -> None:
        names = ("sdk", *OTHERS)
        async with asyncio.TaskGroup() as group:
            cooking = {
                name: group.create_task(
                    sdk(kitchens.url, [dish(name, seconds=SECONDS)])
                    if name == "sdk"
                    else outcomes(name, kitchens.url, [dish(name, seconds=SECONDS)])
                )
                for name in names
            }
            await kitchens.has_begun(*names)
            os.kill(kitchens.processes()[-1], signal.SIGKILL)  # the others may have ended
            await kitchens.replace(0, signal.SIGKILL)
            await kitchens.replace(1, signal.SIGTERM)
        for name, task in cooking.items():
            assert is_cooked(task.result()[-1], name), task.result()
        assert max(kitchens.begun().values()) > 1  # what was lost was begun again

    asyncio.run(story())


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_a_client_gets_the_result_of_a_task_and_the_failure_of_one(
    client: str, transport: str, kitchens: Kitchens, tmp_path: Path
) -> None:
    if client not in OTHERS:
        pytest.skip("the client is not installed (scripts/fetch.sh more_agents)")
    state = f"FAILSOFT_STATE_URL=sqlite:{tmp_path}/state.db"
    command = ["env", state, f"BEGUN={tmp_path}/begun", f"PYTHONPATH={ROOT}", PYTHON, *Replica.program]
    target = kitchens.url if transport == "http" else [*command, "--transport", "stdio"]
    shown = asyncio.run(outcomes(client, target, [dish("soup"), dish("stone")]))
    good, bad = [one for one in shown if "task" not in one]
    assert is_cooked(good, "soup")
    assert bad["is_error"]
    assert "CONFLICT" in bad["text"]
    assert len(shown) == (4 if client == "fastmcp_handle" else 2)


def test_a_cancelled_task_is_told_as_such(kitchens: Kitchens) -> None:
    if "fastmcp_handle" not in OTHERS:
        pytest.skip("the client is not installed (scripts/fetch.sh more_agents)")
    call = {**dish("roast", seconds=60), "cancel": True}
    *_, told = asyncio.run(outcomes("fastmcp_handle", kitchens.url, [call]))
    assert told["is_error"]
    assert "cancelled" in told["text"]


def test_a_task_outlives_its_server_over_stdio(tmp_path: Path) -> None:
    server = {
        "command": PYTHON,
        "args": [*Replica.program, "--transport", "stdio"],
        "env": {**os.environ, "FAILSOFT_STATE_URL": f"sqlite:{tmp_path}/state.db", "BEGUN": str(tmp_path / "begun")},
    }

    async def begun() -> str:
        async with Client(StdioServerParameters(**server), extensions=[Waiting()]) as client:
            process = (await client.call_tool("process", {})).structured_content or {}
            task = await client.session.call_tool("cook", {"what": "stew", "seconds": 1.0}, allow_claimed=True)
            assert isinstance(task, Task)
            while not (tmp_path / "begun").exists():  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.02)
            os.kill(process["data"], signal.SIGKILL)
        return task.task_id

    async def found(task_id: str) -> State:
        async with Client(StdioServerParameters(**server), extensions=[Waiting()]) as client, asyncio.timeout(BOUND_S):
            request = GetTask(params=TaskParams(task_id=task_id))
            while (state := await client.session.send_request(request, State)).result is None:  # noqa: ASYNC110 - as clients do
                await asyncio.sleep(0.05)
        return state

    state = asyncio.run(found(asyncio.run(begun())))
    assert state.status == "completed"
    assert state.result is not None
    assert (state.result.structured_content or {})["data"] == {"cooked": "stew"}
