"""Options shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from failsoft.cli.completion import complete_toolsets

App: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--app",
        metavar="MODULE[:ATTRIBUTE]",
        help="Your own tools: a BaseTool, its class, a list of them, or a function that returns either. "
        "By default `[tool.failsoft] app` in the pyproject.toml of the project around this folder.",
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
