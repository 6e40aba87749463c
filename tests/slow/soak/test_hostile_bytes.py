"""Bytes of other servers cost little memory, in the client and in a proxy: every answer, and a long flood."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.client.hostile_bytes import __file__ as program, website

GROWTH_BYTES = 100_000_000
WEB = {
    "works": "fine",
    "packed_answer": "fine",
    "gzip_bomb": "RESULT_TOO_LARGE",
    "deflate_bomb": "RESULT_TOO_LARGE",
    "twofold_bomb": "RESULT_TOO_LARGE",
    "event_bomb": "RESULT_TOO_LARGE",
    "error_bomb": "UPSTREAM_ERROR",
    "redirect_bomb": "UPSTREAM_ERROR",
    "endless_body": "RESULT_TOO_LARGE",
    "endless_event": "RESULT_TOO_LARGE",
    "endless_lines": "RESULT_TOO_LARGE",
    "endless_comments": "DEADLINE_EXCEEDED",
    "many_objects": "RESULT_TOO_LARGE",
    "many_objects_event": "RESULT_TOO_LARGE",
    "many_too_dear": "RESULT_TOO_LARGE",
    "many_that_fit": "{'rows': [{}, {}, {}",
    "many_that_fit_event": "{'rows': [{}, {}, {}",
    "many_numbers": "RESULT_TOO_LARGE",
    "huge_headers": "BAD_OUTPUT",
}
LOCAL = {
    "long_line": "RESULT_TOO_LARGE",
    "garbage": "",
    "flood": "",
    "noise": "",
    "many_objects": "RESULT_TOO_LARGE",
    "many_that_fit": "{'rows': [{}, {}, {}",
    "endless_line": "DEADLINE_EXCEEDED",
}

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")


def measured(*words: str, **variables: str) -> dict[str, str]:
    """Return the code of each answer; fail if memory grew too far. Variables are those of the program."""
    done = subprocess.run(
        [sys.executable, str(program), "measure", *words],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    report = json.loads(done.stdout)
    assert {name: grown for name, (_, grown) in report["grown"].items() if grown > GROWTH_BYTES} == {}
    return {name: code for name, (code, _) in report["grown"].items()}


@pytest.mark.parametrize("reader", ["command", "proxy"])
def test_a_hundred_thousand_notifications_cost_little_memory(reader: str) -> None:
    assert measured(reader, HOSTILE_NOTES="100000") == LOCAL


@pytest.mark.parametrize("reader", ["url", "proxy"])
def test_every_answer_over_http_costs_little_memory(reader: str) -> None:
    with website() as url:
        assert measured(reader, url) == WEB


@pytest.mark.parametrize("reader", ["command", "proxy"])
def test_every_answer_over_stdio_costs_little_memory(reader: str) -> None:
    assert measured(reader) == LOCAL
