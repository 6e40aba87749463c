"""What the tests of the docs toolset share."""

from __future__ import annotations

from collections.abc import Callable

Write = Callable[[dict[str, str]], None]
"""Writes documents, text by path, into the served folder."""


class Ticking:
    """A clock on which every reading is a minute later than the one before."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        self._now += 60.0
        return self._now
