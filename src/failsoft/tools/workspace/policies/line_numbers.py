"""Findings at offsets of a text, with line and column."""

from __future__ import annotations

from bisect import bisect_right

from failsoft.tools.workspace.policies.port import Finding


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

    def finding(self, rule: str, advice: str, start: int, end: int | None = None) -> Finding:
        """Return the finding at an offset; with `end`, it covers the lines up to that offset, which is excluded."""
        line = self.number(start)
        lines = 1 if end is None else self.number(max(start, end - 1)) - line + 1
        return Finding(rule=rule, line=line, advice=advice, lines=lines, column=start - self._starts[line - 1] + 1)
