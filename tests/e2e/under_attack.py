"""A server under attack, and the judge of what it answers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, settings
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.hostile import BODY_LIMIT, TOOLS, Shot
from tests.zygote import PYTHON

__all__ = [
    "BOUND_S",
    "TOKEN",
    "Answer",
    "Grounds",
    "Judge",
    "Samples",
    "Target",
    "assert_all_counted",
    "bounded",
    "event_in",
    "samples_in",
]

BOUND_S = 60
TOKEN = "tok-hunter2-hunter2"
SECRET = "the plan is to swim"
CODES = {-32700, -32600, -32601, -32602, -32020, -32022}
"""What the protocol has for a request that is none, or that names no tool. -32603 would be our own fault."""

Samples: TypeAlias = dict[tuple[str, ...], float]


def bounded(examples: int) -> settings:
    """Return settings for so many examples, each tried once: a server is never twice in the same state."""
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


class Grounds:
    """A folder of documents to be served, with a secret beside it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "served-root"
        (self.root / "guide").mkdir(parents=True)
        (self.root / "guide" / "intro.mdx").write_text("---\ntitle: Introduction\n---\nWelcome.\n", encoding="utf-8")
        (self.root / "guide" / "setup.md").write_text("# Setup\nHow to set it up.\n", encoding="utf-8")
        (folder / "secret").mkdir()
        (folder / "secret" / "plan.md").write_text(SECRET, encoding="utf-8")
        (self.root / "outside.md").symlink_to(folder / "secret" / "plan.md")

    def hides(self, body: str) -> bool:
        """Return whether nothing of ours is in what a caller was told but the root, which the schemas name."""
        body = body.replace(str(self.root), "")
        ours = (str(self.root.parent), TOKEN, SECRET, "Traceback", 'File "', "site-packages")
        return not any(secret in body for secret in (*ours, str(Path.home()) + "/"))


class Target(Grounds):
    """A server in a process of its own, on grounds of its own."""

    def __init__(self, folder: Path, transport: str) -> None:
        super().__init__(folder)
        self.log = folder / "server.log"
        command = [PYTHON, "-m", "failsoft", "serve", "docs", "--root", str(self.root)]
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


class Answer(NamedTuple):
    """What came back over HTTP."""

    status: int
    kind: str
    body: str
    headers: str


class Judge:
    """Holds every answer against the protocol, the tool's schema and the counts of the server."""

    def __init__(self, grounds: Grounds, schemas: dict[str, Any]) -> None:
        self.grounds = grounds
        self.validators = {name: jsonschema.Draft202012Validator(schema) for name, schema in schemas.items()}
        self.answered: Counter[tuple[str, bool]] = Counter()
        self.codes: Counter[tuple[str, str]] = Counter()

    def result(self, result: dict[str, Any], tool: str | None) -> None:
        """Judge what a tool answered. Which one it was, a broken request may have changed; failures name it."""
        answer = result["structuredContent"]
        text = result["content"][0]["text"]
        if answer["success"]:
            assert json.loads(text) == answer
        else:
            assert f"({answer['error']['code']}): " in text.partition("\n")[0]
        assert result["isError"] is not answer["success"]
        failed = result["_meta"].get("dev.failsoft/error")
        operation = failed["operation"] if failed else self._by_shape(answer["data"])
        assert tool in {None, operation}
        assert not list(self.validators[operation].iter_errors(answer))
        self.answered[operation, result["isError"]] += 1
        if result["isError"]:
            error = answer["error"]
            assert error["category"] not in {"internal", "bad_output", "configuration"}, error
            assert error["effect"] == "none"
            assert error["message"]
            assert failed["code"] == error["code"]
            self.codes[operation, error["code"]] += 1

    def error(self, error: dict[str, Any]) -> None:
        """Judge a protocol error."""
        assert error["code"] in CODES, error
        assert error["message"]

    def response(self, shot: Shot, answer: Answer) -> None:
        """Judge an HTTP answer."""
        assert self.grounds.hides(answer.body), answer.body
        assert self.grounds.hides(answer.headers), answer.headers
        assert answer.status < 500, answer
        body = answer.body
        if answer.kind.startswith("text/event-stream"):
            (body,) = [line.removeprefix("data:").strip() for line in body.splitlines() if line.startswith("data:")]
        elif answer.status != 200 and not body.startswith('{"jsonrpc"'):
            assert not shot.plain, answer
            assert len(body) < 200
            return
        if shot.verb == "POST" and body.startswith('{"jsonrpc"'):
            self.message(shot, json.loads(body, parse_constant=pytest.fail))
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


def event_in(body: str) -> dict[str, Any]:
    """Return the one message of a stream of events."""
    (data,) = [line.removeprefix("data:").strip() for line in body.splitlines() if line.startswith("data:")]
    message: dict[str, Any] = json.loads(data)
    return message


def samples_in(exposition: str) -> Samples:
    """Return the counts by name and labels, those of the toolset and the category left out."""
    return {
        (
            sample.name,
            *(sample.labels[name] for name in sorted(sample.labels) if name not in {"tool", "category", "le"}),
        ): sample.value
        for family in text_string_to_metric_families(exposition)
        for sample in family.samples
        if not sample.name.endswith(("_bucket", "_sum", "_created"))
    }


def assert_all_counted(before: Samples, after: Samples, judge: Judge) -> None:
    """Fail unless the server has counted what the judge has seen, neither more nor less."""
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
