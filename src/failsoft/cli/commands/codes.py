"""`failsoft codes`: the error codes and what they mean."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from failsoft.cli.known_codes import known_codes, own_codes
from failsoft.cli.options import App, Toolsets
from failsoft.cli.screen.terminal import open_screen
from failsoft.framework.errors import ToolError
from failsoft.framework.errors.catalogue import index_of, summary

__all__ = ["codes"]


_WIDE = 100
"""Minimum width for a table with all four columns."""


class Format(StrEnum):
    """The output format."""

    table = "table"
    json = "json"
    markdown = "markdown"


def codes(
    toolsets: Toolsets = None,
    *,
    output: Annotated[Format, typer.Option("--format", "-f", help="The output format.")] = Format.table,
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
    screen = open_screen()
    # A program and the documentation get all of them; a table for people is read from the top.
    is_whole = every or output is not Format.table
    found = known_codes(toolsets or (), app) if is_whole else own_codes(toolsets or (), app)
    if output is Format.json:
        screen.json([_entry(kind) for kind in found.values()])
        return
    if output is Format.markdown:
        screen.text(index_of(sorted(found.values(), key=lambda kind: kind.code)).rstrip("\n"))
        return
    # On a narrow terminal the meaning needs the space more than the category, which most codes resemble.
    is_narrow = screen.is_rich and screen.width < _WIDE
    facts = ("retry",) if is_narrow else ("category", "retry")
    rows = [(code, *(getattr(kind, fact) for fact in facts), summary(kind)) for code, kind in found.items()]
    screen.rows(("code", *facts, "meaning"), rows)


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
