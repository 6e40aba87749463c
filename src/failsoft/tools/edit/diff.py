"""Changed ranges of a text after several edits, and their unified diff, in time linear in the text.

Comparing the two texts line by line would take minutes where lines repeat; the edits say where to look.
"""

from __future__ import annotations

import bisect
import difflib
import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from failsoft.tools.edit.engine import EditStep

_Opcode: TypeAlias = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]
_COMPARED_AT_MOST = 300
"""Lines of one changed range that are compared with each other; a longer range is shown as one replacement."""
_FOLLOWED_AT_MOST = 20_000
"""Replacements that are tracked one by one; above it the whole text counts as changed."""
_CARRIED_AT_MOST = 1_000_000
"""Replacements times the edits after each: each edit moves the earlier ones, in about two microseconds."""
_CONTEXT = 3
_NO_NEWLINE = "\n\\ No newline at end of file\n"


class ChangedRange(NamedTuple):
    """A range of the first text and its replacement in the last one, as positions; ends are exclusive."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


class _Span(NamedTuple):
    """A range of an intermediate text: how much longer it was in the first text, and becomes in the last."""

    start: int
    end: int
    longer_before: int
    longer_after: int


def changed_ranges(steps: Iterable[EditStep]) -> list[ChangedRange]:
    """Return the ranges that all steps together changed, in order; adjacent ranges are merged."""
    changes: list[ChangedRange] = []
    for step in steps:
        earlier = (
            _Span(item.new_start, item.new_end, (item.old_end - item.old_start) - (item.new_end - item.new_start), 0)
            for item in changes
        )
        length, longer = step.old_length, step.new_length - step.old_length
        now = (_Span(start, start + length, 0, longer) for start in step.starts)
        changes = list(_placed(_joined(heapq.merge(earlier, now))))
    return changes


def _joined(parts: Iterable[_Span]) -> Iterator[_Span]:
    """Yield the parts in order, adjacent ones merged."""
    whole: _Span | None = None
    for part in parts:
        if whole is not None and part.start <= whole.end:
            end = max(whole.end, part.end)
            before, after = whole.longer_before + part.longer_before, whole.longer_after + part.longer_after
            whole = _Span(whole.start, end, before, after)
        else:
            if whole is not None:
                yield whole
            whole = part
    if whole is not None:
        yield whole


def _placed(parts: Iterable[_Span]) -> Iterator[ChangedRange]:
    """Yield the parts with their positions in the first text and in the last one."""
    before = after = 0
    for start, end, longer_before, longer_after in parts:
        old_start, new_start = start + before, start + after
        before, after = before + longer_before, after + longer_after
        yield ChangedRange(old_start, end + before, new_start, end + after)


def unified_diff(old: str, new: str, steps: Sequence[EditStep], *, name: str) -> Iterator[str]:
    """Yield the unified diff of two texts, in pieces that end in a newline: the heading, then whole hunks.

    Args:
        old: The text before the steps.
        new: The text after them.
        steps: What was done, as `apply_edits` traced it.
        name: What the heading calls the file.
    """
    olds, news = _lines(old), _lines(new)
    changes = [ChangedRange(0, len(old), 0, len(new))] if _is_untrackable(steps) else changed_ranges(steps)
    opcodes = list(_opcodes(olds, news, changes))
    if all(tag == "equal" for tag, *_ in opcodes):
        return
    grouping: Any = difflib.SequenceMatcher()
    grouping.opcodes = opcodes  # only its grouping is used
    yield f"--- {name}\n+++ {name}\n"
    for group in grouping.get_grouped_opcodes(_CONTEXT):
        yield "".join(_hunk(group, olds, news))


def _is_untrackable(steps: Sequence[EditStep]) -> bool:
    """Return whether there are too many replacements to track."""
    totals = list(itertools.accumulate(len(step.starts) for step in steps))
    return sum(totals) > _CARRIED_AT_MOST or totals[-1:] > [_FOLLOWED_AT_MOST]


def _lines(text: str) -> list[str]:
    """Return the lines with their ends. Only line feeds end a line here: form feeds and others are text."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _opcodes(olds: list[str], news: list[str], changes: Iterable[ChangedRange]) -> Iterator[_Opcode]:
    """Yield the opcodes of the whole text, as `difflib` defines them."""
    at_old = at_new = 0
    for region in _regions(olds, news, changes):
        old_start, old_end, new_start, new_end = region
        if at_old < old_start:
            yield "equal", at_old, old_start, at_new, new_start
        yield from _compared(olds, news, region)
        at_old, at_new = old_end, new_end
    if at_old < len(olds):
        yield "equal", at_old, len(olds), at_new, len(news)


def _regions(olds: list[str], news: list[str], changes: Iterable[ChangedRange]) -> Iterator[ChangedRange]:
    """Yield the changes as ranges of lines; changes that share a line are merged."""
    old_ends, new_ends = _ends(olds), _ends(news)
    region: ChangedRange | None = None
    for change in changes:
        wide = ChangedRange(
            bisect.bisect_right(old_ends, change.old_start),
            min(bisect.bisect_right(old_ends, change.old_end) + 1, len(olds)),
            bisect.bisect_right(new_ends, change.new_start),
            min(bisect.bisect_right(new_ends, change.new_end) + 1, len(news)),
        )
        if region is None or wide.old_start > region.old_end or wide.new_start > region.new_end:
            if region is not None:
                yield region
            region = wide
        else:
            region = ChangedRange(region.old_start, wide.old_end, region.new_start, wide.new_end)
    if region is not None:
        yield region


def _ends(lines: list[str]) -> list[int]:
    """Return where the lines end, without a last one that has no line feed."""
    ends = list(itertools.accumulate(map(len, lines)))
    return ends if not lines or lines[-1].endswith("\n") else ends[:-1]


def _compared(olds: list[str], news: list[str], region: ChangedRange) -> Iterator[_Opcode]:
    """Yield the opcodes of one region; a large region is one replacement."""
    low, old_end, new_low, new_end = region
    first, second = olds[low:old_end], news[new_low:new_end]
    if max(len(first), len(second)) > _COMPARED_AT_MOST:
        if first != second:
            yield "replace", low, old_end, new_low, new_end
        return
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        yield tag, low + i1, low + i2, new_low + j1, new_low + j2


def _hunk(group: Sequence[_Opcode], olds: list[str], news: list[str]) -> Iterator[str]:
    first, last = group[0], group[-1]
    yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
    for tag, i1, i2, j1, j2 in group:
        if tag == "equal":
            yield from (_marked(" ", line) for line in olds[i1:i2])
        else:
            yield from (_marked("-", line) for line in olds[i1:i2])
            yield from (_marked("+", line) for line in news[j1:j2])


def _marked(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}{_NO_NEWLINE}"


def _range(start: int, end: int) -> str:
    """Return a range of lines as in a unified diff: numbered from 1; an empty range names the line before it."""
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start if length == 0 else start + 1},{length}"
