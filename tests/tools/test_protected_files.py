"""No file operation of any toolset reaches what the server itself relies on."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from failsoft import AuditLog, BaseTool, Runtime, Settings, operation
from failsoft.tools.docs import Docs
from failsoft.tools.edit import Edit
from tests.doors import DocsSettings, EditSettings, Files, Roots, default_head, default_key_file, protected_files
from tests.tools.files.faults import raises
from tests.tools.workspace.site import Site
from tests.zygote import PYTHON

NAMES = [
    "audit-log.jsonl",
    "audit-log.jsonl.000000000009",
    "AUDIT-LOG.JSONL",
    "head",
    "recovery.toml",
    "state/failsoft/audit/key",
    "state/failsoft/files/journals/made-up.journal",
    "state/failsoft/files/locks/0001.lock",
]


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a root in which everything lies that the server relies on, the user's state folder included."""
    root = tmp_path / "served"
    root.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))
    (root / "recovery.toml").write_text("")
    (root / "mine.txt").write_text("one")
    return root


@pytest.fixture
def runtime(served: Path) -> Runtime:
    settings = Settings(
        audit_path=served / "audit-log.jsonl",
        audit_head_path=served / "head",
        recovery_file=served / "recovery.toml",
    )
    return Runtime(settings=settings)


def call(tool: BaseTool, operation: str, **params: Any) -> dict[str, Any]:
    response = asyncio.run(tool.execute_with_error_handling(operation, params))
    return response.to_dict()


class Writer(BaseTool):
    """A toolset that an author wrote with failsoft's file operations."""

    def __init__(self, root: Path, runtime: Runtime) -> None:
        super().__init__(runtime=runtime)
        self.files = Files(Roots([root]))

    @operation()
    def overwrite(self, path: str, *, create: bool = False) -> str:
        """Write a file."""
        with self.files.transaction([path]) as work:
            if create:
                work.create(path, b"overwritten")
            else:
                work.read(path, bytes_at_most=1_000_000)
                work.replace(path, b"overwritten", backup=True)
            work.commit()
        return "done"


@pytest.mark.parametrize("name", NAMES)
def test_neither_edit_nor_an_authors_own_tool_writes_it(served: Path, runtime: Runtime, name: str) -> None:
    edit, own = Edit(served, runtime=runtime), Writer(served, runtime)
    call(edit, "multi_edit", file_path=str(served / "mine.txt"), edits=[{"old_string": "no", "new_string": "x"}])
    path = served / name
    edited = call(edit, "multi_edit", file_path=str(path), edits=[{"old_string": "", "new_string": "mine"}])
    assert not edited["success"]
    for create in (True, False):
        assert not call(own, "overwrite", path=str(path), create=create)["success"]
    after = path.read_bytes() if path.exists() else None
    assert after is None or b"overwritten" not in after
    assert (served / "recovery.toml").read_text() == ""
    assert runtime.audit.verify().is_whole


def test_other_files_of_the_same_root_can_be_edited(served: Path, runtime: Runtime) -> None:
    (served / ".env").write_text("A=1")
    for name in ("mine.txt", ".env"):
        old = (served / name).read_text()
        changed = call(
            Edit(served, runtime=runtime),
            "multi_edit",
            file_path=str(served / name),
            edits=[{"old_string": old, "new_string": "new"}],
        )
        assert changed["success"], changed


def test_a_hard_link_to_the_key_is_neither_read_nor_replaced(served: Path, runtime: Runtime) -> None:
    own = Writer(served, runtime)
    call(own, "overwrite", path=str(served / "nothing"))
    os.link(default_key_file(), served / "link")
    with raises("outside"):
        own.files.read(str(served / "link"), bytes_at_most=1_000)
    assert not call(own, "overwrite", path=str(served / "link"))["success"]


def test_the_commit_looks_again_at_what_the_path_led_to(served: Path, runtime: Runtime) -> None:
    files = Files(Roots([served]))
    with files.transaction([str(served / "mine.txt")]) as work:
        work.read(str(served / "mine.txt"), bytes_at_most=100)
        work.replace(str(served / "mine.txt"), b"two")
        protected_files.add(files, served / "mine.txt")
        with raises("outside"):
            work.commit()
    assert (served / "mine.txt").read_text() == "one"
    assert [path.name for path in served.iterdir() if path.name.startswith(".failsoft")] == []


def test_a_backup_takes_no_protected_name(served: Path) -> None:
    files = Files(Roots([served]))
    protected_files.add(files, served / "mine.txt.bak")
    with files.transaction([str(served / "mine.txt")]) as work:
        work.read(str(served / "mine.txt"), bytes_at_most=100)
        work.replace(str(served / "mine.txt"), b"two", backup=True)
        with raises("outside"):
            work.commit()
    assert not (served / "mine.txt.bak").exists()


def test_no_folder_is_made_in_place_of_a_protected_file(served: Path) -> None:
    files = Files(Roots([served]))
    protected_files.add(files, served / "later.toml")
    with raises("outside"), files.roots.parents(str(served / "later.toml" / "x")):
        pass


