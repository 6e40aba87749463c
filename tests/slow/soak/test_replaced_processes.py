"""Workers that are killed and replicas that are restarted under load: no write is done twice, and no call is lost.

`SOAK_WRITES=10000 SOAK_CALLS=2000 pytest -m slow FILE` runs them at full size.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import ssl
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.ports import reserved_ports
from tests.programs.nginx import HOST, serving_page
from tests.programs.redis import RedisServer
from tests.server.http.process.ledger import AT_ONCE, Serving, Supervised, assert_done_once, call, write_twice
from tests.server.processes import BOUND_S
from tests.zygote import program_of

WRITES = int(os.environ.get("SOAK_WRITES", "100"))
CALLS = int(os.environ.get("SOAK_CALLS", "300"))
PROCESSES = 3
"""At least one of the four has been started anew; the one that is restarted last may not be asked any more."""
KILLS = max(4, WRITES // 200)
WITHIN_S = 4 * BOUND_S + WRITES / 5
SETTINGS = {"FAILSOFT_SHUTDOWN_GRACE_S": "20", "FAILSOFT_ALLOWED_HOSTS": HOST, "LEDGER": os.devnull}


class Cold(Serving):
    """A server that starts as one of a user does."""

    python = sys.executable


class Killable(Supervised):
    """Both workers can be killed, and the server with its workers."""

    def kill_all(self) -> None:
        """Kill the server and then its workers, and start it again."""
        process = self.servers[-1].process
        program = program_of(process.pid)
        listed = Path(f"/proc/{program}/task/{program}/children").read_text().split()
        os.kill(program, signal.SIGKILL)
        process.wait(BOUND_S)
        for worker in listed:
            with suppress(ProcessLookupError):
                os.kill(int(worker), signal.SIGKILL)
        self.start()


async def kill_now_and_then(server: Killable, done: list[Any]) -> int:
    """Kill a worker, and each fourth time the server, after each share of the writes; return how often."""
    killed = 0
    while killed < KILLS:
        if len(done) < (killed + 1) * WRITES // (KILLS + 1):
            await asyncio.sleep(0.01)
            continue
        with suppress(httpx2.HTTPError, ProcessLookupError, IndexError):
            await (asyncio.to_thread(server.kill_all) if killed % 4 == 3 else server.kill_one())
            killed += 1
    return killed


@pytest.fixture(params=["the default store", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a server that keeps its state in the store."""
    if request.param != "redis":
        yield {"XDG_STATE_HOME": str(tmp_path / "state")}
        return
    redis = RedisServer()
    try:
        yield {"FAILSOFT_STATE_URL": redis.url}
    finally:
        redis.close()


def test_writes_that_are_sent_twice_are_done_once_while_processes_are_killed(
    tmp_path: Path, store: dict[str, str]
) -> None:
    ledger = tmp_path / "ledger"
    server = Killable(LEDGER=str(ledger), FAILSOFT_RECOVERY="defaults.idempotency.lease_s = 1", **store)
    killed: list[int] = []

    async def kill(outcomes: list[Any]) -> None:
        killed.append(await kill_now_and_then(server, outcomes))

    try:
        outcomes = asyncio.run(write_twice(server.url, WRITES, kill))
    finally:
        server.close()
    assert killed == [KILLS]
    assert_done_once(ledger, outcomes, WRITES)


class Replicas:
    """Two servers with a port each."""

    def __init__(self, ports: list[int]) -> None:
        self._ports = ports
        self._current: list[Cold] = []
        self._all: list[Cold] = []

    def start(self, number: int) -> Cold:
        """Start one and wait until it listens."""
        replica = Cold("--port", str(self._ports[number]), **SETTINGS)
        self._all.append(replica)
        replica.url()
        return replica

    def start_all(self) -> None:
        """Start both."""
        self._current = [self.start(number) for number in (0, 1)]

    def restart_in_turn(self) -> None:
        """End one after the other, and start it again before the next one ends."""
        for number in (0, 1):
            self._current[number].send(signal.SIGTERM)
            assert self._current[number].wait() == 0
            self._current[number] = self.start(number)

    def close(self) -> None:
        """End every process."""
        for replica in self._all:
            replica.close()


async def asked_meanwhile(port: int, trusting: ssl.SSLContext, replicas: Replicas) -> list[int]:
    """Return which processes answered while the replicas were restarted; raise at the first call that fails."""
    waits = itertools.cycle([0.0, 0.3, 0.02, 0.1])
    answers: list[int] = []
    url, headers = f"https://127.0.0.1:{port}", {"host": HOST}
    async with (
        asyncio.timeout(WITHIN_S),
        httpx2.AsyncClient(base_url=url, headers=headers, verify=trusting, timeout=BOUND_S) as client,
    ):
        restarting = asyncio.create_task(asyncio.to_thread(replicas.restart_in_turn))

        async def ask() -> None:
            while not restarting.done() or len(answers) < CALLS or len(set(answers)) < PROCESSES:
                answer = await call(client, "process_id", {"wait_s": next(waits)})
                assert answer["success"], answer
                answers.append(answer["data"])

        await asyncio.gather(*(ask() for _ in range(AT_ONCE)))
        await restarting
    return answers


def test_no_call_fails_while_two_replicas_behind_nginx_are_restarted_in_turn(tmp_path: Path, nginx: str) -> None:
    with ExitStack() as stack:
        port, *ports = stack.enter_context(reserved_ports(3))
        replicas = Replicas(ports)
        stack.callback(replicas.close)
        replicas.start_all()
        trusting = stack.enter_context(serving_page(nginx, tmp_path, port, ports))
        answers = asyncio.run(asked_meanwhile(port, trusting, replicas))
    assert len(answers) >= CALLS
    assert len(set(answers)) >= PROCESSES
