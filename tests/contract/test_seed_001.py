"""Seed 001, the parts that belong to no toolset: the canonical envelope, its factories, and the audit trail."""

from __future__ import annotations

import asyncio
import copy
import errno
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import jsonschema
import pytest
from hypothesis import given
from pydantic import AwareDatetime, Field

from failsoft import (
    AuditLog,
    BaseTool,
    CallContext,
    Conflict,
    Governance,
    InitializationError,
    InvariantViolation,
    NotFound,
    SystemErrorFactory,
    ToolError,
    operation,
)
from failsoft.errors import CatalogueError
from failsoft.tools.workspace import FileReadFailed, InvalidPath
from tests.contract.surroundings import runtime
from tests.doors import CallScope, audit_entries as entries, lookup_code as lookup
from tests.laws.hostile import odd_trees

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "schemas" / "system_error.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
REQUIRED = {
    *("error_code", "human_message", "role", "session_id", "workspace_root", "tool_name", "invariant_id"),
    *("phase_id", "plan_hash", "cause", "timestamp"),
}
MAY_BE_NULL = {"role", "session_id", "workspace_root", "invariant_id", "phase_id", "plan_hash", "cause"}
SESSION = Governance(role="WINDSURF", session_id="550e8400-e29b", workspace_root="/home/user/project")


class Workshop(BaseTool):
    """Tools that fail in every way."""

    wire_format = "system_error"
    thrown: BaseException | None = None
    session: Governance | None = None

    @operation()
    async def write_file(
        self,
        call: CallContext,
        path: Annotated[str, Field(min_length=1, pattern=r"^[^\\]*$")] = "a.md",
        lines: Annotated[int, Field(ge=0)] = 0,
        mode: str = "text",
        when: AwareDatetime | None = None,
    ) -> str:
        """Write."""
        call.governance = self.session
        if self.thrown is not None:
            raise self.thrown
        return path

    @operation(read_only=True)
    async def read_file(self, path: str) -> str:
        """Read."""
        raise NotFound(message="There is no such file.")


def workshop(**settings: Any) -> Workshop:
    return Workshop(runtime=runtime(**settings))


def envelope_of(
    thrown: BaseException | None = None,
    arguments: Mapping[str, Any] | None = None,
    *,
    session: Governance | None = None,
    meta: Mapping[str, Any] | None = None,
    operation: str = "write_file",
    **settings: Any,
) -> dict[str, Any]:
    """Return the envelope of one failed call, as a client gets it, after every check that holds for all."""
    tool = workshop(**settings)
    tool.thrown, tool.session = thrown, session

    async def call() -> Any:
        return await tool.operations[operation].call(arguments or {}, CallScope(meta=meta or {}))

    encoded = asyncio.run(call()).encode()
    wire: dict[str, Any] = json.loads(encoded.text)
    assert encoded.is_error
    assert wire == encoded.structured
    VALIDATOR.validate(wire)
    assert wire.keys() >= REQUIRED
    assert {name for name in REQUIRED if wire[name] is None} <= MAY_BE_NULL
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", wire["timestamp"])
    return wire


# Section 1: the envelope.


def test_before_a_session_the_facts_of_the_session_are_null() -> None:
    wire = envelope_of(Conflict())
    assert {name: wire[name] for name in MAY_BE_NULL} == dict.fromkeys(MAY_BE_NULL)
    assert wire["tool_name"] == "write_file"


def test_in_a_session_its_facts_are_sent() -> None:
    wire = envelope_of(Conflict(), session=SESSION)
    assert (wire["role"], wire["session_id"], wire["workspace_root"]) == (
        "WINDSURF",
        "550e8400-e29b",
        "/home/user/project",
    )


def test_phase_and_plan_come_from_the_caller_and_nothing_else_does() -> None:
    sent = {"phase_id": "PHASE_5A", "plan_hash": "abc123def456", "role": "ADMIN", "workspace_root": "/"}
    wire = envelope_of(Conflict(), meta={"dev.failsoft/context": sent})
    assert (wire["phase_id"], wire["plan_hash"]) == ("PHASE_5A", "abc123def456")
    assert (wire["role"], wire["workspace_root"]) == (None, None)


@pytest.mark.parametrize("sent", [5, None, "x", [], {"phase_id": 5, "plan_hash": {}}, {"phase_id": ""}], ids=str)
def test_what_callers_say_of_phase_and_plan_that_is_no_text_counts_as_nothing(sent: Any) -> None:
    wire = envelope_of(Conflict(), meta={"dev.failsoft/context": sent})
    assert (wire["phase_id"], wire["plan_hash"]) == (None, None)


@pytest.mark.parametrize("debug_stack", [True, False])
def test_the_stack_is_there_only_with_debug_stack(debug_stack: bool) -> None:
    wire = envelope_of(RuntimeError("x"), debug_stack=debug_stack)
    assert ("stack_trace" in wire) is debug_stack


