"""Whether a person is looking, and the screen for it: colors on a terminal, plain text in a pipe."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from failsoft.cli.screen import Screen

__all__ = ["is_terminal", "open_screen"]


def is_terminal(stream: TextIO) -> bool:
    """Return whether somebody looks at the stream on a terminal with colors, and has not asked for plain text."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def open_screen() -> Screen:
    """Return the screen for our standard output."""
    if not is_terminal(sys.stdout):
        return Screen(sys.stdout)
    from failsoft.cli.rich_screen import RichScreen  # noqa: PLC0415 - 60 ms that `explain | less` does not pay

    return RichScreen(sys.stdout)
