"""The SDK's span of a call, enriched: one span for each message, named for what really happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server.processes import BOUND_S
from tests.zygote import PYTHON


@pytest.fixture(scope="module")
def all_spans() -> list[dict[str, Any]]:
    """Return the spans of one call of each kind, of client and server, in the order in which they were made."""
    script = Path(__file__).with_name("traced.py")
    done = subprocess.run([PYTHON, str(script)], capture_output=True, check=True, timeout=BOUND_S)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def spans(all_spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the server's spans of the calls."""
    server = [span for span in all_spans if span["kind"] == "SERVER"]
    return [span for span in server if span["attributes"]["mcp.method.name"] == "tools/call"]


def test_every_call_has_exactly_one_server_span(spans: list[dict[str, Any]]) -> None:
    names = [span["name"].removeprefix("tools/call ") for span in spans]
    assert names[:5] == ["find", "find", "find", "double", "nothing"]
    assert sorted(names[5:-2]) == ["hang", "witness"]
    assert names[-2:] == ["pay", "pay_in_thread"]


def test_a_success_has_no_error_type(spans: list[dict[str, Any]]) -> None:
    assert "error.type" not in spans[0]["attributes"]
    assert spans[0]["status"] == ""


def test_a_recovered_call_says_by_what(spans: list[dict[str, Any]]) -> None:
    attributes = spans[1]["attributes"]
    assert attributes["failsoft.recovery.strategy"] == "elsewhere"
    assert attributes["failsoft.attempts"] == 2
    assert "error.type" not in attributes


def test_every_recovery_is_a_child_span_unless_it_was_skipped(
    all_spans: list[dict[str, Any]], spans: list[dict[str, Any]]
) -> None:
    children = [children_of(span, all_spans, "failsoft.recovery") for span in spans[:4]]
    assert [[(one["name"], one["status"]) for one in of_call] for of_call in children] == [
        [], [("failsoft.recovery elsewhere", "")], [], []
    ]  # fmt: skip
    assert [[name for name, _ in span["events"]] for span in spans[:4]] == [[], [], ["failsoft.recovery"], []]
    facts = children[1][0]["attributes"]
    assert facts["failsoft.result"] == "recovered"
    assert "failsoft.tool" not in facts


def test_an_unknown_tool_keeps_the_code_of_the_protocol(spans: list[dict[str, Any]]) -> None:
    assert spans[4]["attributes"]["error.type"] == "-32602"


def test_a_cancelled_call_does_not_look_like_a_success(spans: list[dict[str, Any]]) -> None:
    (hanging,) = [span for span in spans if span["name"].endswith("hang")]
    assert hanging["attributes"]["error.type"] == "cancelled"


def test_a_failed_call_has_the_error_type_of_the_conventions(spans: list[dict[str, Any]]) -> None:
    failed = [span["attributes"] for span in spans[2:4]]
    assert [span["status"] for span in spans[2:4]] == ["ERROR"] * 2
    assert failed[0]["failsoft.category"] == "not_found"
    assert [(one["error.type"], one.get("failsoft.error.code")) for one in failed] == [
        ("tool_error", "DOC_NOT_FOUND"),
        ("tool_error", "INVALID_PARAM"),
    ]


def children_of(span: dict[str, Any], all_spans: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [one for one in all_spans if one["parent"] == span["id"] and one["name"].startswith(name)]


def test_every_run_is_a_child_span(all_spans: list[dict[str, Any]], spans: list[dict[str, Any]]) -> None:
    runs = [children_of(span, all_spans, "failsoft.attempt") for span in spans[:4]]
    assert [[run["status"] for run in of_call] for of_call in runs] == [[""], ["ERROR", ""], ["ERROR"], []]
    assert runs[1][0]["attributes"] == {
        "failsoft.attempt": 1,
        "failsoft.result": "error",
        "failsoft.error.code": "DOC_NOT_FOUND",
        "error.type": "DOC_NOT_FOUND",
    }
    assert runs[1][1]["attributes"] == {"failsoft.attempt": 2, "failsoft.result": "ok"}


def test_a_child_span_began_when_its_run_did(all_spans: list[dict[str, Any]], spans: list[dict[str, Any]]) -> None:
    for span in spans[:3]:
        for run in children_of(span, all_spans, "failsoft.attempt"):
            assert span["began"] <= run["began"]


@pytest.mark.parametrize(("place", "status"), [(-2, ""), (-1, "ERROR")])
def test_every_effect_is_a_child_span(
    all_spans: list[dict[str, Any]], spans: list[dict[str, Any]], place: int, status: str
) -> None:
    (effect,) = children_of(spans[place], all_spans, "failsoft.effect ")
    assert (effect["name"], effect["status"]) == ("failsoft.effect book", status)


def test_a_failed_call_says_its_effect(spans: list[dict[str, Any]]) -> None:
    assert spans[2]["attributes"].get("failsoft.effect") == "none"


def started(*arguments: str, python: str = PYTHON, **environment: str) -> dict[str, Any]:
    """Return what a server with these variables has loaded and set."""
    script = Path(__file__).with_name("untraced.py")
    done = subprocess.run(
        [python, str(script), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        check=True,
        timeout=BOUND_S,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_without_variables_no_part_of_the_extras_is_loaded() -> None:
    assert started(python=sys.executable) == {"loaded": [], "is_set": False, "is_own": False}


def test_a_provider_of_the_application_is_used_as_it_is() -> None:
    found = started("own", OTEL_TRACES_EXPORTER="console")
    assert (found["is_set"], found["is_own"]) == (True, True)


def test_variables_start_an_exporter_which_writes_beside_the_protocol() -> None:
    found = started(OTEL_TRACES_EXPORTER="console")
    assert (found["is_set"], found["is_own"]) == (True, False)


@pytest.mark.parametrize("variables", [{"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}])
def test_the_standard_switches_leave_it_off(variables: dict[str, str]) -> None:
    found = started(**{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9", **variables})
    assert (found["is_set"], found["is_own"]) == (False, False)
