"""`failsoft new`: a project with a toolset, its tests and its settings, ready to run."""

from __future__ import annotations

import keyword
import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from failsoft.cli.errors import usage
from failsoft.framework.errors import AlreadyExists
from failsoft.framework.text import bounded

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)*")
_TAKEN = frozenset({"failsoft", "mcp", "pydantic", "tests", "test"})


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the project and of its new folder.")],
) -> None:
    """Create a project with a toolset that works and is tested.

    Examples:
      failsoft new weather && cd weather && pytest
    """
    folder = Path(name)
    names = _names(folder)
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else (folder,)):
        raise AlreadyExists(
            message=f"'{bounded(name)}' exists and is not an empty folder; nothing was written.",
            operator_hint=f"failsoft new {bounded(name)}-tools",
        )
    written = [_write(folder / target.format(**names), source, names) for source, target in _templates()]
    typer.echo("\n".join(f"wrote {path}" for path in written))
    typer.echo(f"\nNext: cd {name} && pytest, then failsoft call get_note title=welcome")


def _names(folder: Path) -> dict[str, str]:
    project = folder.name
    module = re.sub(r"[-.]", "_", project).lower()
    if not _NAME.fullmatch(project) or keyword.iskeyword(module) or module in _TAKEN:
        raise usage(
            message=f"'{bounded(project)}' is not a valid name for a project: use letters, digits, '-' and '_'.",
            hint="failsoft new weather-tools",
        )
    toolset = "".join(part[:1].upper() + part[1:] for part in module.split("_"))
    return {
        "project": project,
        "module": module,
        "toolset": toolset,
        "title": toolset,
        "code": module.upper(),
    }


def _templates() -> list[tuple[Traversable, str]]:
    """Return each template and the name of its file."""
    root = files("failsoft.cli") / "template"
    return [
        (root / "pyproject.toml.tmpl", "pyproject.toml"),
        (root / "module.py.tmpl", "{module}.py"),
        (root / "tests" / "test_module.py.tmpl", "tests/test_{module}.py"),
        (root / "README.md.tmpl", "README.md"),
        (root / "gitignore.tmpl", ".gitignore"),
    ]


def _write(path: Path, source: Traversable, names: dict[str, str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source.read_text(encoding="utf-8").format(**names), encoding="utf-8")
    return path
