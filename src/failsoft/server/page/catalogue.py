"""What the page shows of a server's tools and of error codes."""

from __future__ import annotations

from typing import Any

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.errors import catalogue
from failsoft.server.assembly import Assembly


def catalogue_of(assembly: Assembly) -> dict[str, Any]:
    """Return `environment`, `tools` with description, schema and recovery, and `codes` with category and summary."""
    return {
        "environment": assembly.settings.environment,
        "tools": [_tool(bound) for bound in assembly.toolbox],
        "codes": [
            {"code": entry.code, "category": entry.category, "summary": catalogue.summary(entry)}
            for entry in sorted(catalogue.entries(), key=lambda entry: entry.code)
        ],
    }


def page_of_code(code: str) -> dict[str, str] | None:
    """Return `code` and its page as Markdown in `text`, which is that of `failsoft explain`; None if there is none."""
    entry = catalogue.lookup(code)
    return None if entry is None else {"code": entry.code, "text": catalogue.render_page(entry)}


def _tool(bound: BoundOperation[..., Any]) -> dict[str, Any]:
    return {
        "tool": bound.tool_name,
        "operation": bound.name,
        "description": bound.description,
        "read_only": bound.read_only,
        "schema": bound.input_schema,
        "recovery": [strategy.name for strategy in bound.strategies],
    }
