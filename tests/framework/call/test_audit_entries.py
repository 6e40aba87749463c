"""Calls and the log: what is on record, when, and what it never holds."""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from loguru import logger
from pydantic import BaseModel

from failsoft import (
    AuditLog,
    AuditLogFailed,
    BaseTool,
    CallContext,
    Conflict,
    Governance,
    InvalidArgument,
    NotFound,
    Public,
    ToolResponse,
    ToolSystemError,
    operation,
)
from failsoft.errors import AuditLockFailed
from tests.doors import Answer, CallScope, Question, audit_entries as entries, verify
from tests.framework.audit.test_processes import held
from tests.framework.recording import Recording, quiet_runtime

pytestmark = pytest.mark.anyio

SECRET = "sk-abcdefghijklmnopqrstuvwxyz123456"
SEQUENCE = "MKVLAAGIVGLPNVGKSTLFNALTKAGAEIANYPFCTIDPN" * 20
CONTENT = "The whole text of a private file."


class Rejected(Conflict):
    """A change was rejected.

    Raised when: the tests say so.
    Caller: do something else.
    Operator: nothing to do.
    """

    path: Public[str]
    content: Public[str] = ""
    api_key: Public[str] = ""
    protein_sequence: Public[str] = ""
    code: ClassVar[str] = "TEST_REJECTED"
    message: str = "The change of {path} was rejected."


class Body(BaseModel):
    """What is written."""

    content: str
    size: int


class Files(BaseTool):
    """Files that are made up."""

    def __init__(self, audit: Any, *, governed: bool = False, **settings: Any) -> None:
        self.governed = governed
        self.recorder = Recording()
        super().__init__(runtime=quiet_runtime(metrics=self.recorder, **settings))
        self.audit = audit
        self.begun = asyncio.Event()

    @operation(read_only=True)
    async def look(self, path: str) -> str:
        """Look."""
        if path == "gone":
            raise NotFound(message="There is no such file.")
        if path == "crash":
            raise RuntimeError(f"{SECRET} password=hunter2-hunter2 {SEQUENCE}")
        return path

    @operation()
    async def put(self, call: CallContext, path: str, content: str = "", body: Body | None = None) -> str:
        """Write."""
        call.governance = Governance(role="writer", session_id="s-1", workspace_root="/srv/work")
        call.audit(path=path, sha256="ab" * 32, content=content, token=SECRET)
        if path == "rejected":
            raise Rejected(path=path, content=CONTENT, api_key=SECRET, protein_sequence=SEQUENCE)
        if path == "disk":
            raise OSError(errno.ENOSPC, "no space", path)
        if path == "slow":
            self.begun.set()
            await asyncio.Event().wait()
        if path == "dry":
            call.read_only = True
        return path


