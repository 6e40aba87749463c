"""A session in which an invariant did not hold is locked until its report is written, on every replica."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from failsoft import AuditLog, CallContext, InvariantViolation, Runtime, Settings, operation
from failsoft.tools.workspace import Workspace
from tests.doors import CallScope, Held, LocalState, MemoryBackend, StagedFile, Write
from tests.tools.workspace.site import Site

REPORT = {"title": "It broke", "body": "This is what I saw."}


class Shared(LocalState):
    """One state for several servers, as Redis is."""

    def __init__(self) -> None:
        super().__init__(records=MemoryBackend())


class Broken(Workspace):
    """A workspace with operations of its own, in which a promise is broken."""

    begun: asyncio.Event
    waiting: asyncio.Event

    @operation(destructive=False)
    async def break_it(self, session_id: str | None = None, *, how: str = "raise") -> str:
        """Break a promise."""
        if how == "group":
            message = "both"
            raise ExceptionGroup(message, [ValueError("x"), InvariantViolation(invariant_id="IN_A_GROUP")])
        if how == "unnamed":
            raise InvariantViolation(message="Something is wrong.")
        raise InvariantViolation(invariant_id="MADE_UP")

    @operation(read_only=True)
    async def check_it(self, session_id: str | None = None, *, is_broken: bool = False) -> str:
        """Do nothing."""
        return "done"

    @check_it.check
    async def never_broken(self, is_broken: bool) -> None:
        if is_broken:
            raise InvariantViolation(invariant_id="FOUND_BY_A_CHECK")

    @operation(destructive=False)
    async def wait_and_write(self, call: CallContext, session_id: str | None = None) -> str:
        """Wait for an event, then continue."""
        self.begun.set()
        await self.waiting.wait()
        return "written"


def broken(site: Site, *, state: LocalState | None = None, **settings: Any) -> Broken:
    runtime = Runtime(settings=Settings(**settings), state=state)
    return Broken(site.root, runtime=runtime, state_folder=site.root.parent / "state")


def code_of(answer: dict[str, Any]) -> str | None:
    return answer.get("error_code")


@pytest.mark.parametrize(
    ("operation", "arguments", "invariant"),
    [
        ("break_it", {}, "MADE_UP"),
        ("break_it", {"how": "group"}, "IN_A_GROUP"),
        ("break_it", {"how": "unnamed"}, "UNNAMED"),
        ("check_it", {"is_broken": True}, "FOUND_BY_A_CHECK"),
    ],
)
def test_a_broken_invariant_locks_the_session_wherever_it_is_found(
    site: Site, operation: str, arguments: dict[str, Any], invariant: str
) -> None:
    tool = broken(site)
    session = site.begin(tool)
    failed = site.call(tool, operation, arguments)
    locked = site.call(tool, "list_files")
    assert (code_of(locked), locked["effect"], locked["session_id"]) == ("SESSION_LOCKED", "none", session)
    assert locked["invariant_id"] is None
    assert failed["error_id"] in locked["human_message"]
    assert invariant in locked["human_message"]


def test_a_locked_session_does_nothing_and_cannot_be_ended(site: Site) -> None:
    tool = broken(site)
    site.begin(tool)
    site.call(tool, "break_it")
    calls: dict[str, dict[str, Any]] = {
        "read_file": {"path": "a.md"},
        "list_files": {},
        "write_file": {"path": "a.md", "content": "x"},
        "end_session": {},
        "break_it": {},
        "check_it": {"is_broken": True},
    }
    assert {name: code_of(site.call(tool, name, arguments)) for name, arguments in calls.items()} == dict.fromkeys(
        calls, "SESSION_LOCKED"
    )
    assert site.entries() == []


def test_the_next_step_of_a_locked_session_unlocks_it(site: Site) -> None:
    tool = broken(site)
    session = site.begin(tool)
    failed = site.call(tool, "break_it")
    step = site.call(tool, "list_files")["next_step"]
    assert (step["tool"], step["arguments"]["session_id"]) == ("write_failure_report", session)
    written = site.call(tool, step["tool"], step["arguments"])["data"]
    assert (written["error_id"], written["locked"]) == (failed["error_id"], False)
    assert failed["error_id"] in (site.project / written["path"]).read_text()
    assert site.call(tool, "list_files")["success"]
    assert site.call(tool, "end_session")["success"]


def test_other_sessions_go_on(site: Site) -> None:
    tool = broken(site)
    other = site.begin(tool, "ANTIGRAVITY")
    first = site.begin(tool)
    beside = site.begin(tool)
    site.call(tool, "break_it", {"session_id": first})
    assert site.call(tool, "list_files", {"session_id": other})["success"]
    assert site.call(tool, "list_files", {"session_id": beside})["success"]
    assert code_of(site.call(tool, "list_files", {"session_id": first})) == "SESSION_LOCKED"


def test_a_lock_is_known_to_every_replica_and_so_is_its_report(site: Site) -> None:
    state = Shared()
    one, other = broken(site, state=state), broken(site, state=state)
    named = {"session_id": site.begin(one, principal="alice")}
    site.call(one, "break_it", named, principal="alice")
    assert code_of(site.call(other, "list_files", named, principal="alice")) == "SESSION_LOCKED"
    assert site.call(other, "write_failure_report", {**REPORT, **named}, principal="alice")["success"]
    assert site.call(one, "list_files", named, principal="alice")["success"]


def test_no_caller_locks_or_reports_for_another(site: Site) -> None:
    tool = broken(site)
    named = {"session_id": site.begin(tool, principal="alice")}
    assert code_of(site.call(tool, "break_it", named, principal="bob")) == "INSUFFICIENT_PERMISSIONS"
    assert site.call(tool, "list_files", named, principal="alice")["success"]
    broke = site.call(tool, "break_it", named, principal="alice")
    assert broke["next_step"]["tool"] == "write_failure_report"
    assert broke["next_step"]["arguments"]["session_id"] == named["session_id"]
    answer = site.call(tool, "write_failure_report", {**REPORT, **named}, principal="bob")
    assert code_of(answer) == "INSUFFICIENT_PERMISSIONS"
    assert code_of(site.call(tool, "list_files", named, principal="alice")) == "SESSION_LOCKED"


def test_a_lock_cannot_be_evaded_by_beginning_another_session(site: Site) -> None:
    tool = broken(site)
    session = site.begin(tool)
    site.call(tool, "break_it", {"session_id": session})
    begin = {"workspace_root": str(site.project), "role": "WINDSURF"}
    refused = site.call(tool, "begin_session", begin)
    assert (refused["error_code"], refused["effect"]) == ("SESSION_LOCKED", "none")
    assert refused["next_step"]["arguments"]["session_id"] == session
    site.begin(tool, "ANTIGRAVITY")
    (site.project / "inner").mkdir()
    (site.root / "apart").mkdir()
    for overlapping in (site.root, site.project / "inner"):
        answer = site.call(tool, "begin_session", {**begin, "workspace_root": str(overlapping)})
        assert answer["error_code"] == "SESSION_LOCKED"
    site.begin(tool, root=site.root / "apart")
    assert site.call(tool, "write_failure_report", refused["next_step"]["arguments"])["success"]
    assert site.call(tool, "begin_session", begin)["success"]


def test_who_has_a_name_is_known_again_and_who_has_none_is_not(site: Site) -> None:
    tool = broken(site)
    for principal, code in (("alice", "SESSION_LOCKED"), (None, None)):
        named = {"session_id": site.begin(tool, principal=principal)}
        site.call(tool, "break_it", named, principal=principal)
        begin = {"workspace_root": str(site.project), "role": "WINDSURF"}
        assert site.call(tool, "begin_session", begin, principal=principal).get("error_code") == code
    assert site.call(tool, "begin_session", begin, principal="bob")["success"]


def test_a_call_without_a_session_locks_nothing(site: Site) -> None:
    tool = broken(site)
    assert code_of(site.call(tool, "break_it")) == "INVARIANT_VIOLATION"
    site.begin(tool)
    assert site.call(tool, "list_files")["success"]


def test_a_call_under_way_when_the_lock_falls_is_finished_and_the_next_is_not_begun(site: Site) -> None:
    tool = broken(site)
    session = site.begin(tool)

    async def run() -> tuple[Any, Any, Any]:
        tool.waiting, tool.begun = asyncio.Event(), asyncio.Event()
        slow = asyncio.ensure_future(call("wait_and_write"))
        await tool.begun.wait()
        failed = await call("break_it")
        tool.waiting.set()
        return failed, await slow, await call("wait_and_write")

    def call(operation: str) -> Any:
        scope = CallScope(principal="local", toolbox=tool.toolbox)
        return tool.operations[operation].call({"session_id": session}, scope)

    failed, slow, after = asyncio.run(run())
    assert failed.error.code == "INVARIANT_VIOLATION"
    assert slow.data == "written"
    assert after.error.code == "SESSION_LOCKED"


def test_of_two_violations_at_once_the_report_on_one_does_not_unlock_the_other(site: Site) -> None:
    tool = broken(site)
    session = site.begin(tool)
    first = site.call(tool, "break_it")

    async def second_while_reporting() -> dict[str, Any]:
        """Break another promise between the look at the lock and the end of the report, as a call under way may."""
        sessions = tool._sessions
        unlock = sessions.unlock

        async def later(*arguments: Any) -> bool:
            await sessions.lock(session, error_id="feedbeef", invariant_id="ANOTHER")
            sessions.unlock = unlock  # type: ignore[method-assign]
            return await unlock(*arguments)

        sessions.unlock = later  # type: ignore[method-assign,assignment]
        scope = CallScope(principal="local", toolbox=tool.toolbox)
        answer = await tool.operations["write_failure_report"].call(REPORT, scope)
        return answer.to_dict()["data"]  # type: ignore[no-any-return]

    reported = asyncio.run(second_while_reporting())
    assert (reported["error_id"], reported["locked"]) == (first["error_id"], True)
    assert code_of(site.call(tool, "list_files")) == "SESSION_LOCKED"
    assert site.call(tool, "write_failure_report", REPORT)["data"]["locked"] is False
    assert site.call(tool, "list_files")["success"]


def test_many_violations_at_once_need_one_report(site: Site) -> None:
    tool = broken(site)
    session = site.begin(tool)

    async def all_at_once() -> list[Any]:
        scope = CallScope(principal="local", toolbox=tool.toolbox)
        bound = tool.operations["break_it"]
        return list(await asyncio.gather(*(bound.call({"session_id": session}, scope) for _ in range(20))))

    answers = asyncio.run(all_at_once())
    ids = {answer.error.error_id for answer in answers if answer.error.code == "INVARIANT_VIOLATION"}
    reported = site.call(tool, "write_failure_report", REPORT)["data"]
    assert reported["error_id"] in ids
    assert reported["locked"] is False


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_report_that_cannot_be_written_leaves_the_session_locked(
    site: Site, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    tool = broken(site)
    site.begin(tool)
    site.call(tool, "break_it")

    def full(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(StagedFile, "_write", full)
        answer = site.call(tool, "write_failure_report", REPORT)
    assert (code_of(answer), answer["effect"]) == ("FILE_WRITE_FAILED", "none")
    assert code_of(site.call(tool, "list_files")) == "SESSION_LOCKED"
    assert not (site.project / "docs").exists()
    assert site.call(tool, "write_failure_report", REPORT)["success"]


def test_a_session_is_locked_even_if_its_failure_cannot_be_put_on_record(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    log = AuditLog(folder / "audit.jsonl")
    state = Shared()
    runtime = Runtime(settings=Settings(), audit=log, state=state)
    tool = Broken(site.root, runtime=runtime, state_folder=tmp_path / "state")
    session = site.begin(tool)
    (folder / "audit.jsonl").write_text("this is no entry\n")
    failed = site.call(tool, "break_it")
    assert code_of(failed) == "AUDIT_LOG_FAILED"
    other = Broken(site.root, runtime=Runtime(settings=Settings(), audit=AuditLog(folder / "other.jsonl"), state=state))
    answer = site.call(other, "list_files", {"session_id": session})
    assert code_of(answer) == "SESSION_LOCKED"
    assert failed["error_id"] in answer["human_message"]


def test_a_caller_who_gives_up_meanwhile_does_not_keep_the_session_open(site: Site) -> None:
    class Slow(MemoryBackend):
        """A store that takes its time, as one behind a network does."""

        is_local = False

        async def swap(self, key: str, version: str, write: Write) -> Held | None:
            if "lock" in key:
                locking.set()
                for _ in range(5):
                    await asyncio.sleep(0)
            return await super().swap(key, version, write)

    async def run() -> Any:
        scope = CallScope(principal="local", toolbox=tool.toolbox)
        call = asyncio.ensure_future(tool.operations["break_it"].call({}, scope))
        await locking.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        for _ in range(10):
            await asyncio.sleep(0)
        return await tool.operations["list_files"].call({}, scope)

    locking = asyncio.Event()
    tool = broken(site, state=LocalState(records=Slow()))
    site.begin(tool)
    assert asyncio.run(run()).error.code == "SESSION_LOCKED"


def test_the_violation_and_the_lock_are_on_record(site: Site) -> None:
    tool = broken(site)
    site.begin(tool)
    failed = site.call(tool, "break_it")
    site.call(tool, "list_files")
    site.call(tool, "write_failure_report", REPORT)
    entries = [json.loads(line) for line in (site.root / "audit-log.jsonl").read_text().splitlines()]
    assert [(entry["event"], entry["error_code"], entry["invariant_id"]) for entry in entries[1:]] == [
        ("failure", "INVARIANT_VIOLATION", "MADE_UP"),
        ("failure", "SESSION_LOCKED", None),
        ("success", None, None),
    ]
    assert entries[1]["error_id"] == failed["error_id"]
    assert entries[3]["facts"]["path"].startswith("docs/reports/")
