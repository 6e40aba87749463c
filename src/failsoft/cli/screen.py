"""The output of commands: JSON and plain text, with colors by rich on a terminal; a command's own output apart."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any, TextIO

import typer

from failsoft.framework.text import json_on_one_line, printable

_LINK_TO_PAGE = re.compile(r"\[([^\]]+)\]\([\w./-]+\.md\)")
"""A link between pages of the docs, which does not work on a terminal."""
_SHOWN_AFTER_S = 2.0


def is_terminal(stream: TextIO) -> bool:
    """Return whether the stream is a terminal with colors, and plain text was not requested."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Screen:
    """Standard output. Rich is imported only on a terminal: 60 ms that `explain | less` does not pay."""

    def __init__(self) -> None:
        self.stream = sys.stdout
        self.is_rich = is_terminal(self.stream)

    @property
    def width(self) -> int:
        """The width for wrapped text: that of the terminal, `COLUMNS`, or 80."""
        return max(60, shutil.get_terminal_size((80, 24)).columns)

    def text(self, text: str = "") -> None:
        """Write lines unchanged."""
        typer.echo(text, file=self.stream)

    def json(self, value: Any, *, compact: bool = False) -> None:
        """Write a JSON tree, in one line if `compact`."""
        layout: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 2}
        text = "\n".join(map(json_on_one_line, json.dumps(value, ensure_ascii=False, **layout).split("\n")))
        if not self.is_rich or compact:
            self.text(text)
            return
        from rich.json import JSON  # noqa: PLC0415 - only on a terminal

        # The terminal wraps lines itself, so that copied text has no additional line breaks.
        self._show(JSON(text), soft_wrap=True)

    def markdown(self, text: str) -> None:
        """Write a page of Markdown."""
        if not self.is_rich:
            self.text(text.rstrip("\n"))
            return
        from rich.markdown import Markdown  # noqa: PLC0415 - only on a terminal

        self._show(Markdown(_LINK_TO_PAGE.sub(r"\1", text), hyperlinks=False))

    def rows(self, columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
        """Write a table; in a pipe one line per row, for `grep` and `awk`."""
        rows = [[*map(printable, row)] for row in rows]
        if title:
            self.heading(title)
        if not self.is_rich:
            self.text("\n".join(_aligned([columns, *rows])) + ("\n" if title else ""))
            return
        from rich import box  # noqa: PLC0415 - only on a terminal
        from rich.table import Table  # noqa: PLC0415 - the same
        from rich.text import Text  # noqa: PLC0415 - the same

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))  # text is not interpreted as markup
        self._show(table)

    def heading(self, text: str, *, style: str = "bold cyan") -> None:
        """Write a heading."""
        text = printable(text)
        if not self.is_rich:
            self.text(f"{text}:")
            return
        from rich.text import Text  # noqa: PLC0415 - only on a terminal

        self._show(Text(text, style=style))

    def _show(self, item: Any, *, soft_wrap: bool = False) -> None:
        from rich.console import Console  # noqa: PLC0415 - only on a terminal

        Console(file=self.stream, highlight=False).print(item, soft_wrap=soft_wrap)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun (`1 tool`, `2 tools`).

    Args:
        number: How many.
        one: The noun for one.
        many: The noun for any other number; by default with an s.
    """
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def lasting(time_s: float) -> str:
    """Return a time in its largest unit of which there are at least two (`90 s`, `36 h`)."""
    for unit, unit_s in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if time_s >= 2 * unit_s:
            return f"{time_s / unit_s:.0f} {unit}"
    return f"{time_s:.0f} s"


@contextmanager
def waiting(what: str, *, is_shown: bool) -> Iterator[Callable[[float, float | None, str | None], None]]:
    """Show on a terminal what is waited for, after two seconds; what is yielded takes reports of its progress."""
    if not (is_shown and is_terminal(sys.stderr)):
        yield lambda _done, _total, _message: None
        return
    from rich.console import Console  # noqa: PLC0415 - only on a terminal
    from rich.markup import escape  # noqa: PLC0415 - the same

    status = Console(stderr=True).status(escape(what))

    def report(done: float, total: float | None, message: str | None) -> None:
        amount = f"{done:g} of {total:g}" if total is not None else f"{done:g}"
        status.update(escape(", ".join(part for part in (f"{what}: {amount}", message or "") if part)))

    timer = threading.Timer(_SHOWN_AFTER_S, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield report
    finally:
        timer.cancel()
        timer.join()
        status.stop()


@contextmanager
def divert_output() -> Iterator[None]:
    """Send to standard error what is printed while the block lasts, by Python, C code or child processes."""
    sys.stdout.flush()
    with redirect_stdout(sys.stderr):
        try:
            shown, errors = sys.__stdout__.fileno(), sys.stderr.fileno()  # type: ignore[union-attr]  # caught below
        except (AttributeError, OSError, ValueError):  # embedded, or in a test: no descriptors to divert
            yield
            return
        kept = os.dup(shown)
        os.dup2(errors, shown)
        try:
            yield
        finally:
            with suppress(OSError, ValueError):
                sys.stderr.flush()
            os.dup2(kept, shown)
            os.close(kept)
