"""Where a command writes: rich on a terminal, plain text in a pipe, JSON where a program asked for it."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Cell", "Screen", "is_terminal"]

_LINK_TO_PAGE = re.compile(r"\[([^\]]+)\]\([\w./-]+\.md\)")
"""A link between pages of the docs, which leads nowhere on a terminal."""

Cell: TypeAlias = str | Sequence[str | tuple[str, str]]
"""The text of a cell, or its parts, each plain or with the style that it has on a terminal."""


def is_terminal(stream: TextIO) -> bool:
    """Return whether somebody looks at the stream on a terminal with colors, and has not asked for plain text."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Screen:
    """The standard output of a command."""

    def __init__(self) -> None:
        self.stream = sys.stdout
        self.is_rich = is_terminal(self.stream)

    def text(self, text: str = "") -> None:
        """Write lines as they are."""
        typer.echo(text, file=self.stream)

    def json(self, value: Any, *, compact: bool = False) -> None:
        """Write a JSON tree, with colors on a terminal."""
        if compact:
            self.text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
            return
        text = json.dumps(value, ensure_ascii=False, indent=2)
        if self.is_rich:
            from rich.json import JSON  # noqa: PLC0415 - only where somebody sees the colors

            self.show(JSON(text), whole_lines=True)
        else:
            self.text(text)

    def markdown(self, text: str) -> None:
        """Write a page of Markdown: set on a terminal, as it is in a pipe."""
        if self.is_rich:
            from rich.markdown import Markdown  # noqa: PLC0415 - only where somebody sees it

            self.show(Markdown(_LINK_TO_PAGE.sub(r"\1", text), hyperlinks=False))
        else:
            self.text(text.rstrip("\n"))

    def rows(self, columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
        """Write a table to look things up in: drawn on a terminal; in a pipe one line a row, for `grep` and `awk`."""
        if title:
            self.heading(title)
        if self.is_rich:
            self.table(columns, rows)
        else:
            self.text("\n".join(_aligned([columns, *rows])) + ("\n" if title else ""))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, apart: bool = False) -> None:
        """Write a table to read: cells are wrapped to the width, in a pipe as well.

        Args:
            columns: The heads.
            rows: The cells.
            apart: Leave a line between rows, where they have several lines each.
        """
        from rich import box  # noqa: PLC0415 - 60 ms that `explain | less` does not pay
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        frame = (box.ROUNDED if apart else box.SIMPLE_HEAD) if self.is_rich else None
        below = int(apart and not self.is_rich)
        table = Table(
            box=frame, show_lines=apart, pad_edge=self.is_rich and apart, padding=(0, 1, below, 1), header_style="bold"
        )
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) if isinstance(cell, str) else Text.assemble(*cell) for cell in row))
        self.show(table)

    def heading(self, text: str) -> None:
        """Write a line that says what follows."""
        if not self.is_rich:
            self.text(f"{text}:")
            return
        from rich.text import Text  # noqa: PLC0415 - only on a terminal

        self.show(Text(text, style="bold cyan"))

    def show(self, item: RenderableType, *, whole_lines: bool = False) -> None:
        """Write what rich renders; in a pipe without colors, and without the blanks that rich puts at line ends.

        Args:
            item: What to render.
            whole_lines: Leave the wrapping to the terminal, so that what is copied from it has no added line breaks.
        """
        from rich.console import Console  # noqa: PLC0415 - 60 ms that `explain | less` does not pay

        if self.is_rich:
            Console(file=self.stream, highlight=False).print(item, soft_wrap=whole_lines)
            return
        plain = Console(file=io.StringIO(), width=self.width, no_color=True, force_terminal=False, highlight=False)
        with plain.capture() as captured:
            plain.print(item)
        self.text("\n".join(line.rstrip() for line in captured.get().splitlines()))

    @property
    def width(self) -> int:
        """Columns that wrapped text may take: the terminal's, `COLUMNS`, or 80."""
        return max(60, shutil.get_terminal_size((80, 24)).columns)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
