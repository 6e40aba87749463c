"""Disks that are full, read-only, closed or broken, under sessions that work on them: a code, and nothing half done."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.workspace import Workspace
from tests.tools.files.real_disk import NOBODY, Mount, as_nobody, as_root, mounts, read_only
from tests.tools.workspace.site import Site

PATCH = "@@ -1 +1 @@\n-one\n+two\n"
LARGE = "x" * 100_000


@pytest.fixture
def mount() -> Iterator[Mount]:
    with mounts() as mount:
        yield mount


def hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def failure_of(answer: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the code, the effect, and what the operating system said."""
    return answer["error_code"], answer["effect"], answer["human_message"].partition(": ")[2].partition(".")[0]


def working(site: Site) -> Workspace:
    """Return the toolset with a session of the role that writes, and a plan for all files."""
    tool = site.tool()
    site.allow(tool)
    site.begin(tool)
    return tool


def write(site: Site, tool: Workspace, path: str, content: str, **more: Any) -> dict[str, Any]:
    return site.call(tool, "write_file", {"path": path, "content": content, **more})


def files(folder: Path) -> dict[str, str]:
    found = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
    return {name: text for name, text in found.items() if not name.startswith(".failsoft/")}


class TestDisks:
    def test_a_full_disk_is_reported_and_what_was_there_stays(self, site: Site, mount: Mount) -> None:
        mount(site.project, "-t", "tmpfs", "-o", "size=64k", "tmpfs")
        (site.project / "a.md").write_text("one\n")
        tool = working(site)
        full = ("FILE_WRITE_FAILED", "none", "no space left on device")

        assert failure_of(write(site, tool, "new/deep/b.md", LARGE)) == full
        assert failure_of(write(site, tool, "a.md", LARGE, expected_hash=hashed("one\n"))) == full
        grown = "@@ -1 +1,2 @@\n one\n+" + LARGE + "\n"
        assert failure_of(site.call(tool, "apply_patch", {"path": "a.md", "patch": grown})) == full
        report = {"title": "Full", "body": LARGE}
        assert failure_of(site.call(tool, "write_failure_report", report))[:2] == full[:2]
        assert files(site.project) == {"a.md": "one\n"}
        assert not (site.project / "new").exists()
        assert write(site, tool, "new/b.md", "short\n")["success"]

    def test_a_read_only_disk_is_read_and_not_written(self, site: Site, mount: Mount) -> None:
        (site.project / "a.md").write_text("one\n")
        read_only(mount, site.project)
        tool = working(site)
        refused = ("FILE_WRITE_FAILED", "none", "read-only file system")

        assert site.call(tool, "read_file", {"path": "a.md"})["data"]["content"] == "one\n"
        assert failure_of(write(site, tool, "b.md", "x\n")) == refused
        assert failure_of(write(site, tool, "new/b.md", "x\n")) == refused
        assert failure_of(write(site, tool, "a.md", "two\n", expected_hash=hashed("one\n"))) == refused
        assert failure_of(site.call(tool, "apply_patch", {"path": "a.md", "patch": PATCH})) == refused
        assert failure_of(site.call(tool, "write_failure_report", {"title": "No", "body": "x"}))[:2] == refused[:2]
        assert files(site.project) == {"a.md": "one\n"}


