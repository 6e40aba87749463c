"""Hostile paths in every argument that takes a path: not one byte outside is read or written."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from failsoft.tools.workspace import Workspace
from tests.doors import LOCAL_PRINCIPAL, CallScope, verify
from tests.framework.wellformed import check_wellformed
from tests.tools.workspace.hostile import hostile_paths
from tests.tools.workspace.site import Site
from tests.tools.workspace.trap import CANARY, INSIDE, LONG_AGO_NS, Trap

WRITTEN = "written\n"
CANARY_HASH = hashlib.sha256(f"{CANARY}\n".encode()).hexdigest()
AT_ONCE = 32
PATCH = f"@@ -1 +1 @@\n-{{before}}\n+{WRITTEN}"

WITH_A_PATH: dict[str, dict[str, Callable[[str], dict[str, Any]]]] = {
    "read_file": {"": lambda path: {"path": path}},
    "list_files": {"": lambda path: {"path": path}},
    "write_file": {
        "new": lambda path: {"path": path, "content": WRITTEN},
        "replaced": lambda path: {"path": path, "content": WRITTEN, "expected_hash": CANARY_HASH},
    },
    "apply_patch": {
        "inside": lambda path: {"path": path, "patch": PATCH.format(before=INSIDE.strip())},
        "replaced": lambda path: {"path": path, "patch": PATCH.format(before=CANARY), "expected_hash": CANARY_HASH},
        "new": lambda path: {"path": path, "patch": f"--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+{WRITTEN}"},
    },
    "submit_plan": {"": lambda path: {"title": "Plan", "files": [path]}},
    "begin_session": {"": lambda path: {"workspace_root": path, "role": "ANTIGRAVITY"}},
    "write_failure_report": {"": lambda path: {"title": path, "body": path}},
}
"""Every operation that takes a path, or makes one of what it takes, with the arguments that a path is put into."""
WAYS = [(operation, way) for operation, ways in WITH_A_PATH.items() for way in ways]
STRIDE = 25
"""Each way takes one path in so many, from another one on."""
WITHOUT = {"end_session", "lint_plan", "withdraw_plan", "approve_plan", "list_plans", "run_preflight", "read_audit_log"}


@pytest.fixture
def trap(tmp_path: Path) -> Iterator[Trap]:
    trap = Trap(tmp_path)
    trap.set()
    yield trap
    trap.clear()


@pytest.fixture
def said() -> Iterator[list[str]]:
    """Return all that is logged."""
    lines: list[str] = []
    logger.remove()
    logger.enable("failsoft")
    logger.add(lines.append, level=0, serialize=True)
    yield lines
    logger.disable("failsoft")
    logger.remove()


def tool_in(trap: Trap) -> Workspace:
    site = Site(trap.served)
    return site.tool(audit_path=trap.audit, recovery_file=trap.settings)


async def answers(tool: Workspace, name: str, every: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the answers of one operation to many arguments, some calls at a time, so that they share the disk."""
    scope = CallScope(max_response_bytes=1_000_000, toolbox=tool.toolbox, principal=LOCAL_PRINCIPAL)
    bound = tool.operations[name]
    found: list[dict[str, Any]] = []
    for begin in range(0, len(every), AT_ONCE):
        calls = (bound.call(params, scope) for params in every[begin : begin + AT_ONCE])
        found += [check_wellformed(response, bound) for response in await asyncio.gather(*calls)]
    return found


def test_every_operation_is_known_to_take_a_path_or_not() -> None:
    assert Workspace().operations.keys() <= WITH_A_PATH.keys() | WITHOUT


def test_there_are_enough_hostile_paths_of_every_kind(trap: Trap) -> None:
    families = hostile_paths(trap)
    paths = [path for family in families.values() for path in family]
    assert len(paths) == len(set(paths)) >= 1_000
    assert all(len(family) >= 15 for family in families.values())


def test_the_trap_notices_who_reads_or_writes_outside(trap: Trap) -> None:
    before = trap.state()
    assert trap.state() == before
    (trap.served / "neighbor/new.md").touch()
    assert trap.state() != before
    before = trap.state()
    (trap.outside / "secret.md").read_text()
    assert (trap.state() != before) is notes_reads(trap.project / "a.md")


def notes_reads(file: Path) -> bool:
    """Return whether this system notes when a file was last read, as some do not."""
    os.utime(file, ns=(LONG_AGO_NS, file.stat().st_mtime_ns))
    file.read_text()
    return file.stat().st_atime_ns != LONG_AGO_NS


@pytest.mark.parametrize(("operation", "way"), WAYS)
def test_no_path_leads_out(trap: Trap, said: list[str], operation: str, way: str) -> None:
    no_path_leads_out(trap, said, operation, way, STRIDE)


def no_path_leads_out(trap: Trap, said: list[str], operation: str, way: str, stride: int) -> None:
    """Hold the answers, the log and the disk to what lies inside, for one hostile path in so many."""
    tool = tool_in(trap)
    if operation not in tool.operations:
        pytest.skip(f"there is no {operation}")
    first = WAYS.index((operation, way)) % stride
    paths = [path for family in hostile_paths(trap).values() for path in family][first::stride]
    before = trap.state()
    session = worker(trap, tool, operation)
    params = [WITH_A_PATH[operation][way](path) for path in paths]
    if operation != "begin_session":
        params = [{**one, "session_id": session} for one in params]

    reported = asyncio.run(answers(tool, operation, params))

    assert CANARY not in json.dumps(reported)
    assert trap.state() == before
    assert CANARY not in "".join(said)
    assert CANARY not in trap.audit.read_text()
    assert verify(trap.audit).is_whole
    assert trap.settings.read_text() == ""
    expected_of(operation, reported, trap, stride)


def worker(trap: Trap, tool: Workspace, operation: str) -> str:
    """Return a session whose role may do this, and for which every file may be written."""
    site = Site(trap.served)
    site.allow(tool)
    return site.begin(tool, "ANTIGRAVITY" if operation == "submit_plan" else "WINDSURF")


def expected_of(operation: str, reported: list[dict[str, Any]], trap: Trap, stride: int) -> None:
    """Look at what was answered: by far the most is refused, and what is not lies in the workspace."""
    codes = Counter(answer.get("error_code") for answer in reported)
    data = [answer["data"] for answer in reported if answer.get("success")]
    if operation == "read_file":
        assert {found["content"] for found in data} <= {INSIDE}
    if operation == "begin_session":
        assert all(Path(found["workspace_root"]).is_relative_to(trap.served) for found in data)
    if operation in {"read_file", "list_files", "write_file", "apply_patch"}:
        assert len(reported) * stride > 1_000
        assert codes["OUTSIDE_WORKSPACE"] * stride > 300
        assert codes["PATH_TRAVERSAL_BLOCKED"] * stride > 100
        assert "UNKNOWN_TOOL_FAILURE" not in codes
        assert {answer.get("effect", "none") for answer in reported if not answer.get("success")} == {"none"}
