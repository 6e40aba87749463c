"""A probe of servers that send what is hard to read, or change during the probe."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.doors import (
    FaultyCall,
    Known,
    Probe,
    ProbeBounds,
    ProbeCalls,
    ProbeConnection,
    ProbeReport,
    Reader,
    ServerAnswer,
    ToolInfo,
    from_command,
    rate,
    tools_in,
)

SERVER = Path(__file__).with_name("hostile_server.py")
LARGE = 200_000
SLOW_TO_READ = {
    "newlines": "\n" * LARGE,
    "spaces": " " * LARGE,
    "frames": " at " + "(/" * (LARGE // 2),
    "hyphens": "-" * LARGE,
    "echoes": "input_value={" * (LARGE // 13),
    "calls": 'Call a {"b":"' * (LARGE // 13),
    "numbered": "#1 /a" * (LARGE // 5),
    "brackets": "[" * LARGE,
}


def probed(mode: str, folder: Path, max_calls: int = 30) -> tuple[ProbeReport, list[list[object]]]:
    command = from_command([sys.executable, str(SERVER), mode, str(folder / "calls")])
    probe = Probe(ProbeConnection(command, timeout_s=5), ProbeBounds(max_calls=max_calls))
    report = asyncio.run(probe.run())
    return report, [json.loads(line) for line in (folder / "calls").read_text().splitlines()]


@pytest.mark.parametrize("text", SLOW_TO_READ.values(), ids=SLOW_TO_READ)
def test_no_text_of_a_server_takes_long_to_read(text: str) -> None:
    tool = ToolInfo("get_note", is_read_only=True)
    fault = FaultyCall("misspelt", "get_note", "get_note", {"noet_id": "1"}, {"note_id": "1"}, "noet_id", ("note_id",))
    answer = ServerAnswer("result", text, size=len(text))
    assert "too-large" in {name for name, _ in rate(fault, answer, tool, Known())}
    reader = Reader({"get_note": tool}, frozenset({"get_note"}))
    assert reader.read(fault, ("get_note", fault.arguments), text) is None
    calls = ProbeCalls(ProbeConnection(from_command(["true"]), timeout_s=1), ProbeBounds(), lambda *_: None)
    calls.learn("get_note", {"path": "/srv"}, answer)


def test_a_tool_that_no_longer_says_that_it_only_reads_is_called_no_more(tmp_path: Path) -> None:
    report, calls = probed("changes", tmp_path)
    assert ["list_notes", True] in calls
    assert ["get_note", True] not in calls[4:]  # the call that was sent with the notification may have been on its way
    assert report.tools[0]["called"] is True
    assert "destroys" in report.tools[0]["skipped"]


def test_odd_schemas_and_names_end_no_probe(tmp_path: Path) -> None:
    report, calls = probed("schemas", tmp_path, max_calls=100)
    assert report.complete
    assert "get_odd" in {name for name, _ in calls}


def test_an_answer_beyond_what_is_read_is_too_large_and_no_breach_of_the_protocol(tmp_path: Path) -> None:
    report, _ = probed("large", tmp_path, max_calls=1)
    assert [one.name for one in report.findings] == ["too-large"]


def test_a_wait_that_a_text_names_is_something_to_do() -> None:
    tool = ToolInfo("get_note", is_read_only=True)
    fault = FaultyCall("value", "get_note", "get_note", {"note_id": "1"}, {"note_id": "2"}, "note_id", ("2",), False)
    assert Reader({"get_note": tool}, frozenset({"get_note"})).has_advice(fault, "It is being started.\nWait: 2 s")


def test_a_call_that_was_not_answered_has_no_answer(tmp_path: Path) -> None:
    report, _ = probed("ends", tmp_path, max_calls=1)
    assert [(one.name, one.answer) for one in report.findings] == [("crash", "")]


def test_a_reference_with_an_escaped_name_is_followed() -> None:
    definitions = {"a/b": {"type": "integer"}, "c d": {"type": "boolean"}}
    properties = {"one": {"$ref": "#/$defs/a~1b"}, "two": {"$ref": "#/$defs/c%20d"}, "away": {"$ref": "#/$defs/none"}}
    (tool,) = tools_in([{"name": "read", "inputSchema": {"properties": properties, "$defs": definitions}}])
    assert [tool.parameters[name].schema.get("type") for name in ("one", "two", "away")] == ["integer", "boolean", None]
