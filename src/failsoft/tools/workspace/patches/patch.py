"""Apply a unified diff to the bytes of one file, exactly at its positions or not at all. Pure.

Other tools search for a position where a hunk nearly fits. Here the result is written without review, so there is no
fuzz and no offset: positions, counts, and every byte of context and of removed lines have to be right.

Source: the unified format of GNU diffutils ("Detailed Description of Unified Format"), with Git's header lines.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from failsoft.tools.workspace.errors import PatchApplyFailed

_SHOWN_AT_MOST = 200


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk.

    Args:
        number: From 1.
        start: Lines of the old file before it.
        lines: Each with its sign (space, `-` or `+`), and with its newline, if the file's line has one.
    """

    number: int
    start: int
    lines: Sequence[tuple[str, bytes]]

    @property
    def old(self) -> list[bytes]:
        """The lines that the file must have."""
        return [line for sign, line in self.lines if sign != "+"]

    @property
    def new(self) -> list[bytes]:
        """The lines that replace them."""
        return [line for sign, line in self.lines if sign != "-"]


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch for one file.

    Args:
        is_new: Whether it makes the file.
        hunks: In the order of the file, and apart from each other.
    """

    is_new: bool
    hunks: Sequence[Hunk]

    def applied_to(self, data: bytes, *, is_known: bool) -> bytes:
        """Return the new content of a file.

        Args:
            data: The old one.
            is_known: Whether the caller gave the hash of the content. Otherwise, a hunk without context fits only an
                empty file, since nothing would show that the file has changed.

        Raises:
            PATCH_APPLY_FAILED: A hunk does not fit.
        """
        before = lines_of(data)
        after: list[bytes] = []
        done = 0
        for hunk in self.hunks:
            _require_fit(hunk, before, is_known=is_known)
            after += before[done : hunk.start]
            after += hunk.new
            done = hunk.start + len(hunk.old)
        return b"".join([*after, *before[done:]])


def lines_of(data: bytes) -> list[bytes]:
    """Return lines with their ends; only LF ends one, so a CR before it belongs to the line."""
    whole = data.split(b"\n")
    last = whole.pop()
    return [line + b"\n" for line in whole] + ([last] if last else [])


def _require_fit(hunk: Hunk, before: Sequence[bytes], *, is_known: bool) -> None:
    old, new = hunk.old, hunk.new
    if not old:
        _require_gap(hunk, before, is_known=is_known)
    for index, expected in enumerate(old, hunk.start):
        found = before[index] if index < len(before) else None
        if found != expected:
            raise _misfit(hunk, index, expected, found)
    end = hunk.start + len(old)
    if new and not new[-1].endswith(b"\n") and end < len(before):
        raise _misfit(hunk, end, None, before[end])


def _require_gap(hunk: Hunk, before: Sequence[bytes], *, is_known: bool) -> None:
    """Raise unless lines can be inserted there without context."""
    if before and not is_known:
        reason = "the hunk has no context, and the file is not empty"
        hint = "Give the lines before and after as context, or the file's sha256 as expected_hash"
        raise PatchApplyFailed(hunk=hunk.number, line=hunk.start + 1, reason=reason, suggestions=[hint])
    if hunk.start > len(before):
        raise _misfit(hunk, len(before), None, None)
    if hunk.start and not before[hunk.start - 1].endswith(b"\n"):
        raise PatchApplyFailed(hunk=hunk.number, line=hunk.start, reason="that line has no newline at its end")


def _misfit(hunk: Hunk, index: int, expected: bytes | None, found: bytes | None) -> PatchApplyFailed:
    if found is None:
        reason = "the file ends before it"
    elif expected is None:
        reason = "the file should end before it"
    elif expected.rstrip(b"\r\n") == found.rstrip(b"\r\n"):
        reason = "the line ending differs"
    else:
        reason = "the line differs"
    return PatchApplyFailed(
        hunk=hunk.number,
        line=index + 1,
        reason=reason,
        suggestions=[f"Expected: {_shown(expected)}", f"Found: {_shown(found)}"],
    )


def _shown(line: bytes | None) -> str:
    """Return a line as text that shows its end; the line itself is cut if it is long."""
    if line is None:
        return "the end of the file"
    text = line.decode(errors="replace")
    kept = text.rstrip("\r\n")
    cut = "..." if len(kept) > _SHOWN_AT_MOST else ""
    return (
        json.dumps(kept[:_SHOWN_AT_MOST], ensure_ascii=False)
        + cut
        + {"\n": "", "\r\n": " with CRLF", "": " without a newline"}.get(text[len(kept) :], " with CR")
    )
