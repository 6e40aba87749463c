"""Ten thousand hostile requests at once, over HTTP and stdio: each is answered properly, counted, and survived."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.hostile import BODY_LIMIT, LEGACY, TOOLS, Shot, cuts, lines, request, volleys

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Generating overly large repr")]

CALLS = 10_000
LINES = 2_000
AT_ONCE = 10
"""Volleys of four requests that are fired at once, each over a connection of its own."""
BOUND_S = 60
TOKEN = "tok-hunter2-hunter2"
SECRET = "the plan is to swim"
ACCEPT = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "authorization": f"Bearer {TOKEN}",
}
CODES = {-32700, -32600, -32601, -32602, -32020, -32022}
"""What the protocol has for a request that is none, or that names no tool. -32603 would be our own fault."""


class Target:
    """A served folder of documents, with a secret beside it."""

    def __init__(self, folder: Path, transport: str) -> None:
        self.root = folder / "served-root"
        (self.root / "guide").mkdir(parents=True)
        (self.root / "guide" / "intro.mdx").write_text("---\ntitle: Introduction\n---\nWelcome.\n", encoding="utf-8")
        (self.root / "guide" / "setup.md").write_text("# Setup\nHow to set it up.\n", encoding="utf-8")
        (folder / "secret").mkdir()
        (folder / "secret" / "plan.md").write_text(SECRET, encoding="utf-8")
        (self.root / "outside.md").symlink_to(folder / "secret" / "plan.md")
        self.log = folder / "server.log"
        command = [sys.executable, "-m", "failsoft", "serve", "docs", "--root", str(self.root)]
        command += ["--transport", transport, "--port", "0"]
        pipe = subprocess.PIPE if transport == "stdio" else subprocess.DEVNULL
        surroundings = {"FAILSOFT_AUTH_TOKEN": TOKEN, "FAILSOFT_MAX_REQUEST_BYTES": str(BODY_LIMIT)}
        with self.log.open("wb") as log:  # a pipe that nobody reads would stop the server
            self.process = subprocess.Popen(
                command, env={**os.environ, **surroundings}, stdin=pipe, stdout=pipe, stderr=log
            )

    def url(self) -> str:
        """Return the address that the server tells once it is ready."""
        until = time.monotonic() + BOUND_S
        while time.monotonic() < until and self.process.poll() is None:
            if found := re.search(r"failsoft serves (http://\S+)/mcp", self.log.read_text()):
                return found[1]
            time.sleep(0.05)
        pytest.fail(self.log.read_text())

    def hides(self, told: str) -> bool:
        """Return whether nothing of ours is in what a caller was told."""
        secrets = (str(self.root), self.root.name, TOKEN, SECRET, "Traceback", "site-packages", str(Path.home()) + "/")
        return not any(secret in told for secret in secrets)

    def faults(self) -> list[str]:
        """Return the lines of the log that tell of a fault of ours, or tell too much."""
        lines = self.log.read_text().splitlines()
        return [line for line in lines if '"level":"ERROR"' in line or "Traceback" in line or TOKEN in line]

    def close(self) -> None:
        """End the process."""
        self.process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(BOUND_S)
        self.process.kill()
        self.process.wait(BOUND_S)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


def bounded(examples: int) -> settings:
    """Return settings for so many examples, each tried once: a server is never twice in the same state."""
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    served = Target(tmp_path_factory.mktemp("hostile"), "http")
    yield served
    served.close()


class Answer(NamedTuple):
    """What came back over HTTP."""

    status: int
    kind: str
    told: str
    headers: str


class Judge:
    """Holds every answer against the protocol, the tool's schema and the counts of the server."""

    def __init__(self, target: Target, schemas: dict[str, Any]) -> None:
        self.target = target
        self.validators = {name: jsonschema.Draft202012Validator(schema) for name, schema in schemas.items()}
        self.answered: Counter[tuple[str, bool]] = Counter()
        self.codes: Counter[tuple[str, str]] = Counter()

    def result(self, result: dict[str, Any], tool: str | None) -> None:
        """Judge what a tool answered. Which one it was, a broken request may have changed; failures name it."""
        answer = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == answer
        assert result["isError"] is not answer["success"]
        operation = answer["error"]["operation"] if result["isError"] else self._by_shape(answer["data"])
        assert tool in {None, operation}
        assert not list(self.validators[operation].iter_errors(answer))
        self.answered[operation, result["isError"]] += 1
        if result["isError"]:
            error = answer["error"]
            assert error["category"] not in {"internal", "bad_output", "configuration"}, error
            assert error["effect"] == "none"
            assert error["message"]
            assert result["_meta"]["dev.failsoft/error"]["code"] == error["code"]
            self.codes[operation, error["code"]] += 1

    def error(self, error: dict[str, Any]) -> None:
        """Judge a protocol error."""
        assert error["code"] in CODES, error
        assert error["message"]

    def response(self, shot: Shot, answer: Answer) -> None:
        """Judge an HTTP answer."""
        assert self.target.hides(answer.told), answer.told
        assert self.target.hides(answer.headers), answer.headers
        assert answer.status < 500, answer
        told = answer.told
        if answer.kind.startswith("text/event-stream"):
            (told,) = [line.removeprefix("data:").strip() for line in told.splitlines() if line.startswith("data:")]
        elif answer.status != 200 and not told.startswith('{"jsonrpc"'):
            assert not shot.plain, answer
            assert len(told) < 200
            return
        if shot.verb == "POST" and told.startswith('{"jsonrpc"'):
            self.message(shot, json.loads(told, parse_constant=pytest.fail))
        else:
            assert not shot.plain

    def message(self, shot: Shot, message: dict[str, Any]) -> None:
        """Judge a JSON-RPC answer."""
        assert message["jsonrpc"] == "2.0"
        if shot.plain:
            assert message["id"] == shot.request_id
            assert "error" not in message, message
        if "error" in message:
            self.error(message["error"])
        elif "structuredContent" in message["result"]:
            self.result(message["result"], shot.tool if shot.plain else None)
        else:
            assert not shot.plain

    @staticmethod
    def _by_shape(data: dict[str, Any]) -> str:
        if "documents" not in data:
            return "search_documents"
        return "list_documents" if "total" in data else "get_documentation"


