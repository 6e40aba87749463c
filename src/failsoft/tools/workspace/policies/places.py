"""Where something stands in a text: from offsets to line numbers."""

from __future__ import annotations

from bisect import bisect_right

__all__ = ["Lines"]


class Lines:
    """The lines of a text, which end with a line feed."""

    def __init__(self, text: str) -> None:
        self._starts = [0]
        end = text.find("\n")
        while end >= 0:
            self._starts.append(end + 1)
            end = text.find("\n", end + 1)

    def number(self, offset: int) -> int:
        """Return the line, from 1, that an offset is in."""
        return bisect_right(self._starts, offset)
