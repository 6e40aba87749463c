"""`failsoft new`: a project with a toolset, its tests and its settings, ready to run; or one for an HTTP API."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from failsoft.adapters.openapi.document import read_document
from failsoft.adapters.openapi.reader import read_api
from failsoft.adapters.openapi.toolset import settings_of
from failsoft.cli.errors import usage
from failsoft.cli.openapi.project import files_of
from failsoft.framework.errors import AlreadyExists
from failsoft.framework.text import bounded, snake_case

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)*")
_REASONS_AT_MOST = 20
_TAKEN = frozenset({"failsoft", "mcp", "pydantic", "service", "tests", "test"})


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the project and of its new folder.")],
    openapi: Annotated[
        str | None,
        typer.Option(metavar="FILE|URL", help="Write a toolset for the API of this OpenAPI 3 document, JSON or YAML."),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With --openapi: only operations with this tag; can be repeated."),
    ] = None,
) -> None:
    """Create a project with a toolset that works and is tested.

    Examples:
      failsoft new weather && cd weather && pytest
      failsoft new petstore --openapi https://petstore3.swagger.io/api/v3/openapi.json --tag pet
    """
    if tag and openapi is None:
        raise usage(
            message="--tag chooses operations of a document.", hint=f"failsoft new {bounded(name)} --openapi FILE"
        )
    folder = Path(name)
    names = _names(folder)
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else (folder,)):
        raise AlreadyExists(
            message=f"'{bounded(name)}' exists and is not an empty folder; nothing was written.",
            operator_hint=f"failsoft new {bounded(name)}-tools",
        )
    files = _from_templates(names) if openapi is None else _from_document(names, openapi, tag or ())
    written = [_write(folder / file, content) for file, content in files.items()]
    typer.echo("\n".join(f"wrote {path}" for path in written))
    call = "failsoft call get_note title=welcome" if openapi is None else "failsoft tools"
    typer.echo(f"\nNext: cd {name} && pytest, then {call}")


def _names(folder: Path) -> dict[str, str]:
    project = folder.name
    module = re.sub(r"[-.]", "_", project).lower()
    if not _NAME.fullmatch(project) or keyword.iskeyword(module) or module in _TAKEN:
        raise usage(
            message=f"'{bounded(project)}' is not a valid name for a project: use letters, digits, '-' and '_'.",
            hint="failsoft new weather-tools",
        )
    toolset = "".join(part[:1].upper() + part[1:] for part in module.split("_"))
    return {"project": project, "module": module, "toolset": toolset, "title": toolset, "code": module.upper()}


def _from_templates(names: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a project of one's own by their names."""
    return {
        "pyproject.toml": _filled("pyproject.toml", names),
        f"{names['module']}.py": _filled("module.py", names),
        f"tests/test_{names['module']}.py": _filled("tests/test_module.py", names),
        "README.md": _filled("README.md", names),
        ".gitignore": _filled("gitignore", names),
    }


def _from_document(names: Mapping[str, str], source: str, tags: Sequence[str]) -> dict[str, str]:
    """Return the files of a project for the API of a document by their names; say what it leaves out."""
    api = read_api(read_document(source), tags)
    try:
        settings_of(api, snake_case(names["toolset"]))
    except TypeError as error:
        raise usage(message=f"This name does not do for a toolset: {error}.", hint="failsoft new shop-api") from error
    for where, reason in api.left_out[:_REASONS_AT_MOST]:
        typer.echo(f"left out {where}: {reason}", err=True)
    if len(api.left_out) > _REASONS_AT_MOST:
        typer.echo(f"left out {len(api.left_out) - _REASONS_AT_MOST} more", err=True)
    module, toolset = names["module"], names["toolset"]
    imports = {"service": "CALLS, running", module: f"{toolset}, {toolset}Settings"}
    names = {**names, "imports": "\n".join(f"from {home} import {imports[home]}" for home in sorted(imports))}
    return {
        "pyproject.toml": _filled("openapi/pyproject.toml", names),
        **files_of(api, names, bounded(source, 200)),
        "tests/service.py": _filled("openapi/tests/service.py", names),
        f"tests/test_{names['module']}.py": _filled("openapi/tests/test_module.py", names),
        "README.md": _filled("openapi/README.md", names),
        ".gitignore": _filled("gitignore", names),
    }


def _filled(template: str, names: Mapping[str, str]) -> str:
    source = files("failsoft.cli") / "template" / f"{template}.tmpl"
    return source.read_text(encoding="utf-8").format(**names)


def _write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path
