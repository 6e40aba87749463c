"""Options that several commands share, so that one name means one thing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = ["App", "Root"]

App: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--app",
        metavar="MODULE:ATTRIBUTE",
        help="Tools of your own: a BaseTool, its class, a list of them, or a function that returns either.",
    ),
]
Root: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--root",
        metavar="DIR",
        help="The folder that the toolsets work in: nothing outside it is touched. The edit toolset takes several.",
    ),
]
