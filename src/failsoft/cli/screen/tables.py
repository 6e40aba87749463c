"""Tables made by rich, with a plain text rendering without terminal codes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

Cell: TypeAlias = str | Sequence[str | tuple[str, str]]
"""The text of a cell, or its parts, each plain or with the style that it has on a terminal."""


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, width: int, apart: bool) -> str:
    """Return a table as text without colors, frames and blanks at line ends, wrapped to the width.

    Args:
        columns: The heads.
        rows: The cells.
        width: In columns.
        apart: Leave a line between rows.
    """
    table = filled(Table(box=None, pad_edge=False, padding=(0, 1, int(apart), 1)), columns, rows)
    plain = Console(file=io.StringIO(), width=width, no_color=True, force_terminal=False, highlight=False)
    with plain.capture() as captured:
        plain.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def filled(table: Table, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
    """Fill the table with columns and rows; text is not interpreted as markup."""
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else Text.assemble(*cell) for cell in row))
    return table
