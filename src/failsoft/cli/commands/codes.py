"""`failsoft codes`, `failsoft rules` and `failsoft explain`: error codes and rules, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from failsoft.cli.errors import missing
from failsoft.cli.options import App, Toolsets, beginning
from failsoft.cli.screen import Screen
from failsoft.framework.errors import NotFound, ToolError
from failsoft.framework.errors.catalogue import entries, index_of, lookup, render_page, summary
from failsoft.framework.text import bounded
from failsoft.rules import RULES, find_rule, index_of_rules, page_of_rule

_ERROR_ID = re.compile("[0-9a-f]{16}")
_LIKE_A_RULE = re.compile("(?i:FS[0-9]+)|[a-z]+(-[a-z]+)+")
_FRAMEWORK = ("failsoft.framework.", "failsoft.recovery.")
_WIDE = 100
"""Minimum width for a table with all four columns."""


class CatalogueFormat(StrEnum):
    """The output format."""

    table = "table"
    json = "json"
    markdown = "markdown"


def codes(
    toolsets: Toolsets = None,
    *,
    output: Annotated[
        CatalogueFormat, typer.Option("--format", "-f", help="The output format.")
    ] = CatalogueFormat.table,
    app: App = None,
    every: Annotated[bool, typer.Option("--all", help="Also those of every installed toolset.")] = False,
) -> None:
    """List error codes and what they mean.

    Without a target, list the codes of the framework, which every tool can raise; with a target, also those of the
    named toolsets and of the application. JSON has all known codes, the framework's first; Markdown is the index page
    of the documentation.

    Examples:
      failsoft codes
      failsoft codes docs
      failsoft codes --app library --format json
    """
    screen = Screen()
    # A program and the documentation get all of them; a table for people is read from the top.
    is_whole = every or output is not CatalogueFormat.table
    found = _known_codes(toolsets or (), app) if is_whole else _own_codes(toolsets or (), app)
    if output is CatalogueFormat.json:
        screen.json([_entry(kind) for kind in found.values()])
        return
    if output is CatalogueFormat.markdown:
        screen.text(index_of(sorted(found.values(), key=lambda kind: kind.code)).rstrip("\n"))
        return
    # On a narrow terminal the meaning needs the space more than the category, which most codes resemble.
    is_narrow = screen.is_rich and screen.width < _WIDE
    facts = ("retry",) if is_narrow else ("category", "retry")
    rows = [(code, *(getattr(kind, fact) for fact in facts), summary(kind)) for code, kind in found.items()]
    screen.rows(("code", *facts, "meaning"), rows)


def rules(
    *,
    output: Annotated[
        CatalogueFormat, typer.Option("--format", "-f", help="The output format.")
    ] = CatalogueFormat.table,
) -> None:
    """List the rules for tools and their answers.

    `failsoft lint` checks the static ones without running a handler, `failsoft probe` the others in the answers of a
    server. Markdown is the index page of the documentation.

    Examples:
      failsoft rules
      failsoft rules --format json
    """
    screen = Screen()
    facts = ("rule", "name", "half", "severity", "summary")
    rows = [(rule.number, rule.name, rule.half, rule.severity, rule.summary) for rule in RULES]
    if output is CatalogueFormat.json:
        screen.json([dict(zip(facts, row, strict=True)) for row in rows])
    elif output is CatalogueFormat.markdown:
        screen.text(index_of_rules().rstrip("\n"))
    else:
        screen.rows(facts, rows)


def _complete_codes(incomplete: str) -> list[str]:
    """Return the error codes, and the numbers and names of rules, with this prefix, ignoring case."""
    numbers, names = [rule.number for rule in RULES], [rule.name for rule in RULES]
    return beginning(incomplete.upper(), [*_known_codes(), *numbers]) + beginning(incomplete.lower(), names)


def explain(
    code: Annotated[
        str,
        typer.Argument(
            metavar="CODE",
            help="The code, for example DOC_NOT_FOUND, or a rule, for example FS001 or protocol-error.",
            autocompletion=_complete_codes,
        ),
    ],
    toolsets: Toolsets = None,
    *,
    app: App = None,
) -> None:
    """Explain an error code or a rule, and what to do about it.

    The text is that of the documentation: when an error is raised, what the caller and the operator can do. For the
    codes of your own application, pass --app.

    Examples:
      failsoft explain DOC_NOT_FOUND
      failsoft explain leaks-path
      failsoft explain BOOK_NOT_FOUND --app library
    """
    rule = find_rule(code)
    Screen().markdown(page_of_rule(rule) if rule is not None else render_page(_find_code(code, toolsets or (), app)))


def _entry(kind: type[ToolError]) -> dict[str, Any]:
    return {
        "code": kind.code,
        "class": kind.__name__,
        "module": kind.__module__,
        "category": kind.category,
        "retry": kind.retry,
        "actor": kind.actor,
        "http_status": kind.http_status,
        "error_type": kind.error_type,
        "numeric_code": kind.numeric_code,
        "critical": kind.critical,
        "message": kind.template,
        "hints": list(kind.hints),
        "fields": {name: {"public": name in kind.public_fields} for name in kind.fields},
        "aliases": dict(kind.aliases),
        "since": kind.since,
        "meaning": summary(kind),
    }


def _own_codes(toolsets: Sequence[str], app: str | None) -> dict[str, type[ToolError]]:
    """Return the framework's codes and their classes, and those of the toolsets and the application that are named.

    Raises:
        CONFIG_ERROR: One of them does not exist or cannot be loaded.
    """
    from failsoft.cli.target import Target  # noqa: PLC0415 - 0.1 s that `explain` does without

    target = Target(toolsets, app, command="failsoft codes {}")
    packages = {_package(type(tool).__module__) for tool in (target.tools() if target.is_named else ())}
    everything = {kind.code: kind for kind in entries()}
    framework = {code: kind for code, kind in everything.items() if kind.__module__.startswith(_FRAMEWORK)}
    return framework | {code: kind for code, kind in everything.items() if _package(kind.__module__) in packages}


def _package(module: str) -> str:
    """Return the package whose codes belong together: one of our toolsets, else the top-level one."""
    parts = module.split(".")
    return ".".join(parts[:3]) if module.startswith("failsoft.tools.") else parts[0]


def _known_codes(toolsets: Sequence[str] = (), app: str | None = None) -> dict[str, type[ToolError]]:
    """Return every code and its class, by code. A toolset that cannot be loaded is named on standard error.

    Args:
        toolsets: Names or applications, whose codes are to be known too.
        app: `module:attribute` of an application, whose codes are to be known too.

    Raises:
        CONFIG_ERROR: The application cannot be loaded.
    """
    from failsoft.cli.target import Target  # noqa: PLC0415 - as above
    from failsoft.server.sources import find_toolsets  # noqa: PLC0415 - as above

    target = Target(toolsets, app, command="failsoft explain CODE {}")
    if target.is_named:
        target.tools()
    for name, entry_point in find_toolsets().items():  # imported and not made, which takes a quarter of a second
        try:
            entry_point.load()
        except Exception as error:  # noqa: BLE001 - a third party's toolset must not hide the codes of the others
            typer.echo(f"The codes of the toolset '{name}' are missing: {bounded(str(error))}", err=True)
    listed = sorted(entries(), key=lambda kind: not kind.__module__.startswith(_FRAMEWORK))
    return {kind.code: kind for kind in listed}


def _find_code(code: str, toolsets: Sequence[str], app: str | None) -> type[ToolError]:
    """Return the class of a code, in whatever case it was typed; a class's name or a format's alias does as well.

    Raises:
        NOT_FOUND: There is no such code; the closest one is named.
        CONFIG_ERROR: The application cannot be loaded.
    """
    wanted = code.replace("-", "_")
    if not toolsets and app is None and (found := lookup(wanted)) is not None:
        return found
    known = _known_codes(toolsets, app)
    by_class = {kind.__name__.casefold(): kind for kind in known.values()}
    found = lookup(wanted) or by_class.get(code.strip().casefold())
    if found is None:
        if _ERROR_ID.fullmatch(code):
            hint = f"failsoft find {code} --log FILE"
            raise NotFound(message=f"'{code}' is an error id, and no error code.", operator_hint=hint)
        listing = "failsoft rules" if _LIKE_A_RULE.fullmatch(code) else "failsoft codes"
        names = [*known, *(rule.name for rule in RULES)]
        raise missing(kind="error code or rule", name=code, known=names, command="failsoft explain {}", listing=listing)
    return found
