"""Sessions and roles: who works where, as whom, until when."""

from __future__ import annotations

import asyncio
import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from failsoft import ConfigurationError
from failsoft.tools.workspace import Workspace
from tests.doors import LOCAL_PRINCIPAL, LocalState, MemoryBackend, oauth_principal, token_principal
from tests.tools.workspace.site import Site

PLANNER, WORKER = "ANTIGRAVITY", "WINDSURF"


def begun(site: Site, tool: Workspace, root: Path | str, role: str = WORKER, **scope: Any) -> dict[str, Any]:
    return site.call(tool, "begin_session", {"workspace_root": str(root), "role": role}, **scope)


def code_of(answer: dict[str, Any]) -> str | None:
    return answer.get("error_code")


def test_a_session_says_whose_it_is(site: Site, tool: Workspace) -> None:
    data = begun(site, tool, site.project)["data"]
    assert uuid.UUID(data["session_id"]).version == 4
    assert (data["role"], data["workspace_root"], data["expires_in_s"]) == (WORKER, str(site.project), 28_800)
    assert data["may"] == ["read", "write"]


def test_the_root_of_a_session_is_reported_without_links(site: Site, tool: Workspace) -> None:
    (site.root / "link").symlink_to(site.project)
    assert begun(site, tool, site.root / "link")["data"]["workspace_root"] == str(site.project)


def test_a_session_that_has_ended_is_worth_nothing(site: Site, tool: Workspace) -> None:
    session = site.begin(tool)
    assert site.call(tool, "end_session", {"session_id": session})["data"]["session_id"] == session
    assert code_of(site.call(tool, "end_session", {"session_id": session})) == "SESSION_NOT_INITIALIZED"


def test_a_session_expires(site: Site) -> None:
    now = [1_000.0]
    tool = site.tool(state=LocalState(lambda: now[0]), workspace_session_s=60)
    session = site.begin(tool)
    now[0] += 61
    assert code_of(site.call(tool, "end_session", {"session_id": session})) == "SESSION_NOT_INITIALIZED"


def test_the_single_client_need_not_name_the_session_that_it_began_last(site: Site, tool: Workspace) -> None:
    first, second = site.begin(tool, PLANNER), site.begin(tool)
    assert site.call(tool, "end_session")["data"]["session_id"] == second
    assert code_of(site.call(tool, "end_session")) == "SESSION_NOT_INITIALIZED"
    assert site.call(tool, "end_session", {"session_id": first})["data"]["role"] == PLANNER


@pytest.mark.parametrize("principal", [None, "alice"])
def test_over_http_a_session_has_to_be_named(site: Site, tool: Workspace, principal: str | None) -> None:
    session = site.begin(tool, principal=principal)
    assert code_of(site.call(tool, "end_session", principal=principal)) == "SESSION_NOT_INITIALIZED"
    named = {"session_id": session}
    assert site.call(tool, "end_session", named, principal=principal)["data"]["session_id"] == session


def test_without_a_session_the_next_step_begins_one(site: Site, tool: Workspace) -> None:
    answer = site.call(tool, "list_files", {"session_id": str(uuid.uuid4())})
    step = answer["next_step"]
    assert (answer["session_id"], answer["workspace_root"], answer["effect"]) == (None, None, "none")
    assert code_of(site.call(tool, step["tool"], step["arguments"])) is None


def test_a_session_of_another_caller_is_refused(site: Site, tool: Workspace) -> None:
    session = site.begin(tool, principal="alice")
    for principal in ("bob", None, "local"):
        answer = site.call(tool, "end_session", {"session_id": session}, principal=principal)
        assert code_of(answer) == "INSUFFICIENT_PERMISSIONS", principal
    assert site.call(tool, "end_session", {"session_id": session}, principal="alice")["success"]


def test_a_principal_keeps_its_first_role_on_a_server(site: Site, tool: Workspace) -> None:
    site.begin(tool, PLANNER, principal="alice")
    answer = begun(site, tool, site.project, principal="alice")
    assert (code_of(answer), answer["effect"]) == ("ROLE_MISMATCH", "none")
    assert begun(site, tool, site.project, principal="bob")["success"]
    assert begun(site, tool, site.project, PLANNER, principal="alice")["success"]


@pytest.mark.parametrize(("first", "second"), [("", "inner"), ("inner", ""), ("inner", "link"), ("link", "")])
def test_a_role_holds_in_parents_children_and_links_of_its_workspace(
    site: Site, tool: Workspace, first: str, second: str
) -> None:
    (site.project / "inner").mkdir()
    (site.project / "link").symlink_to("inner")
    site.begin(tool, PLANNER, root=site.project / first, principal="alice")
    for _ in range(2):
        assert code_of(begun(site, tool, site.project / second, principal="alice")) == "ROLE_MISMATCH"
    assert begun(site, tool, site.project / second, PLANNER, principal="alice")["success"]
    assert begun(site, tool, site.project / second, principal="bob")["success"]


def test_a_token_holder_named_local_is_not_the_client_on_standard_streams(site: Site, tool: Workspace) -> None:
    session = site.begin(tool, PLANNER)
    impostor = token_principal("local")
    answer = site.call(tool, "list_files", {"session_id": session}, principal=impostor)
    assert code_of(answer) == "INSUFFICIENT_PERMISSIONS"
    assert code_of(site.call(tool, "list_files", {}, principal=impostor)) == "SESSION_NOT_INITIALIZED"
    granting = site.tool(workspace_principals=("local:ANTIGRAVITY",))
    assert begun(site, granting, site.project, PLANNER, principal=impostor)["success"]
    assert code_of(begun(site, granting, site.project, WORKER, principal=impostor)) == "INSUFFICIENT_PERMISSIONS"


