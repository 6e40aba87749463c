"""`failsoft lint`: checks whether callers can act on the failures of tools."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from failsoft.cli.errors import ExitCode, usage
from failsoft.cli.options import App, Root, Token, Toolsets, Url
from failsoft.cli.screen import Screen, divert_output
from failsoft.cli.target import Target, find_silences
from failsoft.framework.arguments.signature import ParameterWithoutType
from failsoft.framework.call.bound import Toolbox
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.text import printable
from failsoft.rules import Silences
from failsoft.rules.lint import LintFinding, description_faults, lint_descriptions, lint_toolbox

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import Tool


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
    for errors that are raised with unknown or missing fields, or with a next step that does not exist. A parameter
    without an annotation, which an import refuses, is a finding.

    With --strict, check also what a model reads before a call: titles, descriptions of at most 60 words without
    docstring sections, a description for each parameter, complete annotations. Of a server given by --url, the
    descriptions and schemas are checked and no tool is called: how its tools fail is rated by `failsoft probe`. The
    exit code is 1 if there are findings.

    `failsoft rules` lists the rules; `[tool.failsoft.silence]` in pyproject.toml silences one: "NAME" or "NAME:TOOL",
    with the reason.

    Examples:
      failsoft lint docs
      failsoft lint --app library --strict
      failsoft lint --url http://127.0.0.1:8321
    """
    target = Target(toolsets or (), app, url=url, token=token, root=root, command="failsoft lint {}")
    silences = find_silences()
    names, found = target.ask(partial(_remote, strict=strict)) if url is not None else _local(target, strict=strict)
    findings = [finding for finding in found if silences.reason(finding.name, finding.operation) is None]
    silenced = f", {len(found) - len(findings)} silenced" if len(found) > len(findings) else ""
    if url is None and not toolsets and app is None and names:
        _say_idle(silences, names)
    screen = Screen()
    if as_json:
        screen.json([{"rule": finding.rule, **dataclasses.asdict(finding)} for finding in findings])
    elif findings:
        rows = [(item.operation, item.code, item.rule, item.name, item.text) for item in findings]
        screen.rows(("operation", "code", "rule", "name", "finding"), rows)
        screen.text(f"Findings: {len(findings)}{silenced}.")
    else:
        screen.text(f"No findings{silenced}. Checked: {', '.join(names)}.")
    if findings:
        raise typer.Exit(ExitCode.FAILED)


def _say_idle(silences: Silences, names: Sequence[str]) -> None:
    """Name the silences of tools that the project's application does not have, on standard error."""
    for rule, tool in silences.reasons:
        if tool and tool not in names:
            typer.echo(f'"{rule}:{printable(tool)}" silences nothing: there is no such tool.', err=True)


def _local(target: Target, *, strict: bool) -> tuple[Sequence[str], list[LintFinding]]:
    if not target.is_named:
        raise usage(message="There is nothing to check: name a toolset or an application.", hint="failsoft lint docs")
    with divert_output():
        try:
            box = Toolbox(target.tools())
        except ConfigurationError as error:
            refused = error.__cause__
            if not isinstance(refused, ParameterWithoutType):
                raise
            return (), [LintFinding(refused.operation, "", "annotation", "; ".join([str(refused), *refused.__notes__]))]
        findings = lint_toolbox(box)
        return box.names, list(dict.fromkeys([*findings, *lint_descriptions(box)])) if strict else findings


async def _remote(client: Client, *, strict: bool) -> tuple[Sequence[str], list[LintFinding]]:
    """Return the names of the server's tools, and the findings. No tool is called: `failsoft probe` does that."""
    tools = (await client.list_tools()).tools
    names = [tool.name for tool in tools]
    findings = [LintFinding(tool.name, "", rule, text) for tool in tools for rule, text in _declared(tool)]
    if strict:
        findings += [LintFinding(tool.name, "", rule, text) for tool in tools for rule, text in _described(tool)]
    return names, findings


def _declared(tool: Tool) -> Iterator[tuple[str, str]]:
    if not (tool.description or "").strip():
        yield "description", "the tool has no description"
    undescribed = [name for name, schema in _properties(tool).items() if not isinstance(schema, Mapping)]
    if tool.input_schema.get("type") != "object" or undescribed:
        yield "schema", "its input schema does not describe an object with its parameters"


def _described(tool: Tool) -> Iterator[tuple[str, str]]:
    hints = tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations is not None else {}
    for rule, text in description_faults(tool.title, tool.description or "", tool.input_schema, hints):
        if tool.description or rule != "description":
            yield rule, text


def _properties(tool: Tool) -> Mapping[str, Any]:
    properties = tool.input_schema.get("properties", {})
    return properties if isinstance(properties, Mapping) else {}
