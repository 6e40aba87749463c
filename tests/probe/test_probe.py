"""`failsoft probe` on a server with planted defects: what it calls, what it finds, and what it reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.zygote import PYTHON

HERE = Path(__file__).parent
SCHEMA = json.loads((HERE.parents[1] / "docs/schemas/probe.schema.json").read_text(encoding="utf-8"))
SECRETS = {"FAILSOFT_TOKEN": "t-very-secret", "OPENAI_API_KEY": "sk-never-passed-on"}
PLANTED = {
    "silent_search": "accepted-in-silence",
    "opaque_note": "field-not-named",
    "raising_note": "protocol-error",
    "misleading_note": "misleading-advice",
    "useless_note": "next-call-fails",
    "lying_note": "failure-as-success",
    "leaking_note": "leaks-stack",
    "huge_note": "too-large",
    "crashing_note": "crash",
    "hanging_note": "hang",
}
SLOW = {"crashing_note", "hanging_note"}


@dataclass(frozen=True)
class Probed:
    """What a probe left."""

    code: int
    out: str
    err: str
    calls: list[dict[str, Any]]
    folder: Path

    @property
    def report(self) -> dict[str, Any]:
        return json.loads(self.out)


def probed(folder: Path, *options: str, server: str = "planted.py") -> Probed:
    calls = folder / "calls.jsonl"
    calls.unlink(missing_ok=True)
    command = [PYTHON, "-m", "failsoft", "probe", *options, "--", sys.executable, str(HERE / server), str(calls)]
    surroundings = {**os.environ, **SECRETS}
    ended = subprocess.run(
        command, cwd=folder, env=surroundings, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    lines = calls.read_text().splitlines() if calls.exists() else []
    return Probed(ended.returncode, ended.stdout, ended.stderr, [json.loads(line) for line in lines], folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Probed:
    """Return a probe of all read-only tools but those that end or block the server."""
    folder = tmp_path_factory.mktemp("probe")
    quick = [*({*PLANTED} - SLOW), "good_note", "list_notes", "environment"]
    named = [word for name in quick for word in ("--tool", name)]
    return probed(folder, "--json", "--html", "report.html", "--junit", "report.xml", *named)


def test_only_tools_that_say_that_they_only_read_are_called(whole: Probed) -> None:
    known = {tool["name"] for tool in whole.report["tools"]}
    called = {call["tool"] for call in whole.calls} & known
    assert called.isdisjoint({"write_note", "delete_note", "two_faced"})
    assert len(whole.calls) == whole.report["calls"]
    assert "very-secret" not in whole.out
    assert "never-passed-on" not in whole.out


def test_the_report_fits_its_schema_and_finds_what_is_planted(whole: Probed) -> None:
    assert whole.code == 1
    jsonschema.validate(whole.report, SCHEMA)
    found = {(one["tool"], one["name"]) for one in whole.report["findings"]}
    assert {item for item in PLANTED.items() if item[0] not in SLOW} <= found
    assert not [one for one in whole.report["findings"] if one["tool"] in {"good_note", "list_notes"}]
    assert whole.report["misled_calls"] >= 1
    assert "hunter2" not in whole.out


def test_a_crash_and_a_hang_are_found_and_the_server_is_started_again(tmp_path: Path) -> None:
    report = probed(tmp_path, "--json", "--timeout", "0.5", "--tool", "crashing_note", "--tool", "hanging_note").report
    found = {(one["tool"], one["name"]) for one in report["findings"]}
    assert {("crashing_note", "crash"), ("hanging_note", "hang")} <= found


def test_one_seed_gives_one_report_apart_from_its_timing(tmp_path: Path) -> None:
    first, second = (probed(tmp_path, "--json", "--tool", "opaque_note", "--seed", "7").report for _ in range(2))
    assert {**first, "timing": None} == {**second, "timing": None}
    assert first["seed"] == 7


def test_the_bound_of_calls_is_kept_and_the_report_says_so(tmp_path: Path) -> None:
    bounded = probed(tmp_path, "--json", "--max-calls", "9")
    assert len(bounded.calls) == bounded.report["calls"] == 9
    assert bounded.report["complete"] is False
    assert len({call["tool"] for call in bounded.calls}) > 3


def test_writes_without_a_terminal_need_yes(tmp_path: Path) -> None:
    refused = probed(tmp_path, "--include-writes")
    assert (refused.code, refused.calls) == (2, [])
    allowed = probed(tmp_path, "--include-writes", "--yes", "--json", "--tool", "write_note", "--tool", "delete_note")
    assert {call["tool"] for call in allowed.calls} & {"write_note", "delete_note"} == {"write_note"}


def test_a_tool_that_the_server_does_not_have_is_a_usage_error_with_the_closest_name(tmp_path: Path) -> None:
    refused = probed(tmp_path, "--tool", "list_notes", "--tool", "god_note")
    assert (refused.code, refused.out, refused.calls) == (2, "", [])
    assert "'good_note'" in refused.err


@pytest.mark.parametrize("words", [("docs",), ("--app", "shop"), ("--junit", "nowhere/report.xml")])
def test_two_targets_or_a_report_without_a_folder_are_usage_errors_before_any_call(tmp_path: Path, words: Any) -> None:
    refused = probed(tmp_path, *words)
    assert (refused.code, refused.out, refused.calls) == (2, "", [])


def test_a_server_that_never_answers_is_told_from_findings(tmp_path: Path) -> None:
    gone = probed(tmp_path, server="no_such_file.py")
    assert (gone.code, gone.out) == (4, "")