def test_the_log_of_another_server_of_this_user_is_known_too(served: Path) -> None:
    script = (
        "import asyncio, sys\nfrom failsoft import AuditLog\n"
        "asyncio.run(AuditLog(sys.argv[1]).record({'error_id': '1', 'code': 'X'}))"
    )
    other = served / "other.jsonl"
    subprocess.run([PYTHON, "-c", script, str(other)], check=True, timeout=60)
    assert default_head(other).is_file()
    edited = call(Edit(served), "multi_edit", file_path=str(other), edits=[{"old_string": "X", "new_string": "Y"}])
    assert not edited["success"]
    assert AuditLog(other).verify().is_whole


def test_no_operation_of_the_workspace_reaches_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(tmp_path / "served")
    site.project.mkdir(parents=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(site.project / "state"))
    recovery = site.project / "recovery.toml"
    recovery.write_text("")
    tool = site.tool(audit_path=site.project / "log.jsonl", recovery_file=recovery)
    site.allow(tool)
    site.begin(tool)
    for name in ("log.jsonl", "log.jsonl.head", "recovery.toml", "state/failsoft/audit/key", "log.jsonl.000000000001"):
        for name_of_tool, more in (
            ("write_file", {"content": "mine"}),
            ("apply_patch", {"patch": "@@ -0,0 +1 @@\n+mine\n"}),
            ("read_file", {}),
        ):
            assert site.call(tool, name_of_tool, {"path": name, **more})["error_code"] == "OUTSIDE_WORKSPACE"
    assert recovery.read_text() == ""
    assert tool.runtime.audit.verify().is_whole


def test_locks_and_journals_are_open_to_their_user_alone(served: Path) -> None:
    files = Files(Roots([served]))
    with files.transaction([str(served / "mine.txt")]):
        pass
    folder = files.state_folder / "locks"
    while folder != served:
        assert folder.stat().st_mode & 0o077 == 0, folder
        folder = folder.parent


def read(tool: BaseTool, path: str) -> dict[str, Any]:
    return call(tool, "get_documentation", path=path)


def test_docs_read_nothing_that_the_server_relies_on(served: Path) -> None:
    settings = Settings(audit_path=served / "audit.md", recovery_file=served / "recovery.toml")
    runtime = Runtime(settings=settings)
    docs = Docs(served, runtime=runtime)
    (served / "page.md").write_text("# findable words")
    assert read(docs, "page.md")["success"]
    assert not read(docs, "nothing.md")["success"]  # written to the audit log, which is a document by its name
    os.link(default_key_file(), served / "key.md")
    (served / "link.md").symlink_to("audit.md")
    assert (served / "audit.md").exists()
    for path in ("audit.md", "key.md", "link.md"):
        assert read(docs, path)["error"]["code"] == "PERMISSION_DENIED", path
    for query in ("findable", "DOC_NOT_FOUND", "nothing.md"):
        found = call(docs, "search_documents", query=query)["data"]["results"]
        assert {item["path"] for item in found} <= {"page.md"}


@pytest.mark.parametrize("allowed", [True, False])
def test_files_with_several_names_are_as_the_settings_say(tmp_path: Path, *, allowed: bool) -> None:
    (tmp_path / "outside.md").write_text("one")
    root = tmp_path / "root"
    root.mkdir()
    os.link(tmp_path / "outside.md", root / "page.md")
    docs = Docs(root, settings=DocsSettings(hard_links=allowed))
    edit = Edit(root, settings=EditSettings(hard_links=allowed))
    edits = [{"old_string": "one", "new_string": "two"}]
    assert read(docs, "page.md")["success"] is allowed
    assert call(edit, "multi_edit", file_path=str(root / "page.md"), edits=edits)["success"] is allowed
    assert (tmp_path / "outside.md").read_text() == "one"


def test_the_folder_of_a_project_that_becomes_a_link_leads_nowhere(tmp_path: Path) -> None:
    base, outside = tmp_path / "base", tmp_path / "outside"
    for folder in (base / "pages", outside):
        folder.mkdir(parents=True)
        (folder / "page.md").write_text(f"# {folder.name}")
    (base / "config.json").write_text('{"name": "p", "docs_root": "pages"}')
    docs = Docs(base)
    project = call(docs, "activate_project", config_path="config.json")["data"]["project"]
    read_page = {"path": "page.md", "project": project}
    assert "# pages" in str(call(docs, "get_documentation", **read_page))
    (base / "pages").rename(base / "kept")
    (base / "pages").symlink_to(outside)
    for name, params in (
        ("get_documentation", read_page),
        ("promote_document", {**read_page, "level": "critical"}),
    ):
        answer = call(docs, name, **params)
        assert not answer["success"]
        assert "# outside" not in str(answer)
    assert (outside / "page.md").read_text() == "# outside"


@pytest.mark.parametrize("name", ["state.db", "state.db-wal", "state.db-shm", "STATE.DB-journal"])
def test_the_state_store_is_not_written(served: Path, name: str) -> None:
    runtime = Runtime(settings=Settings(state_url=f"sqlite:{served / 'state.db'}"))
    own = Writer(served, runtime)
    assert not call(own, "overwrite", path=str(served / name), create=True)["success"]
    assert not (served / name).exists() or b"overwritten" not in (served / name).read_bytes()
    assert call(own, "overwrite", path=str(served / "mine.txt"))["success"]