def test_parts_of_principals_do_not_run_together() -> None:
    different = [
        token_principal("local"),
        token_principal("a b"),
        token_principal("a", "b"),
        token_principal("a%20b"),
        oauth_principal("a", "b"),
        oauth_principal("a b", ""),
        oauth_principal("https://id.example", "x" * 1_000 + "1"),
        oauth_principal("https://id.example", "x" * 1_000 + "2"),
        LOCAL_PRINCIPAL,
    ]
    assert len(set(different)) == len(different)


def test_ending_the_session_does_not_free_the_principal_of_its_role(site: Site, tool: Workspace) -> None:
    session = site.begin(tool, PLANNER, principal="alice")
    site.call(tool, "end_session", {"session_id": session}, principal="alice")
    assert code_of(begun(site, tool, site.project, principal="alice")) == "ROLE_MISMATCH"


def test_the_settings_say_who_may_take_which_role(site: Site) -> None:
    tool = site.tool(workspace_principals=("https://id.example alice:ANTIGRAVITY", "bob:ANTIGRAVITY+WINDSURF"))
    assert begun(site, tool, site.project, PLANNER, principal="https://id.example alice")["success"]
    assert begun(site, tool, site.project, PLANNER, principal="bob")["success"]
    assert begun(site, tool, site.project, WORKER, principal="bob")["success"]
    for principal in ("https://id.example alice", "mallory", None):
        assert code_of(begun(site, tool, site.project, principal=principal)) == "INSUFFICIENT_PERMISSIONS", principal


def test_a_role_that_does_not_exist_is_corrected(site: Site, tool: Workspace) -> None:
    answer = begun(site, tool, site.project, "WINDSURFER")
    assert code_of(answer) == "INVALID_INPUT_VALUE"
    (violation,) = answer["violations"]
    assert (violation["path"], violation["allowed"], violation["suggestion"]) == ("role", [PLANNER, WORKER], WORKER)


def test_roles_come_from_the_settings(site: Site) -> None:
    tool = site.tool(workspace_roles=("ARCHITECT:read", "BUILDER:read+write"))
    assert begun(site, tool, site.project, "BUILDER")["data"]["role"] == "BUILDER"
    assert code_of(begun(site, tool, site.project)) == "INVALID_INPUT_VALUE"


@pytest.mark.parametrize(
    "settings",
    [
        {"workspace_roles": ()},
        {"workspace_roles": ("WINDSURF",)},
        {"workspace_roles": (":read",)},
        {"workspace_roles": ("WINDSURF:read+fly",)},
        {"workspace_roles": ("ALMIGHTY:read+approve+write",)},
        {"workspace_principals": ("alice",)},
        {"workspace_principals": (":WINDSURF",)},
        {"workspace_principals": ("alice:SAILOR",)},
    ],
)
def test_roles_that_cannot_be_used_keep_the_server_from_starting(site: Site, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        site.tool(**settings)


def test_a_root_that_does_not_exist_keeps_the_server_from_starting(site: Site) -> None:
    with pytest.raises(ConfigurationError):
        Workspace(site.root / "nowhere")


def test_replicas_share_sessions_through_the_state_store(site: Site) -> None:
    state = LocalState(records=MemoryBackend())
    one, other = site.tool(state=state), site.tool(state=state)
    session = site.begin(one, principal="alice")
    assert site.call(other, "end_session", {"session_id": session}, principal="alice")["success"]
    assert code_of(site.call(one, "end_session", {"session_id": session}, principal="alice")) is not None


def test_the_keys_of_the_store_reveal_no_session_id(site: Site) -> None:
    records = MemoryBackend()
    session = site.begin(site.tool(state=LocalState(records=records)))
    kept = asyncio.run(records.find(""))
    assert kept
    assert not any(session in json.dumps([one.key, one.value]) for one in kept)


ROOTS = {
    "": "INVALID_PATH",
    "project": "INVALID_PATH",
    "/srv\0": "INVALID_PATH",
    "{root}/" + "x" * 300: "INVALID_PATH",
    "{root}/file": "INVALID_PATH",
    "{root}/\ud800": "INVALID_INPUT_FORMAT",
    "{root}/nowhere": "PATH_NOT_FOUND",
    "{root}/file/below": "PATH_NOT_FOUND",
    "{root}/project/../project": "PATH_TRAVERSAL_BLOCKED",
    "/": "OUTSIDE_WORKSPACE",
    "{root}/..": "PATH_TRAVERSAL_BLOCKED",
    "{root}/out": "OUTSIDE_WORKSPACE",
    "{root}er": "OUTSIDE_WORKSPACE",
    "{root}/loop": "SESSION_INITIALIZATION_FAILED",
}


@pytest.mark.parametrize(("spelling", "code"), ROOTS.items())
def test_a_root_that_cannot_be_worked_in_is_refused(
    site: Site, tool: Workspace, tmp_path: Path, spelling: str, code: str
) -> None:
    (site.root / "file").write_text("x")
    (site.root / "out").symlink_to(tmp_path)
    (site.root / "loop").symlink_to("loop")
    answer = begun(site, tool, spelling.replace("{root}", str(site.root)))
    assert (code_of(answer), answer["effect"], answer["role"]) == (code, "none", None)


def test_every_failure_is_on_record_in_the_first_folder(site: Site, tool: Workspace) -> None:
    site.call(tool, "end_session", {"session_id": "x"})
    site.begin(tool)
    entries = [json.loads(line) for line in (site.root / "audit-log.jsonl").read_text().splitlines()]
    assert [(entry["event"], entry["operation"], entry["error_code"]) for entry in entries] == [
        ("failure", "end_session", "SESSION_NOT_INITIALIZED"),
        ("success", "begin_session", None),
    ]
    assert entries[1]["role"] == WORKER
