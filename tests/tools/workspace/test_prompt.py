"""The prompt of the workspace toolset names the folder, the roles and tools that exist."""

from __future__ import annotations

import re

from failsoft.tools.workspace import Workspace
from tests.tools.workspace.site import Site


def test_the_prompt_names_the_folder_the_roles_and_tools_of_the_server(site: Site, tool: Workspace) -> None:
    text = Workspace.governed_session.function(tool, task="Write the guide.")
    assert "Task: Write the guide." in text
    assert str(site.root) in text
    assert {"ANTIGRAVITY", "WINDSURF"} <= set(re.findall(r"[A-Z]{4,}", text))
    assert set(re.findall(r"`(\w+)`", text)) <= tool.operations.keys()
