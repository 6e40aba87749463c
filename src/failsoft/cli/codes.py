"""`failsoft codes`: every error code there is."""

from __future__ import annotations

import inspect
from enum import StrEnum
from typing import Annotated, Any

import typer

from failsoft.cli.known_codes import known_codes
from failsoft.cli.options import App
from failsoft.cli.terminal import open_screen
from failsoft.framework.catalogue import index_page
from failsoft.framework.errors import ToolError

__all__ = ["codes"]


_WIDE = 100
"""Columns from which on all four of a table are readable."""


class Format(StrEnum):
    """How the codes are written."""

    table = "table"
    json = "json"
    markdown = "markdown"


def codes(
    output: Annotated[Format, typer.Option("--format", "-f", help="How to write them.")] = Format.table,
    app: App = None,
) -> None:
    """List all error codes and what they mean.

    Those of the installed toolsets are among them, and those of an application of yours with --app. As Markdown they
    are the index of the documentation.
    """
    screen = open_screen()
    found = known_codes(app)
    if output is Format.json:
        screen.json([_entry(kind) for kind in found.values()])
        return
    if output is Format.markdown:
        screen.text(index_page().rstrip("\n"))
        return
    # On a narrow terminal the meaning needs the room more than the category, which most codes resemble.
    is_narrow = screen.is_rich and screen.width < _WIDE
    facts = ("retry",) if is_narrow else ("category", "retry")
    rows = [(code, *(getattr(kind, fact) for fact in facts), _summary(kind)) for code, kind in found.items()]
    screen.rows(("code", *facts, "meaning"), rows)


def _summary(kind: type[ToolError]) -> str:
    return inspect.cleandoc(kind.__doc__ or "").partition("\n")[0]


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
        "meaning": _summary(kind),
    }
