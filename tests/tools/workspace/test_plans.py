"""Plans: submission, approval by another author, and what may be written under them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from failsoft import PermissionDenied
from failsoft.events import Events
from failsoft.tools.workspace import OutsideWorkspace, PlanScopeViolation, Workspace
from tests.doors import (
    CONTEXT_KEY,
    Files,
    LocalState,
    MemoryBackend,
    Records,
    Roots,
    SessionFiles,
    covers,
    open_state,
    token_principal,
)
from tests.programs.redis import RunningRedis
from tests.tools.workspace.site import Site

PLANNER, WORKER = "ANTIGRAVITY", "WINDSURF"
PLAN: dict[str, Any] = {"title": "Guide", "files": ["docs/**"], "body": "Write it."}


class Shared(LocalState):
    """One state for two servers, as Redis is, whose records can be put otherwise than a toolset would."""

    def __init__(self) -> None:
        self.shared = MemoryBackend()
        super().__init__(records=self.shared)

    def entries(self) -> list[Any]:
        return [(one.key, one.expires_in_s, one.value) for one in asyncio.run(self.shared.find(""))]

    def kept(self, kind: str) -> tuple[str, Any]:  # the one key of a kind, and its value
        (found,) = [(key, value) for key, _, value in self.entries() if f"{kind}:" in key]
        return found

    def replace(self, kind: str, value: Any) -> None:  # under that key
        asyncio.run(Records(self.shared, lambda: "").put(self.kept(kind)[0], value, 100.0))


def coded(answer: dict[str, Any]) -> tuple[Any, Any]:
    return answer.get("error_code"), answer.get("effect")


def submit(site: Site, tool: Workspace, **more: Any) -> dict[str, Any]:
    return site.call(tool, "submit_plan", {**PLAN, **more})


def approve(site: Site, tool: Workspace, plan_hash: str, **more: Any) -> dict[str, Any]:
    return site.call(tool, "approve_plan", {"plan_hash": plan_hash, **more})


def write(site: Site, tool: Workspace, path: str, *, meta: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return site.call(tool, "write_file", {"path": path, "content": "x\n", **more}, meta=meta or {})


def planned(site: Site, tool: Workspace, *files: str) -> str:
    """Return the hash of a plan that is not approved."""
    answer = submit(site, tool, session_id=site.begin(tool, PLANNER), files=list(files))
    plan_hash: str = answer["data"]["plan_hash"]
    return plan_hash


def test_a_plan_is_addressed_by_the_hash_of_what_it_says(site: Site, tool: Workspace) -> None:
    site.begin(tool, PLANNER)
    data = submit(site, tool, files=["docs/**", "./a.md", "a.md"])["data"]
    content = {"body": "Write it.", "files": ["a.md", "docs/**"], "title": "Guide", "workspace_root": str(site.project)}
    hashed = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    assert data["plan_hash"] == hashlib.sha256(hashed).hexdigest()
    assert (data["files"], data["approved"], data["own"], data["role"]) == (["a.md", "docs/**"], False, True, PLANNER)


def test_the_same_plan_is_one_plan_of_its_first_author_however_often_it_is_submitted(
    site: Site, tool: Workspace
) -> None:
    author, other = site.begin(tool, PLANNER), site.begin(tool, PLANNER, principal="ada")
    first = submit(site, tool, session_id=author)["data"]
    again = site.call(tool, "submit_plan", {**PLAN, "session_id": other}, principal="ada")
    assert again["data"] == {**first, "own": False}
    assert site.approve(tool, first["plan_hash"])["success"]
    assert submit(site, tool, session_id=author)["data"] == {**first, "approved": True}
    assert site.call(tool, "list_plans", {"session_id": author})["data"]["total"] == 1


def test_no_author_approves_their_own_plan(site: Site, tool: Workspace) -> None:
    author, second = site.begin(tool, PLANNER), site.begin(tool, PLANNER)
    plan_hash = submit(site, tool, session_id=author)["data"]["plan_hash"]
    assert coded(approve(site, tool, plan_hash, session_id=second)) == ("UNAUTHORIZED_ACTION", "none")
    refused = approve(site, tool, plan_hash, session_id=author)
    assert coded(refused) == ("UNAUTHORIZED_ACTION", "none")
    step = refused["next_step"]
    assert site.call(tool, step["tool"], step["arguments"])["data"]["plans"][0]["approved"] is False
    assert f"failsoft plans approve {plan_hash} --root {site.project}" in refused["human_message"]
    assert site.approve(tool, plan_hash)["data"]["approved"] is True
    assert coded(approve(site, tool, plan_hash, session_id=author)) == ("UNAUTHORIZED_ACTION", "none")


def test_a_principal_is_one_author_in_all_its_sessions(site: Site, tool: Workspace) -> None:
    sessions = [site.begin(tool, PLANNER, principal=principal) for principal in ("ada", "ada", "bob")]
    plan_hash = site.call(tool, "submit_plan", {**PLAN, "session_id": sessions[0]}, principal="ada")["data"][
        "plan_hash"
    ]
    params = [{"plan_hash": plan_hash, "session_id": session} for session in sessions]
    assert coded(site.call(tool, "approve_plan", params[1], principal="ada")) == ("UNAUTHORIZED_ACTION", "none")
    assert site.call(tool, "approve_plan", params[2], principal="bob")["data"]["approved"] is True


def test_a_token_holder_named_local_approves_no_plan_of_its_own(site: Site, tool: Workspace) -> None:
    impostor = token_principal("local")
    sessions = [site.begin(tool, PLANNER, principal=impostor) for _ in range(2)]
    plan_hash = site.call(tool, "submit_plan", {**PLAN, "session_id": sessions[0]}, principal=impostor)["data"][
        "plan_hash"
    ]
    params = {"plan_hash": plan_hash, "session_id": sessions[1]}
    assert coded(site.call(tool, "approve_plan", params, principal=impostor)) == ("UNAUTHORIZED_ACTION", "none")


def test_without_a_principal_over_http_no_plan_is_approved(site: Site, tool: Workspace) -> None:
    author, other = (site.begin(tool, PLANNER, principal=None) for _ in range(2))
    plan_hash = site.call(tool, "submit_plan", {**PLAN, "session_id": author}, principal=None)["data"]["plan_hash"]
    params: dict[str, Any] = {"plan_hash": plan_hash}
    for session in (author, other):
        answer = site.call(tool, "approve_plan", {**params, "session_id": session}, principal=None)
        assert coded(answer) == ("UNAUTHORIZED_ACTION", "none")


def test_roles_plan_approve_and_list_only_where_they_have_the_power(site: Site) -> None:
    tool = site.tool(workspace_roles=("AUTHOR:plan", "JUDGE:approve", "READER:read", "WORKER:write"))
    author = site.begin(tool, "AUTHOR")
    plan_hash = submit(site, tool, session_id=author)["data"]["plan_hash"]
    allowed = {"submit_plan": "AUTHOR", "approve_plan": "JUDGE", "list_plans": "READER"}
    params: dict[str, Any] = {"submit_plan": PLAN, "approve_plan": {"plan_hash": plan_hash}, "list_plans": {}}
    for role in ("READER", "WORKER", "AUTHOR", "JUDGE"):
        site.begin(tool, role)
        for operation, power in allowed.items():
            code = site.call(tool, operation, params[operation]).get("error_code")
            assert code == (None if role == power else "UNAUTHORIZED_ACTION"), (role, operation)


def test_the_role_that_writes_neither_plans_nor_approves(site: Site, tool: Workspace) -> None:
    plan_hash = planned(site, tool, "docs/**")
    site.begin(tool, WORKER)
    assert coded(submit(site, tool)) == ("UNAUTHORIZED_ACTION", "none")
    assert coded(approve(site, tool, plan_hash)) == ("UNAUTHORIZED_ACTION", "none")


def test_nothing_is_written_before_a_plan_is_approved(site: Site, tool: Workspace) -> None:
    worker = site.begin(tool)
    assert coded(write(site, tool, "docs/a.md")) == ("PLAN_NOT_APPROVED", "none")
    plan_hash = planned(site, tool, "docs/**")
    for named in ({}, {"plan_hash": plan_hash}):
        answer = write(site, tool, "docs/a.md", session_id=worker, **named)
        assert coded(answer) == ("PLAN_NOT_APPROVED", "none")
        step = answer["next_step"]
        assert site.call(tool, step["tool"], step["arguments"])["data"]["plans"][0]["plan_hash"] == plan_hash
    assert answer["plan_hash"] == plan_hash
    assert site.entries() == []
    site.approve(tool, plan_hash)
    assert write(site, tool, "docs/a.md", session_id=worker)["success"]


@pytest.mark.parametrize("named", [{}, {"plan_hash": "0" * 64}])
@pytest.mark.parametrize(
    ("path", "code"),
    [("../a.md", "PATH_TRAVERSAL_BLOCKED"), ("", "INVALID_PATH"), ("/etc/hostname", "OUTSIDE_WORKSPACE")],
)
def test_a_path_that_no_plan_could_cover_is_reported_before_the_plan(
    site: Site, tool: Workspace, path: str, code: str, named: dict[str, Any]
) -> None:
    site.begin(tool)
    assert coded(write(site, tool, path, **named)) == (code, "none")
    patch = {"path": path, "patch": "@@ -0,0 +1 @@\n+x\n", **named}
    assert coded(site.call(tool, "apply_patch", patch)) == (code, "none")


def test_a_write_goes_by_the_plan_that_it_names(site: Site, tool: Workspace) -> None:
    docs, source = site.allow(tool, "docs/**"), site.allow(tool, "src/**")
    site.begin(tool)
    by_meta = {CONTEXT_KEY: {"plan_hash": docs, "phase_id": "PHASE_1"}}
    assert write(site, tool, "docs/a.md", plan_hash=docs)["success"]
    assert write(site, tool, "docs/b.md", meta=by_meta)["success"]
    assert write(site, tool, "src/a.py", meta=by_meta, plan_hash=source)["success"]
    assert write(site, tool, "docs/c.md")["success"]
    refused = write(site, tool, "src/b.py", meta=by_meta)
    assert (*coded(refused), refused["plan_hash"]) == ("PLAN_SCOPE_VIOLATION", "none", docs)
    assert coded(write(site, tool, "docs/d.md", plan_hash=source)) == ("PLAN_SCOPE_VIOLATION", "none")
    entries = [json.loads(line) for line in (site.root / "audit-log.jsonl").read_text().splitlines()]
    writes = [entry["plan_hash"] for entry in entries if entry["operation"] == "write_file"]
    assert writes == [docs, docs, source, docs, docs, source]


@pytest.mark.parametrize("named", ["0" * 64, "x", "", 5, {"a": 1}])
def test_a_plan_that_was_not_submitted_is_not_found(site: Site, tool: Workspace, named: Any) -> None:
    site.allow(tool)
    site.begin(tool)
    answers = [write(site, tool, "a.md", meta={CONTEXT_KEY: {"plan_hash": named}})]
    if isinstance(named, str):
        answers.append(write(site, tool, "a.md", plan_hash=named))
        answers.append(approve(site, tool, named, session_id=site.begin(tool, PLANNER)))
    for answer in answers:
        assert coded(answer) == ("PLAN_NOT_FOUND", "none")
        step = answer["next_step"]
        assert site.call(tool, step["tool"], step["arguments"])["data"]["total"] == 1
    assert site.entries() == []


def test_a_plan_is_for_its_workspace_only(site: Site, tool: Workspace) -> None:
    (site.root / "other").mkdir()
    plan_hash = site.allow(tool, "**")
    worker = site.begin(tool, root=site.root / "other")
    assert coded(write(site, tool, "a.md")) == ("PLAN_NOT_APPROVED", "none")
    assert coded(write(site, tool, "a.md", plan_hash=plan_hash)) == ("PLAN_NOT_FOUND", "none")
    assert site.call(tool, "list_plans", {"session_id": worker})["data"] == {"plans": [], "total": 0}
    site.allow(tool, "**", root=site.root)
    assert coded(write(site, tool, "a.md", session_id=worker)) == ("PLAN_NOT_APPROVED", "none")


OUTSIDE = {
    "another folder": "src/a.py",
    "a folder that begins alike": "docs2/a.md",
    "a folder of the same name below": "x/docs/a.md",
    "other letters": "Docs/a.md",
    "the folder itself": "docs",
    "a name with a dot": "docs/.env",
    "below a name with a dot": "docs/.git/hooks/pre-commit",
    "through a folder that is a link": "docs/out/a.md",
    "through a link": "docs/link.md",
    "through a link to what does not exist": "docs/new.md",
    "by the name of a link that leads in": "in/a.md",
    "by a link that leads in": "in.md",
    "in several steps": "docs/steps/a.md",
    "through a link to a folder that does not exist": "docs/gone/a.md",
}


@pytest.mark.parametrize(("is_absolute", "is_new"), [(False, True), (True, False)])
def test_nothing_outside_the_plan_is_written_whatever_leads_there(
    site: Site, tool: Workspace, is_absolute: bool, is_new: bool
) -> None:
    for folder in ("docs", "src"):
        (site.project / folder).mkdir()
    for file in ("src/a.py", "src/b.md", "docs/a.md"):
        (site.project / file).write_text("old\n")
    links = {"docs/out": "../src", "docs/link.md": "../src/b.md", "docs/new.md": "../src/new.md", "in": "docs"}
    for link, target in {**links, "in.md": "docs/a.md", "docs/steps": "./out", "docs/gone": "../src/gone"}.items():
        (site.project / link).symlink_to(target)
    site.allow(tool, "docs/**")
    before = {path: path.read_text() if path.is_file() else None for path in sorted(site.project.rglob("*"))}
    site.begin(tool)
    known = {} if is_new else {"expected_hash": hashlib.sha256(b"old\n").hexdigest()}
    for kind, place in OUTSIDE.items():
        path = f"{site.project}/{place}" if is_absolute else f".//{place}"
        assert coded(write(site, tool, path, **known)) == ("PLAN_SCOPE_VIOLATION", "none"), kind
        patch = f"--- {'/dev/null' if is_new else path}\n+++ {path}\n@@ -{'0,0' if is_new else '1'} +1 @@\n"
        patch += "+x\n" if is_new else "-old\n+x\n"
        answer = site.call(tool, "apply_patch", {"path": path, "patch": patch})
        assert coded(answer) == ("PLAN_SCOPE_VIOLATION", "none"), kind
    assert {path: path.read_text() if path.is_file() else None for path in sorted(site.project.rglob("*"))} == before


def test_a_path_in_the_plan_may_lead_to_another_one_in_it(site: Site, tool: Workspace) -> None:
    (site.project / "docs/v2").mkdir(parents=True)
    (site.project / "docs/latest").symlink_to("v2")
    site.allow(tool, "docs/**")
    site.begin(tool)
    for path in ("docs/latest/a.md", f"{site.project}/docs/./latest//b/c.md", "./docs/v2/d.md"):
        assert write(site, tool, path)["success"], path
    assert (site.project / "docs/v2/b/c.md").read_text() == "x\n"


def test_a_link_that_is_put_there_after_the_plan_was_asked_gains_nothing(site: Site) -> None:
    """The checks run between the first look and the lock; this one is the attacker, who wins every race."""
    (site.project / "docs").mkdir()
    (site.project / "src").mkdir()
    refused: list[str] = []

    def guard(path: str, real_path: str) -> None:
        if not covers(["docs/**"], real_path):
            refused.append(real_path)
            raise PlanScopeViolation(path=path)

    def attack(*judged: object) -> tuple[str, ...]:
        if (site.project / "docs").is_dir() and not (site.project / "docs").is_symlink():
            (site.project / "docs").rename(site.project / "aside")
            (site.project / "docs").symlink_to("src")
        return ()

    files = Files(Roots([site.root]).beneath(str(site.project)), state_folder=site.root.parent / "state")
    files_of_session = SessionFiles(
        files, folder=str(site.project), bytes_at_most=100, warn=lambda _: None, guard=guard, judged=attack
    )
    with pytest.raises((PlanScopeViolation, OutsideWorkspace)) as error:
        files_of_session.write("docs/a.md", b"x", None)
    assert isinstance(error.value, PermissionDenied)
    assert error.value.effect == "none"
    assert refused == ["src/a.md"]
    assert list((site.project / "src").iterdir()) == []


def test_session_files_without_a_plan_write_nothing(site: Site) -> None:
    files = Files(Roots([site.root]).beneath(str(site.project)), state_folder=site.root.parent / "state")
    files_of_session = SessionFiles(files, folder=str(site.project), bytes_at_most=100, warn=lambda _: None)
    with pytest.raises(Exception, match="approved") as error:
        files_of_session.write("a.md", b"x", None)
    assert getattr(error.value, "code", None) == "PLAN_NOT_APPROVED"


def test_a_scope_violation_lists_what_the_plan_covers(site: Site, tool: Workspace) -> None:
    site.allow(tool, *(f"docs/{number:02}.md" for number in range(12)))
    site.begin(tool)
    answer = write(site, tool, "a.md")
    assert '"docs/00.md"' in answer["human_message"]
    assert "2 more" in answer["human_message"]
    assert answer["next_step"]["tool"] == "list_plans"


def test_a_plan_that_could_not_be_held_to_is_refused_with_every_fault(site: Site, tool: Workspace) -> None:
    site.begin(tool, PLANNER)
    answer = submit(site, tool, files=["/etc/passwd", "a.md", "../b", "src/"])
    assert coded(answer) == ("PLAN_ENFORCEMENT_FAILED", "none")
    assert [fault["path"] for fault in answer["violations"]] == ["files.0", "files.2", "files.3"]
    for files in ([], ["a"] * 201):
        assert coded(submit(site, tool, files=files)) == ("PLAN_ENFORCEMENT_FAILED", "none")
    assert site.call(tool, "list_plans")["data"]["total"] == 0


def test_plans_are_listed_the_newest_first_and_in_parts(site: Site, tool: Workspace) -> None:
    site.begin(tool, PLANNER)
    for number in range(5):
        submit(site, tool, title=f"Plan {number}")
    data = site.call(tool, "list_plans", {"limit": 2})["data"]
    assert ([plan["title"] for plan in data["plans"]], data["total"]) == (["Plan 4", "Plan 3"], 5)


def test_the_largest_plan_is_listed_whole_and_more_of_them_one_by_one(site: Site, tool: Workspace) -> None:
    site.begin(tool, PLANNER)
    for number in range(3):
        plan = {"title": f"Plan {number}", "files": [f"{place:03}" + "\U0001f600" * 97 for place in range(200)]}
        assert submit(site, tool, **plan, body="\x01" * 50_000)["success"]
    refused = site.call(tool, "list_plans")
    assert coded(refused) == ("RESULT_TOO_LARGE", "none")
    step = refused["next_step"]
    assert site.call(tool, step["tool"], {**step["arguments"], "limit": 1})["data"]["plans"][0]["title"] == "Plan 2"


def test_a_plan_expires_and_its_approval_with_it(site: Site) -> None:
    now = [1_000.0]
    tool = site.tool(state=LocalState(lambda: now[0]), workspace_plan_s=60)
    author, worker = site.begin(tool, PLANNER), site.begin(tool)
    plan_hash = submit(site, tool, session_id=author)["data"]["plan_hash"]
    now[0] += 30
    site.approve(tool, plan_hash)
    assert write(site, tool, "docs/a.md", session_id=worker)["success"]
    now[0] += 31
    assert coded(write(site, tool, "docs/b.md", session_id=worker)) == ("PLAN_NOT_APPROVED", "none")
    assert coded(write(site, tool, "docs/b.md", session_id=worker, plan_hash=plan_hash)) == ("PLAN_NOT_FOUND", "none")
    assert site.call(tool, "list_plans", {"session_id": worker})["data"]["total"] == 0
    again = submit(site, tool, session_id=author)["data"]
    assert (again["plan_hash"], again["approved"]) == (plan_hash, False)
    assert coded(write(site, tool, "docs/b.md", session_id=worker)) == ("PLAN_NOT_APPROVED", "none")


TAMPERED: dict[str, Any] = {
    "other files": {"files": ["**"]},
    "another body": {"body": "Write something else."},
    "another workspace": {"workspace_root": "/"},
    "files that are no list": {"files": 5},
    "a fact too many": {"approver": "me"},
}
DAMAGED: dict[str, Any] = {"no author": {"author": None}, "no approval": {"approver": 5}, "no entry": None}


@pytest.mark.parametrize("kind", [*TAMPERED, *DAMAGED, "no plan", "no register"])
@pytest.mark.parametrize("operation", ["write_file", "list_plans"])
def test_a_plan_that_is_not_its_hash_is_an_invariant_violation(site: Site, kind: str, operation: str) -> None:
    state = Shared()
    tool = site.tool(state=state)
    site.allow(tool, "docs/**")
    plan_hash = state.kept("plan")[0].rpartition(":")[2]
    tool = site.tool(state=state)  # which has verified nothing yet
    site.begin(tool)
    if kind == "no register":
        state.replace("plans", {"plans": 5})
    elif kind in DAMAGED:
        register = state.kept("plans")[1]
        entry = DAMAGED[kind] and {**register["plans"][plan_hash], **DAMAGED[kind]}
        state.replace("plans", {**register, "plans": {plan_hash: entry}})
    else:
        state.replace("plan", "x" if kind == "no plan" else {**state.kept("plan")[1], **TAMPERED[kind]})
    params = {"path": "docs/a.md", "content": "x"} if operation == "write_file" else {}
    answer = site.call(tool, operation, params)
    assert (*coded(answer), answer["invariant_id"]) == ("INVARIANT_VIOLATION", "none", "PLAN_IS_ITS_HASH")
    assert site.entries() == []


def test_a_plan_that_its_author_approved_is_an_invariant_violation(site: Site) -> None:
    state = Shared()
    tool = site.tool(state=state)
    plan_hash = site.allow(tool, "docs/**")
    register = state.kept("plans")[1]
    entry = register["plans"][plan_hash]
    state.replace("plans", {**register, "plans": {plan_hash: {**entry, "approver": entry["author"]}}})
    sessions = [site.begin(tool) for _ in range(2)]
    for session_id, named in zip(sessions, ({}, {"plan_hash": plan_hash}), strict=True):
        answer = write(site, tool, "docs/a.md", session_id=session_id, **named)
        assert (*coded(answer), answer["invariant_id"]) == ("INVARIANT_VIOLATION", "none", "AUTHOR_IS_NOT_APPROVER")
    assert site.entries() == []


def test_a_plan_in_the_store_reveals_no_session_id(site: Site) -> None:
    state = Shared()
    tool = site.tool(state=state)
    author, other = site.begin(tool, PLANNER), site.begin(tool, PLANNER, principal=None)
    submit(site, tool, session_id=author)
    site.call(tool, "submit_plan", {**PLAN, "title": "Other", "session_id": other}, principal=None)
    assert not any(session in json.dumps(entry) for entry in state.entries() for session in (author, other))


def test_the_body_of_a_plan_is_not_in_the_audit_log(site: Site, tool: Workspace) -> None:
    site.begin(tool, PLANNER)
    plan_hash = submit(site, tool, body="confidential words")["data"]["plan_hash"]
    log = (site.root / "audit-log.jsonl").read_text()
    entry = json.loads(log.splitlines()[-1])
    assert (entry["operation"], entry["plan_hash"], entry["facts"]["files"]) == ("submit_plan", plan_hash, 1)
    assert "confidential" not in log


@pytest.fixture
def server(redis_server: RunningRedis) -> RunningRedis:
    return redis_server


@contextmanager
def counted(server: RunningRedis) -> Iterator[dict[str, int]]:
    """Count the commands that the server is sent meanwhile."""
    client = redis.Redis.from_url(server.url, decode_responses=True)
    client.config_resetstat()
    counts: dict[str, int] = {}
    try:
        yield counts
        stats = client.info("commandstats")
        counts.update({name.removeprefix("cmdstat_"): facts["calls"] for name, facts in stats.items()})
    finally:
        client.close()


def test_replicas_that_submit_and_approve_at_once_lose_nothing(site: Site, server: RunningRedis) -> None:
    async def run() -> None:
        states = [open_state(server.url, Events(), limit_s=60.0) for _ in range(2)]
        tools = [site.tool(state=state) for state in states]
        begin = {"workspace_root": str(site.project), "role": PLANNER}
        authors = ["ada", "bob", "eve"]
        begun = [await site.called(tools[0], "begin_session", begin, principal=author) for author in authors]
        sessions = {author: one["data"]["session_id"] for author, one in zip(authors, begun, strict=True)}
        submitted = await asyncio.gather(
            *(
                site.called(
                    tools[number % 2],
                    "submit_plan",
                    {**PLAN, "title": f"Plan {number // 2}", "session_id": sessions[one]},
                    principal=one,
                )
                for number in range(40)
                for one in authors[:2]
            )
        )
        hashes = {answer["data"]["plan_hash"] for answer in submitted}
        assert len(hashes) == 20
        for plan_hash in hashes:  # of four submissions one counts, and all answers say so
            owners = [answer["data"]["own"] for answer in submitted if answer["data"]["plan_hash"] == plan_hash]
            assert sorted(owners) == [False, False, True, True]
        approved = await asyncio.gather(
            *(
                site.called(
                    tools[number % 2],
                    "approve_plan",
                    {"plan_hash": plan_hash, "session_id": sessions["eve"]},
                    principal="eve",
                )
                for number in range(2)
                for plan_hash in hashes
            )
        )
        assert all(answer["data"]["approved"] for answer in approved)
        with counted(server) as commands:
            asked = {"limit": 200, "session_id": sessions["eve"]}
            listed = await site.called(tools[1], "list_plans", asked, principal="eve")
        assert {plan["plan_hash"] for plan in listed["data"]["plans"] if plan["approved"]} == hashes
        assert not commands.keys() & {"scan", "keys", "sort"}
        worked = await site.called(tools[1], "begin_session", {**begin, "role": WORKER})
        worker = worked["data"]["session_id"]
        params = {"path": "docs/a.md", "content": "x\n", "session_id": worker}
        assert (await site.called(tools[0], "write_file", params))["success"]
        for state in states:
            await state.close()

    asyncio.run(run())
    assert Path(site.project / "docs/a.md").read_text() == "x\n"
