"""The application of the current project, from `[tool.failsoft]` in its `pyproject.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.text import bounded

_KNOWN = frozenset({"app"})


@dataclass(frozen=True, slots=True)
class ConfiguredProject:
    """A project whose `pyproject.toml` names its application.

    Args:
        app: `module:attribute` or `module`.
        folder: The folder of its modules: that of `pyproject.toml`, or its `src`.
        name: The project's name, if given.
        version: The project's version, if given.
    """

    app: str
    folder: Path
    name: str | None = None
    version: str | None = None


def find_project(start: Path | None = None) -> ConfiguredProject | None:
    """Return the project around a folder, by default the current one; None if none names an application.

    Raises:
        CONFIG_ERROR: Its `pyproject.toml` is not TOML, or `[tool.failsoft]` is not `app = "..."`.
    """
    start = (start or Path.cwd()).resolve()
    file = next((found for folder in (start, *start.parents) if (found := folder / "pyproject.toml").is_file()), None)
    if file is None:
        return None
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(issue=f"{file} cannot be read ({bounded(str(error))})") from error
    table = content.get("tool", {}).get("failsoft")
    return None if table is None else _project(table, content.get("project", {}), file)


def _project(table: dict[str, Any], about: dict[str, Any], file: Path) -> ConfiguredProject | None:
    unknown = sorted(table.keys() - _KNOWN)
    if unknown:
        raise ConfigurationError(
            issue=f"[tool.failsoft] in {file} has an unknown key '{bounded(unknown[0])}'", resolution="it takes app"
        )
    app = table.get("app")
    if app is None:
        return None
    if not isinstance(app, str):
        raise ConfigurationError(issue=f"[tool.failsoft] app in {file} is not of the form module:attribute")
    source = file.parent / "src"
    package = app.partition(":")[0].partition(".")[0]
    is_in_source = any((source / f"{package}{ending}").exists() for ending in ("", ".py"))
    folder = source if is_in_source else file.parent
    return ConfiguredProject(app, folder, about.get("name"), about.get("version"))
