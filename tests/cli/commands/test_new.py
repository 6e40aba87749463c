"""A new project runs as it is made."""

from __future__ import annotations

import subprocess

from tests.doors import ExitCode
from tests.zygote import PYTHON


def test_a_new_project_passes_its_own_tests_and_is_found_by_every_command(run, folder):
    assert run("new", "my-weather").code == ExitCode.OK
    project = folder / "my-weather"
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, check=False)
    assert "4 passed" in done.stdout, done.stdout + done.stderr
    for arguments in (["lint"], ["call", "get_note", "title=welcome"], ["explain", "MY_WEATHER_NOTE_NOT_FOUND"]):
        command = [PYTHON, "-m", "failsoft", *arguments]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_nothing_is_overwritten_and_no_name_is_taken_that_is_no_module(inside, folder):
    (folder / "taken").mkdir()
    (folder / "taken" / "work.py").write_text("")
    assert inside("new", "taken").code == ExitCode.FAILED
    assert [path.name for path in (folder / "taken").iterdir()] == ["work.py"]
    for name in ("1st", "class", "mcp", "a b"):
        assert inside("new", name).code == ExitCode.USAGE
        assert not (folder / name).exists()
