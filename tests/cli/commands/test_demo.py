"""The demo does what it says, and notices when it does not."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.cli.serving import serving
from tests.doors import STORY, DemoStep, ExitCode, judge, miscounted, play
from tests.zygote import PYTHON

HOSTILE = {
    "FAILSOFT_WIRE_FORMAT": "problem",
    "FAILSOFT_AUTH_TOKEN": "made-up",
    "FAILSOFT_METRICS_ENABLED": "false",
    "FAILSOFT_LOG_LEVEL": "DEBUG",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "ALL_PROXY": "http://127.0.0.1:9",
}
"""Settings and proxies of the environment; they must change nothing."""


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def shown(demo_folder):
    done = subprocess.run(
        [PYTHON, "-m", "failsoft", "demo", "--json"],
        cwd=demo_folder,
        env={**os.environ, **HOSTILE, "TMPDIR": str(demo_folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (ExitCode.OK, ""), done.stdout + done.stderr
    return json.loads(done.stdout)


def test_it_behaves_whatever_the_settings_are(shown):
    assert (shown["behaved"], shown["faults"]) == (True, [])


def test_it_shows_every_outcome_that_a_caller_meets(shown):
    assert [(scene["tool"], scene["outcome"], scene["by"]) for scene in shown["scenes"]] == [
        ("get_documentation", "ok", ""),
        ("get_documentation", "recovered", "alternate_path"),
        ("search_documents", "recovered", "plain_words"),
        ("get_documentation", "error", "DOC_NOT_FOUND"),
        ("search_documents", "ok", ""),
        ("search_documents", "rejected", "INVALID_PARAM"),
    ]


def test_it_follows_the_step_that_the_failure_advised(shown):
    failed, followed = shown["scenes"][3:5]
    advised = failed["answer"]["error"]["next_step"]
    assert (followed["tool"], followed["arguments"]) == (advised["tool"], advised["arguments"])
    assert followed["answer"]["data"]["results"]


def test_the_metrics_are_those_of_its_calls(shown):
    counted = {
        (sample["labels"]["operation"], sample["labels"]["outcome"]): sample["value"]
        for sample in shown["samples"]
        if sample["name"] == "mcp_tool_calls_total"
    }
    assert sum(counted.values()) == len(shown["scenes"])


def test_in_a_pipe_it_is_plain_and_fits_the_width(run):
    ran = run("demo", env={"COLUMNS": "80"})
    assert (ran.code, ran.err) == (ExitCode.OK, "")
    assert "\x1b" not in ran.out
    assert [line for line in ran.out.splitlines() if len(line) > 80] == []
    for step in STORY:
        assert step.by in ran.out


def test_it_leaves_no_server_and_no_file_behind(shown, demo_folder):
    assert list(demo_folder.rglob("*")) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(shown["url"].rpartition(":")[2])))


@pytest.mark.anyio
async def test_a_server_that_has_other_documents_is_noticed(folder: Path) -> None:
    with serving(folder, "docs", "--root", "docs") as (url, _):
        found = await play(url)
    assert len(found["faults"]) >= 3


@pytest.mark.anyio
async def test_a_server_that_has_other_tools_is_noticed(folder: Path) -> None:
    with serving(folder, "--app", "library:Library") as (url, _):
        found = await play(url)
    assert {scene["title"] for scene in found["scenes"] if scene["faults"]} == {step.title for step in STORY}


OK = {"data": {"documents": [{"title": "Introduction", "path": "intro.mdx"}]}}
RECOVERED = {**OK, "metadata": {"recovery": {"strategy": "alternate_path", "message": "Found it elsewhere"}}}
FAILED = {"error": {"code": "DOC_NOT_FOUND", "category": "not_found", "message": "Gone."}}
REFUSED = {"error": {"code": "INVALID_PARAM", "category": "invalid_argument", "message": "No.", "violations": [1, 2]}}


@pytest.mark.parametrize(
    ("step", "right"),
    [
        (DemoStep(title="", outcome="ok"), OK),
        (DemoStep(title="", outcome="recovered", by="alternate_path"), RECOVERED),
        (DemoStep(title="", outcome="error", by="DOC_NOT_FOUND"), FAILED),
        (DemoStep(title="", outcome="rejected", by="INVALID_PARAM", violations=2), REFUSED),
    ],
)
def test_only_the_answer_that_has_to_come_is_right(step, right):
    judged = [
        answer for answer in (OK, RECOVERED, FAILED, REFUSED, {"data": {"results": []}}) if not judge(step, answer)
    ]
    assert judged == [right]


def test_counts_that_differ_from_the_calls_are_noticed():
    scene = {"tool": "a", "outcome": "ok"}
    right = {"name": "mcp_tool_calls_total", "labels": {"operation": "a", "outcome": "ok"}, "value": 1.0}
    assert miscounted([scene], [right]) == []
    assert len(miscounted([scene], [])) == 1
    assert len(miscounted([scene, scene], [right])) == 1
    assert len(miscounted([], [right])) == 1
