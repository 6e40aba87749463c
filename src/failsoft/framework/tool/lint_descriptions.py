"""Checks of tool titles, descriptions, parameter descriptions and annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from failsoft.framework.text import PYTHON_SECTION

__all__ = ["WORDS_AT_MOST", "description_faults", "introduction_faults"]

WORDS_AT_MOST = 60
"""Maximum number of words of a tool's description, which is part of every conversation."""
_SAYS = frozenset({"description", "enum", "const", "$ref"})
_MARKUP = re.compile(r":(?:class|meth|func)\b[^:]*:")


def description_faults(
    title: str | None, description: str, schema: Mapping[str, Any], annotations: Mapping[str, bool]
) -> Iterator[tuple[str, str]]:
    """Yield rule and finding for everything that a model would have to guess about a tool in `tools/list`."""
    if not title:
        yield "title", "the tool has no title, which clients show to people: @operation(title=...)"
    if not description:
        yield "description", "the operation has no docstring"
    words = len(description.split())
    if words > WORDS_AT_MOST:
        yield "description", f"the description has {words} words; at most {WORDS_AT_MOST}"
    if PYTHON_SECTION.search(description) or _MARKUP.search(description):
        yield "description", "the description holds sections of a Python docstring, which no caller needs"
    for name in _undescribed(schema):
        yield "parameter", f"the parameter '{name}' has no description: Annotated[..., Field(description=...)]"
    is_read_only = annotations.get("readOnlyHint", False)
    if not is_read_only and "destructiveHint" not in annotations:
        yield "annotations", "say destructive=True or destructive=False: clients assume the worst"
    if "openWorldHint" not in annotations:
        yield "annotations", "say open_world=True or open_world=False: whether it reaches beyond this server's own data"


def introduction_faults(introduction: str) -> Iterator[tuple[str, str]]:
    """Yield rule and finding for the part of the server instructions that describes a toolset."""
    if not introduction or introduction.startswith("Root: "):
        yield "instructions", "the toolset has no docstring, so the server instructions do not describe it"
    if PYTHON_SECTION.search(introduction) or _MARKUP.search(introduction):
        yield "instructions", "the introduction holds sections of a Python docstring, which no caller needs"


def _undescribed(schema: Any) -> Iterator[str]:
    """Yield the names of parameters, at any depth, that have neither a description nor listed values."""
    if isinstance(schema, list):
        for item in schema:
            yield from _undescribed(item)
    if not isinstance(schema, Mapping):
        return
    for keyword, inner in schema.items():
        if keyword in {"properties", "$defs"} and isinstance(inner, Mapping):
            for name, own in inner.items():
                parts = [own, *own.get("anyOf", ())] if isinstance(own, Mapping) else []
                if keyword == "properties" and all(_SAYS.isdisjoint(part) for part in parts) and parts:
                    yield name
                yield from _undescribed(own)
        elif keyword not in {"default", "examples", "enum", "const"}:
            yield from _undescribed(inner)
