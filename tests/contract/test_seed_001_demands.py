"""Seed 001, section 8: its eight demands, each over the real protocol, with the real audit log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from failsoft import Runtime, Settings, SystemErrorFactory, operation
from failsoft.testing import connected
from failsoft.tools.workspace import Workspace
from tests.doors import INVARIANTS

pytestmark = pytest.mark.anyio
REQUIRED = {
    *("error_code", "human_message", "role", "session_id", "workspace_root", "tool_name", "invariant_id"),
    *("phase_id", "plan_hash", "cause", "timestamp"),
}


class Failing(Workspace):
    """A workspace with an operation that fails as configured."""

    thrown: Any = None

    @operation()
    async def fail(self, session_id: str | None = None) -> str:
        """Fail."""
        if isinstance(self.thrown, BaseException):
            raise self.thrown
        raise SystemErrorFactory.from_unknown(self.thrown)


def served(root: Path, thrown: Any = None) -> Failing:
    tool = Failing(root, runtime=Runtime(settings=Settings(detail="full")))
    tool.thrown = thrown
    return tool


async def envelope(tool: Failing, *, session: bool = True, meta: Any = None) -> dict[str, Any]:
    """Return what a client reads in the text of the answer."""
    async with connected(tool) as client:
        if session:
            folder = {"workspace_root": str(tool.roots[0]), "role": "WINDSURF"}
            assert not (await client.call_tool("begin_session", folder)).is_error
        result = await client.call_tool("fail", {}, meta=meta)
    assert result.is_error
    wire: dict[str, Any] = json.loads(result.content[0].text)  # type: ignore[union-attr]
    assert wire == result.structured_content
    assert wire.keys() >= REQUIRED
    assert wire["tool_name"] == "fail"
    return wire


async def test_1_a_raw_error_becomes_a_system_error(tmp_path: Path) -> None:
    wire = await envelope(served(tmp_path, ValueError("raw")))
    assert wire["cause"] == {"name": "ValueError", "message": "raw", "code": None}


async def test_2_a_string_becomes_a_system_error(tmp_path: Path) -> None:
    wire = await envelope(served(tmp_path, "just a text"))
    assert (wire["error_code"], wire["cause"]) == ("UNKNOWN_TOOL_FAILURE", "just a text")


async def test_3_an_object_becomes_a_system_error(tmp_path: Path) -> None:
    wire = await envelope(served(tmp_path, {"reason": "mine", "token": "abc-secret-abc"}))
    assert wire["error_code"] == "UNKNOWN_TOOL_FAILURE"
    assert wire["cause"]["reason"] == "mine"
    assert "abc-secret-abc" not in json.dumps(wire)


@pytest.mark.parametrize("invariant_id", INVARIANTS)
async def test_4_an_invariant_violation_includes_its_id(tmp_path: Path, invariant_id: str) -> None:
    wire = await envelope(served(tmp_path, SystemErrorFactory.invariant_violation(invariant_id)))
    assert (wire["error_code"], wire["invariant_id"]) == ("INVARIANT_VIOLATION", invariant_id)


async def test_5_before_a_session_its_facts_are_null_and_in_one_they_are_not(tmp_path: Path) -> None:
    tool = served(tmp_path, ValueError("raw"))
    facts = ("role", "session_id", "workspace_root")
    before = await envelope(tool, session=False)
    within = await envelope(tool)
    assert [before[name] for name in facts] == [None, None, None]
    assert (within["role"], within["workspace_root"]) == ("WINDSURF", str(tmp_path))
    assert within["session_id"]


async def test_5_bad_arguments_in_a_session_tell_its_facts(tmp_path: Path) -> None:
    async with connected(served(tmp_path)) as client:
        folder = {"workspace_root": str(tmp_path), "role": "WINDSURF"}
        begun = dict((await client.call_tool("begin_session", folder)).structured_content or {})["data"]
        result = await client.call_tool("read_file", {"path": 5})
    wire = dict(result.structured_content or {})
    assert (wire["error_code"], wire["session_id"]) == ("INVALID_INPUT_TYPE", begun["session_id"])


async def test_6_phase_and_plan_are_preserved(tmp_path: Path) -> None:
    reported = {"phase_id": "PHASE_5A", "plan_hash": "abc123def456"}
    wire = await envelope(served(tmp_path, ValueError("raw")), meta={"dev.failsoft/context": reported})
    assert (wire["phase_id"], wire["plan_hash"]) == ("PHASE_5A", "abc123def456")


class Knotted:
    """Something that leads to itself, and holds what JSON has no word for."""

    def __init__(self) -> None:
        self.me = self
        self.undefined = ...
        self.number = float("nan")
        self.data = b"\xff\x00"


@pytest.mark.parametrize(
    "thrown",
    [Knotted(), {"me": Knotted(), "x": {1, 2}}, ["\ud800", float("inf")], 10**5_000],
    ids=lambda thrown: type(thrown).__name__,
)
async def test_7_the_envelope_is_json_whatever_is_thrown(tmp_path: Path, thrown: Any) -> None:
    wire = await envelope(served(tmp_path, thrown))
    json.dumps(wire, allow_nan=False).encode()
    assert len(json.dumps(wire)) < 10_000


async def test_7_a_circle_is_cut(tmp_path: Path) -> None:
    circle: dict[str, Any] = {}
    circle["me"] = circle
    assert (await envelope(served(tmp_path, circle)))["error_code"] == "UNKNOWN_TOOL_FAILURE"


async def test_8_the_entry_in_the_audit_log_says_what_the_client_got(tmp_path: Path) -> None:
    wire = await envelope(served(tmp_path, ValueError("raw")))
    entries = [json.loads(line) for line in (tmp_path / "audit-log.jsonl").read_text().splitlines()]
    (entry,) = (one for one in entries if one["event"] == "failure")
    shared = {*REQUIRED - {"human_message"}, "error_id", "effect"}
    assert {name: entry[name] for name in shared} == {name: wire[name] for name in shared}
