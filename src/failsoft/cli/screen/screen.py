"""The output of commands: plain text, or JSON for programs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

import typer

if TYPE_CHECKING:
    from failsoft.cli.screen.tables import Cell


class Screen:
    """Plain text.

    Args:
        stream: Where it goes.
    """

    is_rich: ClassVar[bool] = False

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def text(self, text: str = "") -> None:
        """Write lines unchanged."""
        typer.echo(text, file=self.stream)

    def json(self, value: Any, *, compact: bool = False) -> None:
        """Write a JSON tree, in one line if `compact`."""
        layout: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 2}
        self.text(json.dumps(value, ensure_ascii=False, **layout))

    def markdown(self, text: str) -> None:
        """Write a page of Markdown."""
        self.text(text.rstrip("\n"))

    def rows(self, columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
        """Write a table for look-ups; in a pipe one line per row, for `grep` and `awk`."""
        if title:
            self.heading(title)
        self.text("\n".join(_aligned([columns, *rows])) + ("\n" if title else ""))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, apart: bool = False) -> None:
        """Write a table to read: cells are wrapped to the width, in a pipe as well.

        Args:
            columns: The heads.
            rows: The cells.
            apart: Set rows apart, where they have several lines each.
        """
        from failsoft.cli.screen.tables import plain_table  # noqa: PLC0415 - most plain output does without

        self.text(plain_table(columns, rows, width=self.width, apart=apart))

    def heading(self, text: str) -> None:
        """Write a heading."""
        self.text(f"{text}:")

    @property
    def width(self) -> int:
        """The width for wrapped text: that of the terminal, `COLUMNS`, or 80."""
        return max(60, shutil.get_terminal_size((80, 24)).columns)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