class Breaking:
    """An audit trail that fails in a way of its own."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def record(self, facts: Mapping[str, Any]) -> None:
        raise self.error

    def note(self, facts: Mapping[str, Any]) -> None:
        raise self.error


class Confirmed(BaseTool):
    """Whose changes need consent."""

    governed = True

    @operation(confirm=True)
    async def delete(self, path: str) -> str:
        """Delete a file."""
        return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit-log.jsonl"


@pytest.fixture
def log(path: Path) -> Iterator[AuditLog]:
    log = AuditLog(path, wait_s=30)
    yield log
    log.close()


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    """Return the facts of what is logged."""
    found: list[Any] = []
    sink = logger.add(lambda line: found.append(line.record["extra"]), level="DEBUG")
    logger.enable("failsoft")
    yield found
    logger.disable("failsoft")
    logger.remove(sink)


def written(path: Path) -> bytes:
    return path.read_bytes()


def events(path: Path) -> list[tuple[str, str, str | None]]:
    return [(entry["event"], entry["operation"], entry["code"]) for entry in entries(path)]


# What is on record.


async def test_every_failure_is_on_record_under_the_id_that_its_caller_gets(log: AuditLog, path: Path) -> None:
    files = Files(log)
    answers = [
        await files.look(path="gone"),
        await files.look(path="crash"),
        await files.execute_with_error_handling("look", {"path": 5}),
        await files.execute_with_error_handling("lock", {}),
        await files.put(path="rejected"),
        await files.look(path="fine"),
        await files.put(path="fine"),
    ]
    failures = [answer.error for answer in answers if answer.error is not None]
    found = list(entries(path))
    assert [entry["error_id"] for entry in found] == [failure.error_id for failure in failures]
    assert [(entry["code"], entry["effect"], entry["timestamp"]) for entry in found] == [
        (failure.code, failure.effect, failure.timestamp) for failure in failures
    ]
    assert [entry["error_code"] for entry in found] == [
        "NOT_FOUND",
        "UNKNOWN_TOOL_FAILURE",
        "INVALID_INPUT_TYPE",
        "UNKNOWN_TOOL",
        "TEST_REJECTED",
    ]
    assert verify(path).is_whole


async def test_an_entry_has_the_facts_of_the_seed_and_who_called(log: AuditLog, path: Path) -> None:
    scope = CallScope(
        request_id="r-1",
        principal="token:anna",
        meta={"dev.failsoft/context": {"phase_id": "PHASE_5A", "plan_hash": "abc123", "role": "forged"}},
    )
    files = Files(log)
    await files.operations["put"].call({"path": "rejected"}, scope)
    (entry,) = entries(path)
    assert {name: entry[name] for name in ("tool", "operation", "tool_name", "principal", "request_id")} == {
        "tool": "files",
        "operation": "put",
        "tool_name": "put",
        "principal": "token:anna",
        "request_id": "r-1",
    }
    assert {name: entry[name] for name in ("role", "session_id", "workspace_root", "phase_id", "plan_hash")} == {
        "role": "writer",
        "session_id": "s-1",
        "workspace_root": "/srv/work",
        "phase_id": "PHASE_5A",
        "plan_hash": "abc123",
    }
    assert entry["invariant_id"] is None
    assert entry["facts"]["path"] == "rejected"
    assert entry["details"]["path"] == "rejected"


async def test_the_cause_is_on_record_in_every_environment(log: AuditLog, path: Path) -> None:
    response = await Files(log, wire_format="system_error").put(path="disk")
    assert response.to_dict()["cause"] is None
    (entry,) = entries(path)
    assert entry["cause"]["name"] == "OSError"
    assert entry["cause"]["code"] == "ENOSPC"


@pytest.mark.parametrize("governed", [True, False])
async def test_successes_that_change_something_are_on_record_for_governed_toolsets(
    log: AuditLog, path: Path, governed: bool
) -> None:
    files = Files(log, governed=governed)
    assert (await files.look(path="a")).success
    assert (await files.put(path="dry")).success
    assert (await files.put(path="a")).success
    assert events(path) == ([("success", "put", None)] if governed else [])
    for entry in entries(path):
        assert (entry["effect"], entry["role"], entry["facts"]["path"]) == ("applied", "writer", "a")


@pytest.mark.parametrize("governed", [True, False])
async def test_a_call_that_is_cancelled_while_it_works_is_on_record_for_governed_toolsets(
    log: AuditLog, path: Path, governed: bool
) -> None:
    files = Files(log, governed=governed)
    task = asyncio.ensure_future(files.operations["put"].call({"path": "slow"}))
    await files.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    log.close()
    assert events(path) == ([("cancelled", "put", None)] if governed else [])
    assert [entry["effect"] for entry in entries(path)] == (["unknown"] if governed else [])
    assert files.recorder.of("finished") == ["cancelled"]


async def test_the_log_of_a_toolset_goes_before_the_one_of_its_runtime(log: AuditLog, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    files = Files(None, audit_path=other)
    files.bind_operations()
    await files.look(path="gone")
    own = Files(log, audit_path=other)
    await own.look(path="gone")
    assert len(list(entries(other))) == 1
    assert len(list(entries(log.path))) == 1


# Before the failure leaves.


class Slow:
    """A trail that writes on request."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.go_on = asyncio.Event()

    async def record(self, facts: Mapping[str, Any]) -> None:
        self.asked.set()
        await self.go_on.wait()

    def note(self, facts: Mapping[str, Any]) -> None:
        self.asked.set()


