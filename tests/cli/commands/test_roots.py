"""`--root` once for most toolsets, and several times for one that works in several folders."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from failsoft import ConfigurationError
from tests.doors import load_toolset
from tests.zygote import PYTHON


def call(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [PYTHON, "-m", "failsoft", "call", *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_each_of_several_roots_may_be_edited_and_nothing_else(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("old")
    roots = ["--root", str(tmp_path / "one"), "--root", str(tmp_path / "two")]
    codes = []
    for name in ("one", "two", "three"):
        edit = {"file_path": str(tmp_path / name / "a.txt"), "edits": [{"old_string": "old", "new_string": "new"}]}
        codes.append(call("multi_edit", *roots, "--json", json.dumps(edit)).get("error_code"))
    assert codes == [None, None, "PERMISSION_DENIED"]


def test_a_toolset_of_one_folder_refuses_several(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        load_toolset("docs", root=(tmp_path, tmp_path.parent))
    assert load_toolset("docs", root=(tmp_path,)).name == "docs"