def test_debug_stack_has_its_own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG_STACK", "true")
    assert "Traceback" in envelope_of(RuntimeError("x"))["stack_trace"]


def test_a_success_has_data() -> None:
    response = asyncio.run(workshop().write_file(path="b.md"))
    assert response.to_dict() == {"success": True, "data": "b.md"}


# Section 2: the codes that every toolset can have.


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"path": 5}, "INVALID_INPUT_TYPE"),
        ({"path": None}, "INVALID_INPUT_TYPE"),
        ({"path": ""}, "INVALID_INPUT_VALUE"),
        ({"path": "a\\b"}, "INVALID_INPUT_FORMAT"),
        ({"lines": -1}, "INVALID_INPUT_VALUE"),
        ({"when": "yesterday"}, "INVALID_INPUT_FORMAT"),
        ({"surplus": 1}, "INVALID_INPUT_FORMAT"),
        ({"lines": "x", "path": ""}, "INVALID_INPUT_VALUE"),
    ],
    ids=str,
)
def test_the_first_fault_of_input_decides_the_code(arguments: dict[str, Any], code: str) -> None:
    assert envelope_of(arguments=arguments)["error_code"] == code


def test_a_field_that_is_missing_has_a_code_of_its_own() -> None:
    assert envelope_of(operation="read_file")["error_code"] == "MISSING_REQUIRED_FIELD"


@pytest.mark.parametrize(
    "code",
    [
        *("INVALID_INPUT_TYPE", "INVALID_INPUT_FORMAT", "INVALID_INPUT_VALUE", "MISSING_REQUIRED_FIELD"),
        *("INVARIANT_VIOLATION", "AUDIT_LOG_FAILED", "AUDIT_LOCK_FAILED", "INTERNAL_ERROR", "UNKNOWN_TOOL_FAILURE"),
    ],
)
def test_the_codes_are_in_the_catalogue(code: str) -> None:
    assert lookup(code) is not None


def test_what_no_rule_knows_is_an_unknown_tool_failure() -> None:
    wire = envelope_of(RuntimeError("of a stranger"), detail="full")
    assert wire["error_code"] == "UNKNOWN_TOOL_FAILURE"
    assert wire["cause"] == {"name": "RuntimeError", "message": "of a stranger", "code": None}


def test_a_part_of_the_server_that_breaks_is_an_internal_error() -> None:
    from failsoft import ToolSystemError  # noqa: PLC0415 - its name says what it is about

    assert envelope_of(ToolSystemError())["error_code"] == "INTERNAL_ERROR"


# Section 3: determinism.


@given(value=odd_trees)
def test_the_envelope_is_json_whatever_the_cause_holds(value: Any) -> None:
    error = SystemErrorFactory.from_unknown(value, error_code="CONFLICT")
    wire = envelope_of(error, detail="full")
    assert isinstance(wire["cause"], (str, dict))


class Circular(Exception):
    """An exception that leads back to itself, and that cannot be written."""

    def __init__(self) -> None:
        self.me = self
        self.args = (self,)
        self.__context__ = ValueError()
        self.__context__.__context__ = self

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("cause", "sent"),
    [
        (OSError(errno.ENOENT, "no such file"), {"name": "FileNotFoundError", "code": "ENOENT"}),
        (NotFound(message="There is none."), {"name": "NotFound", "code": "NOT_FOUND", "message": "There is none."}),
        (Circular(), {"name": "Circular", "message": "", "code": None}),
        ("a text", "a text"),
        ({"reason": "x", "password": "hunter2-hunter2"}, {"reason": "x", "password": "<redacted>"}),
        (b"bytes", "bytes"),
        (5, {"value": 5}),
        ("x" * 1_000_000, None),
    ],
    ids=["os error", "typed", "circular", "text", "mapping", "bytes", "number", "huge"],
)
def test_a_cause_is_normalized(cause: Any, sent: Any) -> None:
    wire = envelope_of(SystemErrorFactory.tool_failure("CONFLICT", cause=cause), detail="full")
    if isinstance(sent, dict):
        assert sent.items() <= wire["cause"].items()
    elif sent is not None:
        assert wire["cause"] == sent
    assert len(json.dumps(wire)) < 10_000


def test_the_same_condition_is_the_same_envelope() -> None:
    def once() -> dict[str, Any]:
        error = SystemErrorFactory.from_unknown(ValueError("x"), error_code="CONFLICT")
        wire = envelope_of(error, detail="full", session=SESSION)
        wire["human_message"] = wire["human_message"].replace(wire["error_id"], "")
        return {name: value for name, value in wire.items() if name not in {"timestamp", "error_id"}}

    sent = [json.dumps(once()) for _ in range(3)]
    assert sent[0] == sent[1] == sent[2]


# Section 4: the factories.


def test_from_unknown_takes_anything() -> None:
    for thrown in (ValueError("x"), "text", {"a": 1}, None, 5, object(), b"\xff", ["a"], SystemExit(1)):
        assert isinstance(SystemErrorFactory.from_unknown(thrown), ToolError)
    same = NotFound()
    assert SystemErrorFactory.from_unknown(same) is same


