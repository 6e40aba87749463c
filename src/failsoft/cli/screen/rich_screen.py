"""Screen for terminals: colors, frames and rendered Markdown; loaded only on a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.json import JSON
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from failsoft.cli.screen.screen import Screen
from failsoft.cli.screen.tables import Cell, filled

_LINK_TO_PAGE = re.compile(r"\[([^\]]+)\]\([\w./-]+\.md\)")
"""A link between pages of the docs, which does not work on a terminal."""


class RichScreen(Screen):
    """Output on a terminal with colors."""

    is_rich = True

    @override
    def json(self, value: Any, *, compact: bool = False) -> None:
        if compact:
            super().json(value, compact=True)
        else:
            # The terminal wraps lines itself, so that copied text has no additional line breaks.
            self._show(JSON(json.dumps(value, ensure_ascii=False)), soft_wrap=True)

    @override
    def markdown(self, text: str) -> None:
        self._show(Markdown(_LINK_TO_PAGE.sub(r"\1", text), hyperlinks=False))

    @override
    def rows(self, columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
        if title:
            self.heading(title)
        self.table(columns, rows)

    @override
    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, apart: bool = False) -> None:
        table = Table(box=box.ROUNDED if apart else box.SIMPLE_HEAD, show_lines=apart, pad_edge=apart)
        self._show(filled(table, columns, rows))

    @override
    def heading(self, text: str) -> None:
        self._show(Text(text, style="bold cyan"))

    def _show(self, item: RenderableType, *, soft_wrap: bool = False) -> None:
        Console(file=self.stream, highlight=False).print(item, soft_wrap=soft_wrap)
