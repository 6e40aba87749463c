"""Files that commands are given and that are no files: refused at once, as every other bad one is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.zygote import PYTHON

SOON_S = 3
"""How long a command may take; what works takes a fraction of it."""
MEMORY_BYTES = 700_000_000
BOUNDED = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES}, {MEMORY_BYTES}))"


def ended(folder: Path, *arguments: str) -> tuple[int | None, str]:
    """Return exit code and standard error of a command; None if it does not end."""
    program = f"{BOUNDED}; import sys; sys.argv[0] = 'failsoft'; from failsoft.cli import main; sys.exit(main())"
    command = [PYTHON, "-c", program, *arguments]
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            _, errors = process.communicate(timeout=SOON_S)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.kill()
            return None, ""
    return process.returncode, errors


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("option", ["--overrides", "--config"])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, option: str, kind: str) -> None:
    file = tmp_path / "pipe"
    os.mkfifo(file)
    upstream = [] if option == "--config" else ["--", PYTHON, "-c", ""]
    code, errors = ended(tmp_path, "proxy", option, str(file) if kind == "pipe" else "/dev/zero", *upstream)
    assert code in {2, 3}
    assert "OVERLOADED" not in errors


@pytest.mark.parametrize("option", ["--overrides", "--config"])
def test_a_missing_file_is_refused(tmp_path: Path, option: str) -> None:
    upstream = [] if option == "--config" else ["--", PYTHON, "-c", ""]
    code, _ = ended(tmp_path, "proxy", option, str(tmp_path / "missing"), *upstream)
    assert code in {2, 3}
