"""Every example in the docs is run, and prints exactly what the page shows."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
COMPARE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def _environment() -> dict[str, str]:
    scripts = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}", "COLUMNS": "100", "NO_COLOR": "1"}


def _run(command: list[str] | str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=_environment(),
        shell=isinstance(command, str),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _matches(expected: str, got: str) -> bool:
    """Compare as doctest does: `...` matches anything, white space does not count."""
    return doctest.OutputChecker().check_output(expected, got, COMPARE)


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_the_example_runs_and_prints_what_the_page_shows(script: Path, tmp_path: Path) -> None:
    ran = _run([sys.executable, "-W", "error", str(script)], tmp_path)
    assert ran.returncode == 0, ran.stderr
    shown = script.with_suffix(".out")
    assert _matches(shown.read_text() if shown.exists() else "", ran.stdout), ran.stdout


def _steps(session: Path) -> list[tuple[str, str]]:
    """Return each command (`$ ...`) with the output that the page shows under it."""
    steps: list[tuple[str, str]] = []
    for line in session.read_text().splitlines(keepends=True):
        if line.startswith("$ "):
            steps.append((line[2:].strip(), ""))
        else:
            command, output = steps[-1]
            steps[-1] = (command, output + line)
    return steps


@pytest.mark.parametrize("session", sorted(EXAMPLES.glob("*.console")), ids=lambda path: path.stem)
def test_the_commands_of_the_page_do_what_it_shows(session: Path, tmp_path: Path) -> None:
    """Runs beside a copy of the examples, in one folder, as the reader would."""
    for script in EXAMPLES.glob("*.py"):
        (tmp_path / script.name).write_text(script.read_text())
    for command, shown in _steps(session):
        ran = _run(command, tmp_path)
        assert _matches(shown, ran.stdout), f"$ {command}\n{ran.stdout}{ran.stderr}"


def _toolsets() -> list[Path]:
    """Return the examples that declare toolsets and may be imported."""
    texts = {script: script.read_text() for script in sorted(EXAMPLES.glob("*.py"))}
    runs_at_import = re.compile(r"^(asyncio\.run|InstantClock\(\)\.run)", re.MULTILINE)
    return [script for script, text in texts.items() if "(BaseTool)" in text and not runs_at_import.search(text)]


FIND = """
import importlib, sys
from failsoft import BaseTool
from tests.doors import raise_site_faults
from tests.doors import Operation

for name in sys.argv[1:]:
    module = importlib.import_module(name)
    kinds = [item for item in vars(module).values() if isinstance(item, type) and issubclass(item, BaseTool)]
    names = {item.name for kind in kinds for item in vars(kind).values() if isinstance(item, Operation)}
    for line, kind, fault in raise_site_faults(module, names):
        print("mistake:", name, line, kind.__name__, fault)
print("done")
"""


def test_no_example_raises_an_error_wrongly() -> None:
    """In a process of its own: the codes of the examples are registered there, and not beside those of other tests."""
    names = [script.stem for script in _toolsets()]
    assert {"library", "wrap_http", "wrap_sqlite", "wrap_program"} <= set(names)
    printed = _run([sys.executable, "-c", FIND, *names], EXAMPLES).stdout.splitlines()
    assert [line for line in printed if line.startswith("mistake:")] == []
    assert printed[-1:] == ["done"]
