"""Hostile calls over HTTP and stdio: each is answered properly, counted, and survived.

Most hostile calls are made in memory (`tests/e2e/test_hostile_calls.py`), where one costs least; over the wire they
come in broken forms as well. `HYPOTHESIS_PROFILE=thorough` makes twenty times as many of each.
"""

from __future__ import annotations

import http.client
import itertools
import json
import queue
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings, strategies as st

from tests.e2e.hostile import LEGACY, Shot, cuts, lines, request, volleys
from tests.e2e.under_attack import (
    BOUND_S,
    TOKEN,
    Answer,
    Judge,
    Samples,
    Target,
    assert_all_counted,
    bounded,
    event_in,
    samples_in,
)

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

SCALE = settings().max_examples / 100
REQUESTS = int(800 * SCALE)
LINES = int(600 * SCALE)
BREAKS = int(150 * SCALE)
AT_ONCE = 10
"""Volleys of four requests that are fired at once, each over a connection of its own."""
ACCEPT = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "authorization": f"Bearer {TOKEN}",
}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    served = Target(tmp_path_factory.mktemp("hostile"), "http")
    yield served
    served.close()


def _send(host: str, volley: Sequence[Shot]) -> list[tuple[Shot, Answer]]:
    """Send requests one after the other over one connection."""
    connection = http.client.HTTPConnection(host, timeout=BOUND_S)
    answers = []
    for shot in volley:
        with suppress(BrokenPipeError, ConnectionResetError):  # it may refuse a body before it has read all of it
            connection.request(shot.verb, shot.path, shot.body, {**ACCEPT, **shot.headers})
        response = connection.getresponse()
        seen = response.read().decode("utf-8")
        answers.append((shot, Answer(response.status, response.getheader("content-type", ""), seen, str(response.msg))))
    connection.close()
    return answers


def _samples(url: str) -> Samples:
    return samples_in(httpx2.get(f"{url}/metrics", headers=ACCEPT).text)


def _settled(url: str) -> Samples:
    """Return the counts once nothing is in flight any more."""
    until = time.monotonic() + BOUND_S
    while time.monotonic() < until:
        samples = _samples(url)
        status = httpx2.get(f"{url}/status.json", headers={"authorization": f"Bearer {TOKEN}"}).json()
        if not any(worker["in_flight"] for worker in status["workers"]) and not any(
            value for (name, *_), value in samples.items() if name == "mcp_tool_inflight"
        ):
            return samples
    pytest.fail("calls are still in flight")


def _healthy(url: str, judge: Judge) -> None:
    assert httpx2.get(f"{url}/readyz").status_code == 200
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "get_documentation", "arguments": {"path": "guide/intro.mdx"}}}  # fmt: skip
    good = httpx2.post(f"{url}/mcp", json=body, headers=ACCEPT)
    assert "Welcome." in good.text
    judge.message(Shot(b"", {}, tool="get_documentation", plain=True), event_in(good.text))


def _judge(url: str, target: Target) -> Judge:
    listed = httpx2.post(f"{url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=ACCEPT)
    return Judge(target, {tool["name"]: tool["outputSchema"] for tool in event_in(listed.text)["result"]["tools"]})


def test_hostile_requests_are_answered_and_counted(target: Target) -> None:
    url = target.url()
    judge = _judge(url, target)
    before = _settled(url)
    host = url.removeprefix("http://")
    with ThreadPoolExecutor(AT_ONCE) as pool:

        @bounded(REQUESTS // (AT_ONCE * 4))
        @given(st.lists(volleys(), min_size=AT_ONCE, max_size=AT_ONCE))
        def each_is_answered(fired: list[list[Shot]]) -> None:
            for answers in pool.map(partial(_send, host), fired):
                for shot, answer in answers:
                    judge.response(shot, answer)

        each_is_answered()
    assert sum(judge.answered.values()) > REQUESTS // 3
    _healthy(url, judge)
    assert_all_counted(before, _settled(url), judge)
    assert target.faults() == []


def test_connections_that_break_leave_nothing_behind(target: Target) -> None:
    url = target.url()
    judge = _judge(url, target)
    _settled(url)
    host, port = url.removeprefix("http://").split(":")

    @bounded(BREAKS // 5)
    @given(st.lists(cuts(TOKEN), min_size=5, max_size=5))
    def each_may_break(broken: list[tuple[bytes, bool]]) -> None:
        open_ones = []
        for sent, abruptly in broken:
            connection = socket.create_connection((host, int(port)), timeout=BOUND_S)
            if abruptly:  # a reset in place of a goodbye
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            with suppress(ConnectionError):
                connection.sendall(sent)
            open_ones.append(connection)
        for connection in open_ones:
            connection.close()

    each_may_break()
    _healthy(url, judge)
    after = _settled(url)
    calls = sum(value for (name, *_), value in after.items() if name == "mcp_tool_calls_total")
    durations = sum(value for (name, *_), value in after.items() if name == "mcp_tool_call_duration_seconds_count")
    assert calls == durations
    assert target.faults() == []


class Lines:
    """A client of a server on stdio that writes lines, whatever they hold, and reads answers by their id."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.answers: queue.Queue[bytes] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.target.process.stdout is not None
        for line in self.target.process.stdout:
            self.answers.put(line)
        self.answers.put(b"")

    def write(self, line: bytes) -> None:
        assert self.target.process.stdin is not None
        self.target.process.stdin.write(line + b"\n")
        self.target.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Return the next answer, which has to be JSON and to hide what is ours."""
        seen = self.answers.get(timeout=BOUND_S).decode("utf-8")
        assert seen, self.target.log.read_text()
        assert self.target.hides(seen), seen
        message: dict[str, Any] = json.loads(seen, parse_constant=pytest.fail)
        return message


def test_hostile_lines_are_answered_on_stdio(tmp_path: Path) -> None:
    target = Target(tmp_path, "stdio")
    try:
        client = Lines(target)
        hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "hostile", "version": "1"}}
        client.write(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).encode())
        assert "result" in client.answer()
        client.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        client.write(b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}')
        judge = Judge(target, {tool["name"]: tool["outputSchema"] for tool in client.answer()["result"]["tools"]})
        numbers = itertools.count(1)

        @bounded(LINES // AT_ONCE)
        @given(st.lists(lines(), min_size=AT_ONCE, max_size=AT_ONCE))
        def each_is_answered_once(written: list[tuple[bytes, str | None]]) -> None:
            owed: dict[str, str] = {}
            for line, tool in [*written, (request("list_documents", {}, request_id="@"), "list_documents")]:
                name = f"call-{next(numbers)}"
                client.write(line.replace(b'"@"', f'"{name}"'.encode()))
                if tool is not None:
                    owed[name] = tool
            while owed:
                message = client.answer()
                tool = owed.pop(message["id"], None)  # what was broken may be answered too, under whatever id it had
                shot = Shot(b"", {}, request_id=message["id"], tool=tool, plain=tool is not None)
                if "method" not in message:
                    judge.message(shot, message)

        each_is_answered_once()
        assert sum(judge.answered.values()) > LINES // 2
        assert target.process.stdin is not None
        target.process.stdin.close()
        assert target.process.wait(BOUND_S) == 0
        client.reader.join(BOUND_S)
        assert target.faults() == []
    finally:
        target.close()