def test_what_an_operator_mounts_within_a_workspace_is_a_part_of_it(site: Site, mount: Mount, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.md").write_text("one\n")
    (site.project / "data").mkdir()
    mount(site.project / "data", "--bind", tmp_path / "data")
    tool = working(site)
    assert site.call(tool, "read_file", {"path": "data/a.md"})["data"]["content"] == "one\n"
    assert site.call(tool, "apply_patch", {"path": "data/a.md", "patch": PATCH})["success"]
    assert files(tmp_path / "data") == {"a.md": "two\n"}


@as_root
class TestRights:
    @pytest.fixture
    def theirs(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
        """Return a site of nobody's; all code is loaded by now, because nobody may not read it."""
        folder = Path(tempfile.mkdtemp())
        site = Site(folder / "served")
        (site.project / "closed").mkdir(parents=True)
        (site.project / "a.md").write_text("one\n")
        (site.project / "closed/b.md").write_text("one\n")
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "home"))
        (folder / "home").mkdir()
        folder.chmod(0o755)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        loaded = Site(folder / "loaded")
        loaded.project.mkdir(parents=True)
        (loaded.project / "a.md").write_text("one\n")
        tool = working(loaded)
        assert loaded.call(tool, "apply_patch", {"path": "a.md", "patch": PATCH})["success"]
        assert loaded.call(tool, "read_file", {"path": "gone"})["error_code"] == "FILE_NOT_FOUND"
        for state in ("state", "home"):
            shutil.rmtree(folder / state)
        (folder / "home").mkdir(mode=0o777)
        os.chown(folder / "home", NOBODY, NOBODY)
        yield site
        shutil.rmtree(folder)

    def test_what_the_user_may_not_read_or_enter_is_reported(self, theirs: Site) -> None:
        os.chown(theirs.project / "closed", 0, 0)
        (theirs.project / "closed").chmod(0o700)
        (theirs.project / "a.md").chmod(0o200)
        with as_nobody():
            tool = working(theirs)
            refused = ("FILE_READ_FAILED", "none", "permission denied")
            assert failure_of(theirs.call(tool, "read_file", {"path": "a.md"})) == refused
            assert failure_of(theirs.call(tool, "read_file", {"path": "closed/b.md"})) == refused
            assert failure_of(theirs.call(tool, "list_files", {"path": "closed"})) == refused
            closed = {"workspace_root": str(theirs.project / "closed"), "role": "WINDSURF"}
            assert failure_of(theirs.call(tool, "begin_session", closed)) == (
                "SESSION_INITIALIZATION_FAILED",
                "none",
                "permission denied",
            )

    def test_what_the_user_may_not_write_is_left_as_it_is(self, theirs: Site) -> None:
        (theirs.project / "a.md").chmod(0o444)
        (theirs.project / "closed").chmod(0o555)
        with as_nobody():
            tool = working(theirs)
            refused = ("FILE_WRITE_FAILED", "none", "permission denied")
            assert failure_of(write(theirs, tool, "a.md", "two\n", expected_hash=hashed("one\n"))) == refused
            assert failure_of(theirs.call(tool, "apply_patch", {"path": "a.md", "patch": PATCH})) == refused
            assert failure_of(write(theirs, tool, "closed/new.md", "x\n")) == refused
            assert failure_of(write(theirs, tool, "closed/new/new.md", "x\n")) == refused
        assert files(theirs.project) == {"a.md": "one\n", "closed/b.md": "one\n"}


BROKEN = """
import json, sys
from pathlib import Path
from loguru import logger
logger.remove()
from tests.tools.workspace.site import Site
site = Site(Path(sys.argv[1]))
tool = site.tool()
site.allow(tool)
site.begin(tool)
print(json.dumps(site.call(tool, sys.argv[2], json.loads(sys.argv[3]))))
"""


CHANGE = ("apply_patch", {"path": "a.md", "patch": PATCH})


@pytest.mark.skipif(shutil.which("strace") is None, reason="the disk is made to fail by strace")
def test_a_disk_that_breaks_while_a_file_is_written_is_reported_and_holds_the_old_file(site: Site) -> None:
    broken_disk_is_reported(site, CHANGE, "fsync", None, ("FILE_WRITE_FAILED", "none"))


def broken_disk_is_reported(
    site: Site, call: tuple[str, dict[str, Any]], fault: str, broken: str | None, expected: tuple[str, str]
) -> None:
    """Compare an answer with the disk when system calls of a real process fail: all, or those on one file or folder."""
    file = site.project / "a.md"
    file.write_text("one\n")
    working(site)  # the log is there by then: making it takes the same calls
    where = [] if broken is None else ["-P", str(site.project / broken)]
    strace = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", os.devnull, *where]
    faults = ["-e", f"trace={fault}", "-e", f"inject={fault}:error=EIO"]
    operation, params = call
    program = [sys.executable, "-c", BROKEN, site.root, operation, json.dumps(params)]
    ran = subprocess.run([*strace, *faults, *program], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr

    answer = json.loads(ran.stdout)

    assert failure_of(answer) == (*expected, "input/output error")
    assert files(site.project) == {"a.md": "two\n" if expected[1] == "applied" else "one\n"}
