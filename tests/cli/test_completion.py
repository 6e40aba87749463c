"""Shell completion, asked by a real bash that has loaded the script which `failsoft --show-completion` prints."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.doors import run
from tests.zygote import PYTHON

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

ASK = """
failsoft() {{ {python} -m failsoft "$@"; }}
eval "$(_FAILSOFT_COMPLETE=source_bash failsoft)"
COMP_WORDS=({words})
COMP_CWORD={position}
_failsoft_completion {script}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        (["failsoft", "explain", "DOC_N"], ["DOC_NOT_FOUND"]),
        (["failsoft", "call", "list_b"], ["list_books"]),
        (["failsoft", "serve", "wor"], ["workspace"]),
        (["failsoft", "dem"], ["demo"]),
        (["failsoft", "state", "reset", "str"], ["stripe"]),
        (["failsoft", "explain", "NO_SUCH"], [""]),
    ],
)
def test_bash_completes_commands_toolsets_operations_and_codes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: list[str], offered: list[str]
) -> None:
    monkeypatch.setenv("FAILSOFT_STATE_URL", f"sqlite:{tmp_path / 'state.db'}")
    if line[1] == "state":
        assert run(["state", "open", "stripe"]) == 0
    (folder / "pyproject.toml").write_text('[tool.failsoft]\napp = "library:Library"\n')
    script = tmp_path / "failsoft"
    script.write_text(f'#!/bin/sh\nexec {PYTHON} -m failsoft "$@"\n')
    script.chmod(0o755)
    asked = ASK.format(python=PYTHON, words=" ".join(line), position=len(line) - 1, script=script)
    ran = subprocess.run(
        ["bash", "--norc", "-c", asked], cwd=folder, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout.splitlines(), ran.stderr) == (0, offered, "")
