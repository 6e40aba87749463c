"""`failsoft lint`: whether a caller can act on what the tools say when they fail."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from failsoft.cli.exits import ExitCode
from failsoft.cli.options import Root
from failsoft.cli.terminal import open_screen

__all__ = ["lint"]

Targets = Annotated[list[str], typer.Argument(metavar="TARGET", help="module:attribute, or an installed toolset.")]


def lint(
    targets: Targets,
    *,
    root: Root = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check what tools tell their caller when they fail.

    They are made to fail in every way there is. Every failure must name its cause and a next step that exists among the
    tools; none may name a command, an address or a path. The exit code is 1 if one does not.
    """
    from failsoft.cli.toolsets import toolbox_of  # noqa: PLC0415 - `failsoft --help` needs none of this
    from failsoft.framework.lint import lint_toolbox  # noqa: PLC0415 - the same

    box = toolbox_of(targets, root)
    findings = lint_toolbox(box)
    screen = open_screen()
    if as_json:
        screen.json([dataclasses.asdict(finding) for finding in findings])
    elif findings:
        rows = [(item.operation, item.code, item.rule, item.text) for item in findings]
        screen.rows(("operation", "code", "rule", "finding"), rows)
        screen.text(f"Findings: {len(findings)}.")
    else:
        screen.text(f"Nothing found. Whenever they fail, these say what to do next: {', '.join(box.names)}.")
    if findings:
        raise typer.Exit(ExitCode.FAILED)
