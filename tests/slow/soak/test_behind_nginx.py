"""Two replicas behind nginx as the page about deployment sets it up, of which one is killed, or ends."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.ports import reserved_ports
from tests.programs.nginx import HOST, serving_page
from tests.server.http.process.ledger import Serving, call
from tests.server.processes import BOUND_S
from tests.zygote import program_of

AT_ONCE = 12
Answer = tuple[str, int]
Task = asyncio.Task[Answer]


class Replica(Serving):
    """`failsoft serve --workers 2` with the tools of the page's `library.py`, which wait and leave lines in a file."""

    program = ("-m", "failsoft", "serve", "--app", "tests.slow.soak.page_library:Library", "--workers", "2")


class Page:
    """nginx, the replicas behind it, and what their handlers began to do."""

    def __init__(self, nginx: str, folder: Path, stack: ExitStack) -> None:
        self._begun, self.gate = folder / "begun", folder / "open"
        port, *self._ports = stack.enter_context(reserved_ports(3))
        settings = {"FAILSOFT_STATE_URL": f"sqlite:{folder}/state.db", "FAILSOFT_SHUTDOWN_GRACE_S": "60"}
        settings |= {"BEGUN": str(self._begun), "GATE": str(self.gate), "FAILSOFT_ALLOWED_HOSTS": HOST}
        self.replicas: list[Replica] = []
        for one in self._ports:
            self.replicas.append(Replica("--port", str(one), **settings))
            stack.callback(self.replicas[-1].close)
        for replica in self.replicas:
            replica.url()
            processes_of(replica)
        self._trusting = stack.enter_context(serving_page(nginx, folder, port, self._ports))
        self._url = f"https://127.0.0.1:{port}"

    def client(self) -> AbstractAsyncContextManager[httpx2.AsyncClient]:
        """Return a client of nginx."""
        return httpx2.AsyncClient(base_url=self._url, headers={"host": HOST}, verify=self._trusting, timeout=BOUND_S)

    def begun(self) -> Counter[str]:
        """Return how often each call has begun, by its title."""
        return Counter(line.split()[0] for line in self._lines())

    def begun_at(self) -> dict[str, int]:
        """Return the process in which each call began first."""
        return {title: int(pid) for title, pid in reversed([line.split() for line in self._lines()])}

    def _lines(self) -> list[str]:
        return self._begun.read_text().splitlines() if self._begun.exists() else []

    async def ends(self, number: int) -> None:
        """Wait until a replica refuses calls because it ends."""
        url = f"http://127.0.0.1:{self._ports[number]}/readyz"
        async with asyncio.timeout(BOUND_S), httpx2.AsyncClient(timeout=BOUND_S) as client:
            while (await client.get(url)).status_code != 503:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.02)

    async def has_begun(self, count: int) -> None:
        """Wait until so many calls have begun."""
        async with asyncio.timeout(BOUND_S):
            while len(self._lines()) < count:  # noqa: ASYNC110 - other processes write
                await asyncio.sleep(0.02)


def processes_of(replica: Replica) -> list[int]:
    """Return the processes of a replica once both workers have started, the main one first: it starts no others."""
    until = time.monotonic() + BOUND_S
    while len(logged := re.findall(r'"event":"worker_started","pid":(\d+)', "".join(replica.errors))) < 2:
        assert time.monotonic() < until, replica.errors
        time.sleep(0.02)
    return [program_of(process) for process in (replica.process.pid, *map(int, logged))]


async def asked(client: httpx2.AsyncClient, tool: str, title: str) -> Answer:
    """Return the title with what the call came to: the HTTP status."""
    try:
        answer: Any = await call(client, tool, {"title": title})
    except httpx2.HTTPStatusError as error:
        return title, error.response.status_code
    assert answer["success"], answer
    return title, 200


@pytest.fixture
def page(nginx: str, tmp_path: Path) -> Iterator[Page]:
    """Two replicas of two workers behind nginx."""
    with ExitStack() as stack:
        yield Page(nginx, tmp_path, stack)


def test_a_killed_replica_fails_no_read_and_repeats_no_write(page: Page) -> None:
    asyncio.run(_killed(page))


async def _killed(page: Page) -> None:
    async with page.client() as client:
        async with asyncio.TaskGroup() as group:
            calls = [
                group.create_task(asked(client, tool, f"held-{tool}-{number}"))
                for tool in ("get_book", "lend_book")
                for number in range(AT_ONCE)
            ]
            await page.has_begun(len(calls))
            killed = processes_of(page.replicas[0])
            lost = {title for title, process in page.begun_at().items() if process in killed}
            lost_reads = {title for title in lost if "get_book" in title}
            for process in killed:
                os.kill(process, signal.SIGKILL)
            await page.has_begun(len(calls) + len(lost_reads))
            page.gate.touch()
        assert 0 < len(lost_reads) < len(lost)
        assert {title for title, status in map(Task.result, calls) if status != 200} == lost - lost_reads
        assert {title for title, count in page.begun().items() if count > 1} == lost_reads
        later = [await asked(client, "lend_book", f"later-{number}") for number in range(AT_ONCE)]
    assert later == [(f"later-{number}", 200) for number in range(AT_ONCE)]
    assert {page.begun()[title] for title, _ in later} == {1}


def test_a_write_that_an_ending_replica_refuses_is_done_by_the_other_one(page: Page) -> None:
    asyncio.run(_ended(page))


async def _ended(page: Page) -> None:
    async with page.client() as client, asyncio.TaskGroup() as group:
        held = [group.create_task(asked(client, "lend_book", f"held-{number}")) for number in range(AT_ONCE)]
        await page.has_begun(len(held))
        page.replicas[0].send(signal.SIGTERM)
        await page.ends(0)
        later = [await asked(client, "lend_book", f"later-{number}") for number in range(AT_ONCE)]
        page.gate.touch()
    assert later == [(f"later-{number}", 200) for number in range(AT_ONCE)]
    assert [one.result()[1] for one in held] == [200] * AT_ONCE
    assert set(page.begun().values()) == {1}
    assert page.replicas[0].wait() == 0
