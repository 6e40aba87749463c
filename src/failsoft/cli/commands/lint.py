"""`failsoft lint`: checks whether callers can act on the failures of tools."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from failsoft.cli.exits import ExitCode
from failsoft.cli.faults import usage
from failsoft.cli.options import App, Root, Token, Toolsets, Url
from failsoft.cli.screen.terminal import open_screen

if TYPE_CHECKING:
    from failsoft.framework.lint import LintFinding

__all__ = ["lint"]


def lint(
    toolsets: Toolsets = None,
    *,
    app: App = None,
    url: Url = None,
    token: Token = None,
    root: Root = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Check titles, descriptions, parameters and annotations too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check whether the failures of tools say what to do next.

    Every operation is made to fail in every known way, without running its handler. Each failure must name its cause
    and a next step that exists among the tools; none may name a command, an address or a path. The source is searched
    for errors that are raised with unknown or missing fields, or with a next step that does not exist.

    With --strict, check also what a model reads before a call: titles, descriptions of at most 60 words without
    docstring sections, a description for each parameter, complete annotations. For a server given by --url, check its
    descriptions, schemas and the refusals of its read-only tools. The exit code is 1 if there are findings.

    Examples:
      failsoft lint docs
      failsoft lint --app library --strict
      failsoft lint --url http://127.0.0.1:8321
    """
    names, findings = (
        _remote(url, token, strict=strict) if url is not None else _local(toolsets or (), app, root, strict=strict)
    )
    screen = open_screen()
    if as_json:
        screen.json([dataclasses.asdict(finding) for finding in findings])
    elif findings:
        rows = [(item.operation, item.code, item.rule, item.text) for item in findings]
        screen.rows(("operation", "code", "rule", "finding"), rows)
        screen.text(f"Findings: {len(findings)}.")
    else:
        screen.text(f"No findings. Checked: {', '.join(names)}.")
    if findings:
        raise typer.Exit(ExitCode.FAILED)


def _local(
    toolsets: Sequence[str], app: str | None, root: Sequence[Path] | None, *, strict: bool
) -> tuple[Sequence[str], list[LintFinding]]:
    from failsoft.cli.screen.own_output import divert_output  # noqa: PLC0415 - `failsoft --help` needs none of this
    from failsoft.cli.targets.toolsets import CommandTarget  # noqa: PLC0415 - the same
    from failsoft.framework.call.bound import Toolbox  # noqa: PLC0415 - the same
    from failsoft.framework.lint import lint_descriptions, lint_toolbox  # noqa: PLC0415 - the same

    target = CommandTarget(toolsets, app, root, "failsoft lint {}")
    if not target.is_named:
        raise usage(message="There is nothing to check: name a toolset or an application.", hint="failsoft lint docs")
    with divert_output():
        box = Toolbox(target.tools())
        findings = lint_toolbox(box)
        return box.names, list(dict.fromkeys([*findings, *lint_descriptions(box)])) if strict else findings


def _remote(url: str, token: str | None, *, strict: bool) -> tuple[Sequence[str], list[LintFinding]]:
    from failsoft.cli.checks.remote_lint import lint_remote  # noqa: PLC0415 - the same

    return lint_remote(url, token, strict=strict)
