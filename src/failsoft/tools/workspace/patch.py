"""A strict unified diff of one file: parsed, and applied exactly at its positions or not at all.

Other tools search for a position where a hunk nearly fits. Here the result is written without review, so there is no
fuzz and no offset: positions, counts, and every byte of context and of removed lines have to be right.

Of the 43 malformed patches of `test_patch.py`, unidiff 1.0.1 refuses 15 and takes 10 for sound, whatthepatch 1.0.7
refuses one and takes 29. Either would need the same checks around a parse that has lost the line numbers.

Source: the unified format of GNU diffutils ("Detailed Description of Unified Format"), with Git's header lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from failsoft.framework.errors.violations import Violation
from failsoft.tools.workspace.errors import PatchApplyFailed, PatchInvalid
from failsoft.tools.workspace.plans.scope import normal

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
    end = {"\n": "", "\r\n": " with CRLF", "": " without a newline"}.get(text[len(kept) :], " with CR")
    return json.dumps(kept[:_SHOWN_AT_MOST], ensure_ascii=False) + cut + end


_HUNK = re.compile(rb"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@(?: .*)?")
_NOTHING = "/dev/null"
_ALLOWED = re.compile(rb"new file mode 100644|index [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: 100644)?")
_UNSUPPORTED: tuple[tuple[bytes, str], ...] = (
    (b"deleted file mode", "it deletes the file"),
    (b"rename ", "it renames a file"),
    (b"copy ", "it copies a file"),
    (b"similarity index", "it renames or copies a file"),
    (b"GIT binary patch", "it is a binary patch"),
    (b"Binary files ", "it is for a binary file"),
    (b"new file mode", "only plain files, of mode 100644, are made"),
    (b"old mode", "it changes the mode of the file"),
    (b"new mode", "it changes the mode of the file"),
)
"""Unsupported header lines of Git."""
_ESCAPE = re.compile(rb"\\([0-7]{3}|[abtnvfr\"\\])")
_ESCAPED = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))


def read_patch(text: bytes, path: str, *also: str) -> Patch:
    """Return the parsed patch.

    Args:
        text: A unified diff.
        path: The file that it has to be for, relative to the workspace.
        *also: Other names that its header may give that file.

    Raises:
        PATCH_INVALID: It is malformed, for another file, or does more than change or create a file.
    """
    lines = text.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return _PatchParser(lines, {path, *also}).patch()


class _PatchParser:
    """Parses one patch, line by line."""

    def __init__(self, lines: list[bytes], names: set[str]) -> None:
        self.lines = lines
        self.names = names
        self.place = 0
        self.old_end = 0
        self.new_end = 0
        self.ended: set[str] = set()
        """The sides, `-` and `+`, whose last line was read: no newline follows it."""

    def patch(self) -> Patch:
        is_new = self._header()
        hunks: list[Hunk] = []
        while self.place < len(self.lines):
            hunks.append(self._hunk(len(hunks) + 1))
        if not hunks:
            self._refuse("there is no hunk")
        if is_new and (len(hunks) > 1 or hunks[0].start or hunks[0].old):
            self._refuse("it makes a new file, so it has one hunk, which begins with @@ -0,0")
        return Patch(is_new, hunks)

    @property
    def _line(self) -> bytes | None:
        return self.lines[self.place] if self.place < len(self.lines) else None

    def _refuse(self, reason: str) -> NoReturn:
        line = min(self.place + 1, max(1, len(self.lines)))
        violation = Violation(path="patch", reason="format", message=reason, expected="a unified diff for one file")
        raise PatchInvalid(reason=reason, line=line, violations=[violation])

    def _header(self) -> bool:
        """Read what comes before the hunks; return whether the patch makes the file."""
        says_new = self._git_lines()
        line = self._line
        if line is None or not line.startswith(b"--- "):
            if says_new:
                self._refuse("there is no hunk")
            return False
        old = self._name("--- ", "a/")
        if not (self._line or b"").startswith(b"+++ "):
            self._refuse("expected a line that begins with '+++ '")
        self._name("+++ ", "b/")
        if says_new and old != _NOTHING:
            self._refuse("the header makes a new file, and names an old one")
        return old == _NOTHING

    def _git_lines(self) -> bool:
        """Read the lines that Git puts before the names; return whether they make the file."""
        line = self._line
        if line is None or not line.startswith(b"diff --git "):
            return False
        self._require_names_of_git(line[len(b"diff --git ") :])
        self.place += 1
        says_new = False
        while (line := self._line) is not None and not line.startswith((b"--- ", b"@@ ")):
            if not _ALLOWED.fullmatch(line):
                self._refuse(next((why for start, why in _UNSUPPORTED if line.startswith(start)), "expected '--- '"))
            says_new = says_new or line.startswith(b"new")
            self.place += 1
        return says_new

    def _require_names_of_git(self, names: bytes) -> None:
        """Raise unless both names of `a/NAME b/NAME` are the file's; renames are unsupported."""
        half = len(names) // 2
        old, space, new = names[:half], names[half : half + 1], names[half + 1 :]
        if space != b" " or self._unprefixed(old, "a/") is None or self._unprefixed(new, "b/") is None:
            self._refuse("it is for another file, or for several")

    def _name(self, sign: str, prefix: str) -> str:
        """Return the name in a header line: the file's, or `/dev/null`."""
        text = (self._line or b"")[len(sign) :].partition(b"\t")[0]
        if text.endswith(b"\r"):
            self._refuse("the line ends with CR, which only the lines of the file may")
        if text == _NOTHING.encode():
            if prefix == "b/":
                self._refuse("it deletes the file")
            name: str | None = _NOTHING
        else:
            name = self._unprefixed(text, prefix)
        if name is None:
            self._refuse("it is for another file")
        self.place += 1
        return name

    def _unprefixed(self, text: bytes, prefix: str) -> str | None:
        """Return the name if it is the file's."""
        if len(text) > 1 and text[:1] == text[-1:] == b'"':
            text = _ESCAPE.sub(_unescaped, text[1:-1])
        name = text.decode(errors="replace")
        known = {name} if name.startswith("/") else {normal(name), normal(name.removeprefix(prefix))}
        return name if known & self.names else None

    def _hunk(self, number: int) -> Hunk:
        header = self.place
        start, old, new_start, new = self._counts(number)
        self.old_end, self.new_end = start + old, new_start + new
        self.place += 1
        lines: list[tuple[str, bytes]] = []
        while True:
            line = self._line
            if line is not None and line.startswith(b"\\ "):
                self._end_of_file(lines)
            elif not old and not new:
                break
            elif line is None:
                self._refuse(f"hunk {number} has fewer lines than its header says")
            else:
                sign = self._sign(line)
                old, new = old - (sign != "+"), new - (sign != "-")
                if old < 0 or new < 0:
                    self._refuse(f"hunk {number} has more lines than its header says")
                lines.append((sign, line[1:] + b"\n"))
            self.place += 1
        if all(sign == " " for sign, _ in lines):
            self.place = header
            self._refuse(f"hunk {number} changes nothing")
        return Hunk(number, start, lines)

    def _counts(self, number: int) -> tuple[int, int, int, int]:
        """Return from the header of a hunk the lines before it and its lines, of the old file and of the new one."""
        line = self._line or b""
        found = _HUNK.fullmatch(line)
        if found is None:
            self._refuse(self._instead_of_a_hunk(line, number))
        old_first, old, new_first, new = (1 if one is None else int(one) for one in found.groups())
        old_start, new_start = old_first - (old > 0), new_first - (new > 0)
        if min(old_start, new_start) < 0:
            self._refuse("lines are numbered from 1")
        if old_start < self.old_end:
            self._refuse(f"hunk {number} begins before the end of the one before it")
        expected = self.new_end + old_start - self.old_end
        if new_start != expected:
            self._refuse(f"after the hunks before it, hunk {number} begins at +{expected + (new > 0)}")
        return old_start, old, new_start, new

    def _instead_of_a_hunk(self, line: bytes, number: int) -> str:
        if line.startswith((b"diff ", b"--- ", b"Index: ")) and number > 1:
            return "it is for several files"
        if line.startswith((b"+", b"-", b" ")) and number > 1:
            return f"hunk {number - 1} has more lines than its header says"
        refused = next((why for start, why in _UNSUPPORTED if line.startswith(start)), None)
        return refused or f"expected the header of hunk {number}, such as '@@ -1,2 +1,3 @@'"

    def _sign(self, line: bytes) -> str:
        sign = line[:1].decode(errors="replace")
        if sign not in {" ", "-", "+"}:
            self._refuse("a line of a hunk begins with a space, '-' or '+', also where the rest of it is empty")
        sides = {"-", "+"} if sign == " " else {sign}
        if sides & self.ended:
            self._refuse("it follows the line that is marked as the last of the file")
        return sign

    def _end_of_file(self, lines: list[tuple[str, bytes]]) -> None:
        """Remove the newline of the preceding line, which is the last line of its file."""
        if not lines or not lines[-1][1].endswith(b"\n"):
            self._refuse("no line without this marker precedes it")
        sign, line = lines[-1]
        lines[-1] = (sign, line[:-1])
        self.ended |= {"-", "+"} if sign == " " else {sign}


def _unescaped(escape: re.Match[bytes]) -> bytes:
    """Return the byte of an escape in a quoted name."""
    code = escape.group(1)
    return bytes([int(code, 8) & 0xFF if len(code) > 1 else _ESCAPED[code[0]]])
