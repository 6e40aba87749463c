"""A command that is really started, without the fork server that other tests start programs by."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_a_call_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "intro.mdx").write_text("# Introduction\n\nIt begins.\n")
    words = ["get_documentation", "path=intro.md", "--toolset", "docs", "--root", "docs"]
    command = [sys.executable, "-m", "failsoft", "call", *words]
    ran = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    assert answer["data"]["documents"][0]["path"] == "intro.mdx"
    assert answer["metadata"]["recovery"]["changed"] == {"path": "intro.mdx"}
