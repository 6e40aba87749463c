"""The start of the toolset: what a crash left half done is finished or undone."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

from failsoft.tools.workspace import Workspace
from tests.tools.workspace.site import Site
from tests.zygote import PYTHON

CRASHES = """
import os, sys
from pathlib import Path
from tests.doors import Files, Roots
from tests.tools.files.faulty_system import watched

def interfere(number, name, call, arguments):
    if name == "rename":
        os._exit(9)

root, state, path = sys.argv[1:]
files = Files(Roots([Path(root)]), state_folder=Path(state))
with watched(interfere), files.transaction([path]) as work:
    work.read(path, bytes_at_most=100)
    work.replace(path, b"new")
    work.commit()
"""


def test_what_a_crash_left_is_swept_at_the_start(site: Site, tool: Workspace) -> None:
    file = site.project / "a.md"
    file.write_text("old")
    command = [PYTHON, "-c", CRASHES, str(site.root), str(site.root.parent / "state"), str(file)]
    assert subprocess.run(command, check=False, timeout=60).returncode == 9
    assert len(site.entries()) > 1
    asyncio.run(tool.startup())
    assert [(one.name, one.read_text()) for one in site.entries()] == [("a.md", "old")]


def test_a_state_folder_that_cannot_be_read_keeps_no_server_from_starting(site: Site, tool: Workspace) -> None:
    state: Path = site.root.parent / "state"
    state.write_text("no folder")
    asyncio.run(tool.startup())
    site.begin(tool)
    assert site.call(tool, "list_files")["success"]
