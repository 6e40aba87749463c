"""Python source with its lines broken.

Text of a document becomes source here alone: in literals and docstrings, which it cannot end.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from failsoft.framework.text import printable_lines

_WIDTH = 120
_INDENT = 4


@dataclass(frozen=True, slots=True)
class Group:
    """Parts between brackets, one a line where they do not fit in one line."""

    opening: str
    parts: Sequence[Source]
    closing: str


@dataclass(frozen=True, slots=True)
class Text:
    """A long text behind `name=`, in several literals where it does not fit in one line."""

    prefix: str
    text: str


@dataclass(frozen=True, slots=True)
class Union:
    """Alternative types."""

    parts: Sequence[Source]


@dataclass(frozen=True, slots=True)
class Named:
    """Source with what stands before and after it, such as a parameter with its annotation and default."""

    before: str
    source: Source
    after: str = ""


Source: TypeAlias = str | Group | Text | Union | Named


def literal(value: Any) -> str:
    r"""Return a scalar of JSON as a Python literal, texts with unprintable characters escaped.

    >>> print(literal("it's\n"), literal(None), literal("\u202e"))
    "it's\n" None "\u202e"
    """
    if not isinstance(value, str):
        return repr(value)
    written = repr(value)
    if written[0] == '"' or value.count('"') > value.count("'"):
        return written
    return '"' + written[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'


def docstring(text: str, indent: int, otherwise: str) -> list[str]:
    """Return the lines of a docstring: wrapped, with no escape and no end in it but its own."""
    plain = printable_lines(text).replace('"""', "'''").strip() or otherwise
    plain = plain[:-1] + "'" if plain.endswith('"') else plain
    width = _WIDTH - indent - 6
    lines: list[str] = []
    for paragraph in plain.splitlines():
        lines += textwrap.wrap(paragraph.strip(), width, break_on_hyphens=False) or [""]
    lines = [line.replace("\\", "\\\\") for line in lines]  # after wrapping, which would part the two
    space = " " * indent
    if len(lines) == 1:
        return [f'{space}"""{lines[0]}"""']
    return [f'{space}"""{lines[0]}', *((space + line).rstrip() for line in lines[1:]), f'{space}"""']


def flat(source: Source) -> str:
    """Return source on one line."""
    if isinstance(source, Group):
        return source.opening + ", ".join(map(flat, source.parts)) + source.closing
    if isinstance(source, Union):
        return " | ".join(map(flat, source.parts))
    if isinstance(source, Named):
        return source.before + flat(source.source) + source.after
    return source.prefix + literal(source.text) if isinstance(source, Text) else source


def laid_out(source: Source, indent: int, before: str = "", after: str = "") -> str:
    """Return source for a line that is indented so far, with what stands before and after it on its lines."""
    line = f"{before}{flat(source)}{after}"
    if isinstance(source, str) or indent + len(line) <= _WIDTH:
        return line
    if isinstance(source, Named):
        return laid_out(source.source, indent, before + source.before, source.after + after)
    inner, end = " " * (indent + _INDENT), " " * indent
    if isinstance(source, Union):
        return before + f"\n{end}| ".join(laid_out(part, indent) for part in source.parts) + after
    if isinstance(source, Text):
        room = _WIDTH - indent - _INDENT
        pieces = [source.text] if len(literal(source.text)) <= room else _pieces(source.text, room - 12)
        lines = "\n".join(f"{inner}{literal(piece)}" for piece in pieces)
        return f"{before}{source.prefix}(\n{lines}\n{end}){after}"
    is_one = len(source.parts) == 1 and source.opening.endswith(("[", ": ("))  # a comma would make it a tuple
    comma = "" if is_one else ","
    lines = "\n".join(inner + laid_out(part, indent + _INDENT, "", comma) for part in source.parts)
    return f"{before}{source.opening}\n{lines}\n{end}{source.closing}{after}"


def _pieces(text: str, width: int) -> list[str]:
    """Return a text in pieces, which end behind a blank where there is one."""
    pieces = []
    while len(text) > width:
        end = text.rfind(" ", width // 2, width) + 1 or width
        pieces.append(text[:end])
        text = text[end:]
    return [*pieces, text]
