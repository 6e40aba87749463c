"""Seed 001, section 2: every code, made to happen for real, and the same for the same condition."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from failsoft import Middleware, Runtime, Settings, operation
from failsoft.testing import connected
from failsoft.tools.workspace import Workspace
from tests.doors import LOCAL_PRINCIPAL, CallScope, lookup_code as lookup
from tests.tools.workspace.site import Site
from tests.zygote import PYTHON

GUIDE = Path(__file__).resolve().parents[2] / "docs/toolsets/workspace.md"
SEED = {
    *("SESSION_NOT_INITIALIZED", "SESSION_LOCKED", "SESSION_INITIALIZATION_FAILED"),
    *("INVALID_INPUT_TYPE", "INVALID_INPUT_FORMAT", "INVALID_INPUT_VALUE", "MISSING_REQUIRED_FIELD"),
    *("UNAUTHORIZED_ACTION", "INSUFFICIENT_PERMISSIONS", "ROLE_MISMATCH"),
    *("INVALID_PATH", "PATH_NOT_FOUND", "PATH_TRAVERSAL_BLOCKED", "OUTSIDE_WORKSPACE"),
    *("FILE_NOT_FOUND", "FILE_ALREADY_EXISTS", "FILE_READ_FAILED", "FILE_WRITE_FAILED"),
    *("PATCH_INVALID", "PATCH_APPLY_FAILED", "HASH_MISMATCH"),
    *("PLAN_NOT_FOUND", "PLAN_NOT_APPROVED", "PLAN_ENFORCEMENT_FAILED", "PLAN_SCOPE_VIOLATION"),
    *("POLICY_VIOLATION", "RUST_POLICY_VIOLATION", "PREFLIGHT_FAILED"),
    *("INVARIANT_VIOLATION", "BOOTSTRAP_FAILURE", "SELF_AUDIT_FAILURE"),
    *("AUDIT_LOG_FAILED", "AUDIT_LOCK_FAILED"),
    *("INTERNAL_ERROR", "UNKNOWN_TOOL_FAILURE"),
}
"""All codes of the section."""
AT_START = {
    "BOOTSTRAP_FAILURE": {"FAILSOFT_WORKSPACE_ROLES": "WINDSURF:fly"},
    "SELF_AUDIT_FAILURE": {"FAILSOFT_AUDIT_PATH": "no/such/folder/log.jsonl"},
}
"""Those of a server that does not start: no call answers with them. The settings that make them happen."""
PLANNER, WORKER = "ANTIGRAVITY", "WINDSURF"


class Breaking(Workspace):
    """A workspace with an operation that has a mistake."""

    @operation(read_only=True)
    async def divide(self, session_id: str | None = None) -> float:
        """Divide by zero."""
        return 1 / 0


class Case:
    """One server, with a folder, in which something is to go wrong.

    Args:
        folder: An empty one.
    """

    def __init__(self, folder: Path) -> None:
        self.site = Site(folder / "served")
        self.site.project.mkdir(parents=True)
        self.tool: Workspace = self.site.tool(workspace_policies="generic,rust")

    def use(self, **options: Any) -> None:
        """Serve with these settings from now on."""
        self.tool = self.site.tool(**options)

    def working(self, *files: str, role: str = WORKER) -> None:
        """Begin a session; with files, first have a plan for them."""
        if files:
            self.site.allow(self.tool, *files)
        self.site.begin(self.tool, role)

    def call(self, operation: str, /, principal: str | None = LOCAL_PRINCIPAL, **arguments: Any) -> dict[str, Any]:
        """Return the answer to one call."""
        return self.site.call(self.tool, operation, arguments, principal=principal)

    def write(self, path: str, content: str = "x\n", **more: Any) -> dict[str, Any]:
        """Return the answer to a write."""
        return self.call("write_file", path=path, content=content, **more)

    def begin(self, root: Path | str, role: str = WORKER, **scope: Any) -> dict[str, Any]:
        """Return the answer to the beginning of a session."""
        return self.call("begin_session", workspace_root=str(root), role=role, **scope)


def session_locked(case: Case) -> dict[str, Any]:
    invariant_violation(case)
    return case.call("list_files")


def session_initialization_failed(case: Case) -> dict[str, Any]:
    (case.site.root / "loop").symlink_to("loop")
    return case.begin(case.site.root / "loop")


def with_session(operation: str, **arguments: Any) -> Callable[[Case], dict[str, Any]]:
    def trigger(case: Case) -> dict[str, Any]:
        case.working()
        return case.call(operation, **arguments)

    return trigger


def with_plan(*files: str, **arguments: Any) -> Callable[[Case], dict[str, Any]]:
    def trigger(case: Case) -> dict[str, Any]:
        (case.site.project / "a.md").write_text("one\n")
        case.working(*files)
        return case.call("apply_patch" if "patch" in arguments else "write_file", **arguments)

    return trigger


def unauthorized(case: Case) -> dict[str, Any]:
    case.working(role=PLANNER)
    return case.write("a.md")


def insufficient(case: Case) -> dict[str, Any]:
    session = case.site.begin(case.tool, principal="alice")
    return case.call("list_files", session_id=session, principal="bob")


def role_mismatch(case: Case) -> dict[str, Any]:
    case.begin(case.site.project, PLANNER, principal="alice")
    return case.begin(case.site.project, WORKER, principal="alice")


def read_failed(case: Case) -> dict[str, Any]:
    (case.site.project / "loop").symlink_to("loop")
    return with_session("read_file", path="loop")(case)


def write_failed(case: Case) -> dict[str, Any]:
    (case.site.root.parent / "state").write_text("no folder for locks can be made here")
    case.working("**")
    return case.write("b.md")


def no_plan(case: Case) -> dict[str, Any]:
    case.working(role=PLANNER)
    return case.call("submit_plan", title="Nothing", files=[])


def preflight_failed(case: Case) -> dict[str, Any]:
    case.use(workspace_preflight=((sys.executable, "-c", "raise SystemExit(3)"),))
    case.working()
    return case.call("run_preflight")


def invariant_violation(case: Case) -> dict[str, Any]:
    case.working()
    case.site.project.rename(case.site.root / "aside")
    case.site.project.mkdir()
    return case.call("list_files")


def audit_log_failed(case: Case) -> dict[str, Any]:
    case.working()
    (case.site.root / "audit-log.jsonl").write_text("this is no entry\n")
    return case.call("read_file", path="gone.md")


def audit_lock_failed(case: Case) -> dict[str, Any]:
    case.use(audit_wait_s=0.3)
    case.working()
    with (case.site.root / "audit-log.jsonl").open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        return case.call("read_file", path="gone.md")


def internal_error(case: Case) -> dict[str, Any]:
    async def broken(call: Any, proceed: Any) -> Any:
        raise RuntimeError

    runtime = Runtime(settings=Settings(), middleware=[Middleware(name="broken", run=broken, after="validate")])
    case.tool = Workspace(case.site.root, runtime=runtime)
    return case.begin(case.site.project)


def unknown_failure(case: Case) -> dict[str, Any]:
    case.tool = Breaking(case.site.root)
    case.working()
    return case.call("divide")


CHANGE = "@@ -1 +1 @@\n-{}\n+two\n"
TRIGGERS: dict[str, Callable[[Case], dict[str, Any]]] = {
    "SESSION_NOT_INITIALIZED": lambda case: case.call("list_files"),
    "SESSION_LOCKED": session_locked,
    "SESSION_INITIALIZATION_FAILED": session_initialization_failed,
    "INVALID_INPUT_TYPE": with_session("read_file", path=5),
    "INVALID_INPUT_FORMAT": with_session("read_file", path="a.md", surplus=1),
    "INVALID_INPUT_VALUE": with_session("read_audit_log", limit=0),
    "MISSING_REQUIRED_FIELD": with_session("read_file"),
    "UNAUTHORIZED_ACTION": unauthorized,
    "INSUFFICIENT_PERMISSIONS": insufficient,
    "ROLE_MISMATCH": role_mismatch,
    "INVALID_PATH": with_session("read_file", path=""),
    "PATH_NOT_FOUND": with_session("list_files", path="gone"),
    "PATH_TRAVERSAL_BLOCKED": with_session("read_file", path="../project/a.md"),
    "OUTSIDE_WORKSPACE": with_session("read_file", path="/etc/hostname"),
    "FILE_NOT_FOUND": with_session("read_file", path="gone.md"),
    "FILE_ALREADY_EXISTS": with_plan("**", path="a.md", content="x"),
    "FILE_READ_FAILED": read_failed,
    "FILE_WRITE_FAILED": write_failed,
    "PATCH_INVALID": with_plan("**", path="a.md", patch="no patch"),
    "PATCH_APPLY_FAILED": with_plan("**", path="a.md", patch=CHANGE.format("zero")),
    "HASH_MISMATCH": with_plan("**", path="a.md", patch=CHANGE.format("one"), expected_hash="0" * 64),
    "PLAN_NOT_FOUND": with_plan("**", path="b.md", content="x", plan_hash="0" * 64),
    "PLAN_NOT_APPROVED": with_plan(path="b.md", content="x"),
    "PLAN_ENFORCEMENT_FAILED": no_plan,
    "PLAN_SCOPE_VIOLATION": with_plan("docs/**", path="b.md", content="x"),
    "POLICY_VIOLATION": with_plan("**", path="b.md", content="<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"),
    "RUST_POLICY_VIOLATION": with_plan("**", path="b.rs", content="fn f() { None::<u8>.unwrap(); }\n"),
    "PREFLIGHT_FAILED": preflight_failed,
    "INVARIANT_VIOLATION": invariant_violation,
    "AUDIT_LOG_FAILED": audit_log_failed,
    "AUDIT_LOCK_FAILED": audit_lock_failed,
    "INTERNAL_ERROR": internal_error,
    "UNKNOWN_TOOL_FAILURE": unknown_failure,
}
"""What makes each code happen, in a call."""


def test_every_code_of_the_seed_has_a_trigger() -> None:
    assert TRIGGERS.keys() | AT_START.keys() == SEED


@pytest.mark.parametrize("code", sorted(SEED))
def test_every_code_of_the_seed_is_in_the_catalogue(code: str) -> None:
    assert lookup(code) is not None


def test_every_code_of_the_seed_has_a_row_in_the_guides_table() -> None:
    rows = re.findall(r"^\| .+ \| `([A-Z_]+)` \|$", GUIDE.read_text(), re.MULTILINE)
    assert set(rows) >= SEED


@pytest.mark.parametrize("code", TRIGGERS)
def test_its_trigger_answers_with_the_code(code: str, tmp_path: Path) -> None:
    case = Case(tmp_path)
    answer = TRIGGERS[code](case)
    assert answer["error_code"] == code
    log = case.site.root / "audit-log.jsonl"
    on_record = [json.loads(line)["error_id"] for line in log.read_text().splitlines() if line.startswith("{")]
    assert (answer["error_id"] in on_record) is (code not in {"AUDIT_LOG_FAILED", "AUDIT_LOCK_FAILED"})


@pytest.mark.parametrize("code", AT_START)
def test_a_server_that_does_not_start_says_its_code(code: str, tmp_path: Path) -> None:
    command = [PYTHON, "-m", "failsoft", "serve", "workspace", "--root", str(tmp_path)]
    ran = subprocess.run(
        command,
        env={**os.environ, **AT_START[code]},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 4
    (envelope,) = (json.loads(line) for line in ran.stderr.splitlines() if line.startswith('{"error_code"'))
    assert (envelope["error_code"], envelope["session_id"], envelope["cause"] is None) == (code, None, False)


# Section 3: the same condition is the same code, whenever, in whatever session, and by whatever way.

CONDITIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "INVALID_INPUT_TYPE": ("read_file", {"path": 5}),
    "INVALID_INPUT_FORMAT": ("read_file", {"path": "a.md", "surplus": 1}),
    "INVALID_INPUT_VALUE": ("read_audit_log", {"limit": 0}),
    "MISSING_REQUIRED_FIELD": ("read_file", {}),
    "INVALID_PATH": ("read_file", {"path": "folder"}),
    "PATH_NOT_FOUND": ("list_files", {"path": "gone"}),
    "PATH_TRAVERSAL_BLOCKED": ("list_files", {"path": ".."}),
    "OUTSIDE_WORKSPACE": ("read_file", {"path": "/etc/hostname"}),
    "FILE_NOT_FOUND": ("read_file", {"path": "gone.md"}),
    "FILE_READ_FAILED": ("read_file", {"path": "loop"}),
    "PLAN_NOT_FOUND": ("write_file", {"path": "b.md", "content": "x", "plan_hash": "0" * 64}),
    "PLAN_NOT_APPROVED": ("write_file", {"path": "b.md", "content": "x"}),
    "SESSION_NOT_INITIALIZED": ("end_session", {"session_id": "unknown"}),
    "UNKNOWN_TOOL_FAILURE": ("divide", {}),
}
WAYS = ("in process", "over http", "over mcp")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OF_THE_MOMENT = {"timestamp", "error_id", "session_id", "stack_trace"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=12)
@given(
    steps=st.lists(st.tuples(st.sampled_from(sorted(CONDITIONS)), st.sampled_from(WAYS)), min_size=2, max_size=8),
    debug_stack=st.booleans(),
)
def test_the_same_condition_is_the_same_code_and_the_same_envelope(
    tmp_path: Path, steps: list[tuple[str, str]], debug_stack: bool
) -> None:
    site = Site(tmp_path / "served")
    (site.project / "folder").mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        (site.project / "loop").symlink_to("loop")
    tool = Breaking(site.root, runtime=Runtime(settings=Settings(debug_stack=debug_stack, repeats="off")))
    for code, way in steps:
        answer, category = asyncio.run(answered(site, tool, code, way))
        assert answer["error_code"] == code
        assert ("stack_trace" in answer) is debug_stack
        reported = json.dumps({**_lasting(answer, site), "category": category}, sort_keys=True)
        known = tmp_path / code
        if not known.exists():
            known.write_text(reported)
        assert reported == known.read_text()


async def answered(site: Site, tool: Workspace, code: str, way: str) -> tuple[dict[str, Any], str]:
    """Return the envelope of a failing call in a session of its own, and its category."""
    operation, arguments = CONDITIONS[code]
    principal = "alice" if way == "over http" else LOCAL_PRINCIPAL
    folder = {"workspace_root": str(site.project), "role": WORKER}
    if way == "over mcp":
        async with connected(tool) as client:
            begun = dict((await client.call_tool("begin_session", folder)).structured_content or {})["data"]
            result = await client.call_tool(operation, {"session_id": begun["session_id"], **arguments})
            return dict(result.structured_content or {}), dict(result.meta or {})["dev.failsoft/error"]["category"]
    scope = CallScope(principal=principal, toolbox=tool.toolbox)
    begun = (await tool.operations["begin_session"].call(folder, scope)).to_dict()["data"]
    response = await tool.operations[operation].call({"session_id": begun["session_id"], **arguments}, scope)
    assert response.error is not None
    return json.loads(response.encode().text), response.error.category


def _lasting(answer: dict[str, Any], site: Site) -> dict[str, Any]:
    """Return the envelope without what is of the moment: time, ids, stack, and the ids in texts and next steps."""
    lasting = json.dumps({name: value for name, value in answer.items() if name not in _OF_THE_MOMENT})
    assert answer["workspace_root"] in {str(site.project), None}
    found: dict[str, Any] = json.loads(_UUID.sub("<session>", lasting.replace(answer["error_id"], "<error_id>")))
    return found


def test_the_envelope_is_the_same_in_another_process(tmp_path: Path) -> None:
    code = """
import asyncio, json, sys
from pathlib import Path
from failsoft.tools.workspace import Workspace
tool = Workspace(Path(sys.argv[1]))
async def run():
    begun = await tool.begin_session(workspace_root=sys.argv[1], role="WINDSURF")
    answer = await tool.read_file(path="gone.md", session_id=begun.data["session_id"])
    sent = answer.to_dict()
    for name in ("timestamp", "error_id", "session_id"):
        del sent[name]
    print(json.dumps(sent).replace(begun.data["session_id"], "SESSION"))
asyncio.run(run())
"""
    environment = dict(os.environ)
    reported = []
    for seed in ("1", "2"):
        environment["PYTHONHASHSEED"] = seed
        command = [sys.executable, "-c", code, str(tmp_path)]
        ran = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=60)
        reported.append(ran.stdout)
    assert reported[0] == reported[1]
    assert json.loads(reported[0])["error_code"] == "FILE_NOT_FOUND"