def _send(host: str, volley: Sequence[Shot]) -> list[tuple[Shot, Answer]]:
    """Send requests one after the other over one connection."""
    connection = http.client.HTTPConnection(host, timeout=BOUND_S)
    answers = []
    for shot in volley:
        with suppress(BrokenPipeError, ConnectionResetError):  # it may refuse a body before it has read all of it
            connection.request(shot.verb, shot.path, shot.body, {**ACCEPT, **shot.headers})
        response = connection.getresponse()
        told = response.read().decode("utf-8")
        answers.append((shot, Answer(response.status, response.getheader("content-type", ""), told, str(response.msg))))
    connection.close()
    return answers


def _samples(url: str) -> dict[tuple[str, ...], float]:
    told = httpx2.get(f"{url}/metrics", headers=ACCEPT).text
    return {
        (
            sample.name,
            *(sample.labels[name] for name in sorted(sample.labels) if name not in {"tool", "category", "le"}),
        ): sample.value
        for family in text_string_to_metric_families(told)
        for sample in family.samples
        if not sample.name.endswith(("_bucket", "_sum", "_created"))
    }


def _settled(url: str) -> dict[tuple[str, ...], float]:
    """Return the counts once nothing is in flight any more."""
    until = time.monotonic() + BOUND_S
    while time.monotonic() < until:
        samples = _samples(url)
        if httpx2.get(f"{url}/status.json").json()["in_flight"] == 0 and not any(
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
    judge.message(Shot(b"", {}, tool="get_documentation", plain=True), _event(good.text))


def _event(told: str) -> dict[str, Any]:
    (data,) = [line.removeprefix("data:").strip() for line in told.splitlines() if line.startswith("data:")]
    message: dict[str, Any] = json.loads(data)
    return message


def _judge(url: str, target: Target) -> Judge:
    listed = httpx2.post(f"{url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=ACCEPT)
    return Judge(target, {tool["name"]: tool["outputSchema"] for tool in _event(listed.text)["result"]["tools"]})


def test_ten_thousand_hostile_requests_are_answered_and_counted(target: Target) -> None:
    url = target.url()
    judge = _judge(url, target)
    before = _settled(url)
    host = url.removeprefix("http://")
    with ThreadPoolExecutor(AT_ONCE) as pool:

        @bounded(CALLS // (AT_ONCE * 4))
        @given(st.lists(volleys(), min_size=AT_ONCE, max_size=AT_ONCE))
        def each_is_answered(fired: list[list[Shot]]) -> None:
            for answers in pool.map(partial(_send, host), fired):
                for shot, answer in answers:
                    judge.response(shot, answer)

        each_is_answered()
    assert sum(judge.answered.values()) > CALLS // 2
    _healthy(url, judge)
    _assert_all_counted(before, _settled(url), judge)
    assert target.faults() == []


def _assert_all_counted(
    before: dict[tuple[str, ...], float], after: dict[tuple[str, ...], float], judge: Judge
) -> None:
    counted = Counter({key: int(value - before.get(key, 0)) for key, value in after.items()})
    for operation in TOOLS:
        calls = {key[2]: counted[key] for key in counted if key[:2] == ("mcp_tool_calls_total", operation)}
        succeeded, failed = judge.answered[operation, False], judge.answered[operation, True]
        assert succeeded
        assert failed
        assert calls["ok"] + calls["recovered"] + calls["degraded"] == succeeded
        assert calls["error"] + calls["rejected"] == failed
        assert calls["cancelled"] == 0
        assert counted["mcp_tool_call_duration_seconds_count", operation] == succeeded + failed
    errors = {(key[2], key[1]): counted[key] for key in counted if key[0] == "mcp_tool_errors_total" and counted[key]}
    assert errors == dict(judge.codes)


def test_connections_that_break_leave_nothing_behind(target: Target) -> None:
    url = target.url()
    judge = _judge(url, target)
    _settled(url)
    host, port = url.removeprefix("http://").split(":")

    @bounded(200)
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
        told = self.answers.get(timeout=BOUND_S).decode("utf-8")
        assert told, self.target.log.read_text()
        assert self.target.hides(told), told
        message: dict[str, Any] = json.loads(told, parse_constant=pytest.fail)
        return message


def test_thousands_of_hostile_lines_are_answered_on_stdio(tmp_path: Path) -> None:
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
