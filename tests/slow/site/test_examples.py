"""Every example in the docs prints exactly what the page shows."""

from __future__ import annotations

import ast
import doctest
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.zygote import PYTHON

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
COMPARE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SLOW = {"fill_gaps", "model_genome", "model_metabolism", "oauth_client", "oauth_server"}
"""They start workers that import COBRApy, or need an authorization server, and run in `tests/slow`."""
SURROUNDINGS = {
    "COLUMNS": "100",
    "NO_COLOR": "1",
    "FAILSOFT_FLUX_WORKERS": "1",  # each imports COBRApy
    # The fork has loaded what pytest would rewrite. pytest-randomly alone imports for as long as the tests take.
    "PYTEST_ADDOPTS": "-W ignore::pytest.PytestAssertRewriteWarning -p no:randomly",
}


def _run(
    command: list[str] | str, folder: Path, *, timeout_s: float = 120.0, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **SURROUNDINGS, **environment},
        shell=isinstance(command, str),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def _matches(expected: str, got: str) -> bool:
    """Compare as doctest does: `...` matches anything, white space does not count."""
    return doctest.OutputChecker().check_output(expected, got, COMPARE)


def prints_what_its_page_shows(script: Path, folder: Path, *, timeout_s: float = 120.0, **environment: str) -> None:
    """Run an example in a folder, and compare what it prints."""
    ran = _run([PYTHON, "-W", "error", str(script)], folder, timeout_s=timeout_s, **environment)
    assert ran.returncode == 0, ran.stderr
    shown = script.with_suffix(".out")
    assert _matches(shown.read_text() if shown.exists() else "", ran.stdout), ran.stdout


@pytest.mark.parametrize(
    "script", sorted(path for path in EXAMPLES.glob("*.py") if path.stem not in SLOW), ids=lambda path: path.stem
)
def test_the_example_runs_and_prints_what_the_page_shows(script: Path, tmp_path: Path) -> None:
    prints_what_its_page_shows(script, tmp_path)


def _toolsets_with_arguments(source: str) -> Iterator[ast.FunctionDef]:
    """Yield each `__init__` of a toolset."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "BaseTool" for base in node.bases):
            yield from (part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__")


def test_every_toolset_takes_a_runtime_and_passes_it_on() -> None:
    """So it runs in the runtime of a test, the fixture `failsoft_runtime`."""
    template = (EXAMPLES.parents[1] / "src/failsoft/cli/template/module.py.tmpl").read_text()
    sources = {path.name: path.read_text() for path in EXAMPLES.glob("*.py")}
    sources["template"] = re.sub(r"\{(\w+)\}", r"\1", template)
    made = {name: init for name, source in sources.items() for init in _toolsets_with_arguments(source)}
    assert {"template", "effect.py", "wrap_sqlite.py"} <= made.keys()
    assert [name for name, init in made.items() if "runtime" not in [arg.arg for arg in init.args.kwonlyargs]] == []
    assert [name for name, init in made.items() if "super().__init__(runtime=runtime" not in ast.unparse(init)] == []


@pytest.fixture(scope="module")
def path_of_programs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a PATH on which `python`, `failsoft` and `pytest` start in forks."""
    folder = tmp_path_factory.mktemp("programs")
    modules = {name: f"{PYTHON} -m {name}" for name in ("failsoft", "pytest")}
    for name, command in {"python": PYTHON, **modules}.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


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
def test_the_commands_of_the_page_do_what_it_shows(session: Path, tmp_path: Path, path_of_programs: str) -> None:
    """Runs beside a copy of the examples, in one folder, as the reader would."""
    for example in (*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*_api.yaml")):
        shutil.copy(example, tmp_path)
    (tmp_path / "pytest.ini").touch()  # or a pyproject.toml above the temporary folder configures the tests of the page
    for command, shown in _steps(session):
        ran = _run(command, tmp_path, PATH=path_of_programs)
        assert _matches(shown, ran.stdout), f"$ {command}\n{ran.stdout}{ran.stderr}"
