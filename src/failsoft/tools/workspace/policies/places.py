"""Line and column numbers of offsets in a text."""

from __future__ import annotations

from bisect import bisect_right

__all__ = ["LineNumbers"]


class LineNumbers:
    """The lines of a text, each ended by a line feed."""

    def __init__(self, text: str) -> None:
        self._starts = [0]
        end = text.find("\n")
        while end >= 0:
            self._starts.append(end + 1)
            end = text.find("\n", end + 1)

    def number(self, offset: int) -> int:
        """Return the line, from 1, that an offset is in."""
        return bisect_right(self._starts, offset)

    def place(self, offset: int) -> dict[str, int]:
        """Return the line and the column of an offset, both from 1, as the arguments of a `Finding`."""
        line = self.number(offset)
        return {"line": line, "column": offset - self._starts[line - 1] + 1}
