"""Terminal detection and choice of screen: colors on a terminal, plain text in a pipe."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from failsoft.cli.screen.screen import Screen


def is_terminal(stream: TextIO) -> bool:
    """Return whether the stream is a terminal with colors, and plain text was not requested."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def open_screen() -> Screen:
    """Return the screen for our standard output."""
    if not is_terminal(sys.stdout):
        return Screen(sys.stdout)
    from failsoft.cli.screen.rich_screen import RichScreen  # noqa: PLC0415 - 60 ms that `explain | less` does not pay

    return RichScreen(sys.stdout)