def test_from_unknown_uses_what_it_is_given() -> None:
    error = SystemErrorFactory.from_unknown(
        RuntimeError("x"), error_code="CONFLICT", human_message="Somebody was faster.", session_id="s", role="WINDSURF"
    )
    wire = envelope_of(error)
    assert wire["error_code"] == "CONFLICT"
    assert wire["human_message"].startswith("Somebody was faster.")
    assert (wire["session_id"], wire["role"]) == ("s", "WINDSURF")


def test_an_invariant_violation_names_its_invariant() -> None:
    error = SystemErrorFactory.invariant_violation("MANDATORY_DIAGNOSTICS", human_message="No session.", cause="why")
    assert isinstance(error, InvariantViolation)
    wire = envelope_of(error, session=SESSION, detail="full")
    assert (wire["error_code"], wire["invariant_id"], wire["cause"]) == (
        "INVARIANT_VIOLATION",
        "MANDATORY_DIAGNOSTICS",
        "why",
    )
    assert wire["role"] == "WINDSURF"
    assert envelope_of(InvariantViolation(invariant_id="A"))["invariant_id"] == "A"


@pytest.mark.parametrize(
    "code", ["INVALID_INPUT_TYPE", "INVALID_INPUT_FORMAT", "INVALID_INPUT_VALUE", "MISSING_REQUIRED_FIELD"]
)
def test_a_tool_failure_of_input_keeps_its_code_and_names_the_field(code: str) -> None:
    wire = envelope_of(SystemErrorFactory.tool_failure(code, human_message="path must be a string", field="path"))
    assert wire["error_code"] == code
    assert [violation["path"] for violation in wire["violations"]] == ["path"]


@pytest.mark.parametrize(
    "code", ["NOT_FOUND", "DOC_NOT_FOUND", "CONFLICT", "INIT_ERROR", "AUDIT_LOG_FAILED", "internal_error"]
)
def test_a_tool_failure_can_be_made_of_every_code_alone(code: str) -> None:
    assert envelope_of(SystemErrorFactory.tool_failure(code))["human_message"]


def test_a_code_that_is_not_registered_is_refused() -> None:
    with pytest.raises(CatalogueError):
        SystemErrorFactory.tool_failure("NO_SUCH_CODE")
    with pytest.raises(TypeError):
        SystemErrorFactory.tool_failure("CONFLICT", rolle="x")


def test_a_startup_failure_needs_no_call_and_belongs_to_no_session() -> None:
    error = SystemErrorFactory.startup_failure("INIT_ERROR", human_message="No disk.", cause=OSError(errno.EIO, "x"))
    assert isinstance(error, InitializationError)
    sent = SystemErrorFactory.to_envelope(error)
    assert sent.keys() == REQUIRED
    assert (sent["error_code"], sent["human_message"], sent["session_id"]) == (
        "INIT_ERROR",
        "No disk.",
        None,
    )
    assert sent["cause"]["code"] == "EIO"
    json.dumps(sent, allow_nan=False)


# Section 6: the audit trail.


def test_every_failure_is_on_record_before_it_is_sent(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit-log.jsonl")
    tool = workshop()
    tool.audit, tool.session = log, SESSION
    tool.bind_operations()
    meta = {"dev.failsoft/context": {"phase_id": "PHASE_5A", "plan_hash": "abc123"}}
    error = SystemErrorFactory.invariant_violation("MANDATORY_DIAGNOSTICS", cause=ValueError("x"))
    tool.thrown = error

    async def call() -> Any:
        response = await tool.operations["write_file"].call({}, CallScope(meta=meta))
        return response, list(entries(log.path))  # what is on disk the moment that the answer is there

    response, found = asyncio.run(call())
    log.close()
    wire = response.to_dict()
    (entry,) = found
    for name in ("tool_name", "error_code", "invariant_id", "plan_hash", "phase_id", "timestamp", "error_id"):
        assert entry[name] == wire[name]
        assert entry[name] is not None
    assert entry["cause"] == {"name": "ValueError", "message": "x", "code": None}


def test_every_factory_takes_the_name_of_the_tool_as_the_seed_shows() -> None:
    made = [
        SystemErrorFactory.from_unknown(ValueError("x"), error_code=FileReadFailed.code, tool_name="read_file"),
        SystemErrorFactory.invariant_violation("MANDATORY_DIAGNOSTICS", tool_name="read_file"),
        SystemErrorFactory.tool_failure(InvalidPath.code, tool_name="read_file", role="WINDSURF"),
        SystemErrorFactory.startup_failure("BOOTSTRAP_FAILURE", tool_name="read_file"),
    ]
    for error in made:
        assert SystemErrorFactory.to_envelope(copy.deepcopy(error))["tool_name"] == "read_file"
    assert SystemErrorFactory.to_envelope(made[2])["role"] == "WINDSURF"