async def test_no_answer_leaves_before_its_entry_is_safe() -> None:
    trail = Slow()
    files = Files(trail)
    task = asyncio.ensure_future(files.operations["look"].call({"path": "gone"}))
    await trail.asked.wait()
    done, _ = await asyncio.wait((task,), timeout=0.05)
    assert not done
    assert files.recorder.of("finished") == []
    trail.go_on.set()
    assert (await task).error.code == "NOT_FOUND"


async def test_a_caller_that_leaves_meanwhile_is_counted_once() -> None:
    trail = Slow()
    files = Files(trail)
    task = asyncio.ensure_future(files.operations["look"].call({"path": "gone"}))
    await trail.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert files.recorder.of("finished") == ["cancelled"]


# When it cannot be written.


@pytest.fixture
def no_log(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path / "no such folder" / "audit-log.jsonl")


def wire_of(response: ToolResponse[Any]) -> dict[str, Any]:
    return response.to_dict()


@pytest.mark.parametrize(
    ("arguments", "code", "effect"),
    [({"path": "rejected"}, "TEST_REJECTED", "unknown"), ({}, "INVALID_PARAM", "none")],
    ids=["raised", "refused"],
)
@pytest.mark.parametrize("wire_format", ["tool_response", "error_response", "system_error", "problem", "edit_envelope"])
async def test_what_cannot_be_put_on_record_keeps_its_code_and_effect(
    no_log: AuditLog, wire_format: str, arguments: dict[str, Any], code: str, effect: str
) -> None:
    files = Files(no_log, wire_format=wire_format)
    response = await files.execute_with_error_handling("put", arguments)
    failure = response.error
    assert failure is not None
    assert isinstance(failure.exception, AuditLogFailed)
    assert (failure.code, failure.effect, failure.retry.when) == ("AUDIT_LOG_FAILED", effect, "never")
    assert failure.public == {
        "reason": "its folder does not exist",
        "original_code": code,
        "original_effect": effect,
    }
    wire = wire_of(response)
    assert code in json.dumps(wire)
    assert (wire.get("error") if wire_format == "tool_response" else wire)["effect"] == effect
    assert files.recorder.of("failed") == [("storage_error", "AUDIT_LOG_FAILED")]


async def test_the_ordinary_log_has_the_failure_that_is_not_on_record(no_log: AuditLog, lines: list[Any]) -> None:
    response = await Files(no_log).look(path="gone")
    assert [(line["code"], line["error_id"]) for line in lines if line.get("event") == "call_failed"] == [
        ("NOT_FOUND", response.error.error_id),
        ("AUDIT_LOG_FAILED", response.error.error_id),
    ]


async def test_a_success_that_cannot_be_put_on_record_is_a_failure_that_was_applied(no_log: AuditLog) -> None:
    files = Files(no_log, governed=True)
    response = await files.put(path="a")
    assert response.error is not None
    assert (response.error.code, response.error.effect) == ("AUDIT_LOG_FAILED", "applied")
    assert response.error.public == {"reason": "its folder does not exist", "original_effect": "applied"}
    assert files.recorder.of("finished") == ["error"]
    assert (await files.look(path="a")).success


async def test_a_log_that_is_held_asks_to_call_again_where_nothing_was_changed(path: Path, log: AuditLog) -> None:
    await log.record({"code": None})
    files = Files(AuditLog(path, wait_s=0.2))
    with held(path):
        looked, put = await files.look(path="gone"), await files.put(path="rejected")
    assert looked.error is not None
    assert put.error is not None
    assert isinstance(looked.error.exception, AuditLockFailed)
    assert (looked.error.code, looked.error.retry.when) == ("AUDIT_LOCK_FAILED", "after_delay")
    assert looked.error.public["original_code"] == "NOT_FOUND"
    assert looked.error.next_step is not None
    assert (put.error.code, put.error.retry.when, put.error.effect) == ("AUDIT_LOCK_FAILED", "never", "unknown")
    assert (await files.look(path="gone")).error.code == "NOT_FOUND"


@pytest.mark.parametrize(
    "error",
    [RuntimeError("x"), asyncio.CancelledError(), SystemExit(1), ToolSystemError()],
    ids=lambda one: type(one).__name__,
)
async def test_a_trail_that_breaks_costs_no_answer(error: BaseException) -> None:
    files = Files(Breaking(error), governed=True)
    for response in (await files.look(path="gone"), await files.put(path="a")):
        assert response.error is not None
        assert response.error.code == "AUDIT_LOG_FAILED"


