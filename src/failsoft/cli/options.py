"""Options that several commands share, with their completion."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from failsoft.framework.plugins import installed_points


def beginning(start: str, names: Iterable[str]) -> list[str]:
    """Return the names with a prefix, sorted: what completes a word."""
    return sorted(name for name in names if name.startswith(start))


def complete_toolsets(incomplete: str) -> list[str]:
    """Return the installed toolsets with this prefix."""
    return beginning(incomplete, {found.name for found in installed_points("failsoft.toolsets")})


App: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--app",
        metavar="MODULE[:ATTRIBUTE]",
        help="Your own tools: a BaseTool, its class, a list of them, a function that returns either, or a "
        "module of functions with @soft; a path of a file names its module. By default `[tool.failsoft] app` in the "
        "pyproject.toml of the project around this folder.",
    ),
]
Toolsets: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="TOOLSET", help="Installed toolsets.", autocompletion=complete_toolsets),
]
Url: TypeAlias = Annotated[str | None, typer.Option("--url", metavar="URL", help="A running server, over HTTP.")]
Token: TypeAlias = Annotated[
    str | None, typer.Option("--token", metavar="TOKEN", help="The server's bearer token; by default FAILSOFT_TOKEN.")
]
Root: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--root",
        metavar="DIR",
        help="The folder that the toolsets work in; they read and change nothing else. The edit toolset takes several.",
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