async def test_a_cancellation_goes_on_though_it_cannot_be_written_down() -> None:
    files = Files(Breaking(AuditLogFailed()), governed=True)
    task = asyncio.ensure_future(files.operations["put"].call({"path": "slow"}))
    await files.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# What is never logged.


async def test_contents_secrets_sequences_and_arguments_are_never_on_record(log: AuditLog, path: Path) -> None:
    files = Files(log, governed=True)
    await files.look(path="crash")
    await files.put(path="rejected", content=CONTENT)
    await files.put(path="fine", content=CONTENT)
    await files.execute_with_error_handling("put", {"path": "a", "content": 5, "boddy": {"content": CONTENT}})
    await files.execute_with_error_handling("put", {"path": "a", "body": {"content": CONTENT, "size": "x"}})
    await files.execute_with_error_handling("put", {"content": CONTENT})
    await files.execute_with_error_handling("look", {"path": CONTENT, SECRET: SECRET})
    text = written(path).decode()
    assert len(list(entries(path))) == 7
    for hidden in (CONTENT, SECRET, "hunter2-hunter2", SEQUENCE, SEQUENCE[:80], "private"):
        assert hidden not in text


async def test_an_entry_stays_small_however_much_there_is_to_say(log: AuditLog, path: Path) -> None:
    class Wordy(BaseTool):
        """Says too much."""

        @operation()
        async def talk(self, call: CallContext) -> int:
            """Talk."""
            call.audit(**{f"fact {number}": ["\U0001f600" * 300] * 20 for number in range(20)})
            raise InvalidArgument(message="\U0001f600" * 5_000, details={"x" * 200: [{"y": "z" * 300}] * 20})

    talkative = Wordy(runtime=quiet_runtime())
    talkative.audit = log
    talkative.bind_operations()
    for _ in range(3):
        await talkative.talk()
    assert max(map(len, written(path).split(b"\n"))) < 20_000
    assert [(entry["code"], entry["is_cut"]) for entry in entries(path)] == [("INVALID_ARGUMENT", True)] * 3


async def test_what_a_person_answered_is_on_record_with_who_it_was(
    log: AuditLog, path: Path, lines: list[dict[str, Any]]
) -> None:
    tool = Confirmed(runtime=quiet_runtime())
    tool.audit = tool.operations["delete"].audit = log
    for answer in (Answer("accept", {"confirm": True, "password": "hunter2"}), Answer("decline", by="bob")):

        async def ask(_question: Question, answer: Answer = answer) -> Answer:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            return answer

        await tool.operations["delete"].call({"path": "a"}, CallScope(ask=ask, principal="alice"))
    assert [entry["facts"]["asked"] for entry in entries(path)] == [
        {"about": "confirm", "action": "accept", "by": "alice", "answer": {"confirm": True}},
        {"about": "confirm", "action": "decline", "by": "bob"},
    ]
    said = [line for line in lines if str(line.get("event")).startswith("person_")]
    assert [(line["event"], line.get("action"), line.get("by")) for line in said] == [
        ("person_asked", None, None),
        ("person_answered", "accept", "alice"),
        ("person_asked", None, None),
        ("person_answered", "decline", "bob"),
    ]
    assert "hunter2" not in repr(said) + repr(entries(path))  # nobody asked for it


async def test_the_answer_to_a_nested_call_is_that_of_the_outer_calls_caller(log: AuditLog, path: Path) -> None:
    inner = Confirmed(runtime=quiet_runtime())
    inner.audit = inner.operations["delete"].audit = log

    class Outer(BaseTool):
        @operation(effects=True)
        async def tidy(self) -> Any:
            """Delete."""
            return (await inner.delete(path="a")).success

    async def ask(_question: Question) -> Answer:
        return Answer("decline")

    await Outer(runtime=quiet_runtime()).operations["tidy"].call({}, CallScope(ask=ask, principal="alice"))
    assert [entry["facts"]["asked"]["by"] for entry in entries(path)] == ["alice"]
