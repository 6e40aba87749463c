"""Apply edits to a text in order, all or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from failsoft.framework.errors.vocabulary import PicklableError

_LENGTH_AT_MOST = 20_000_000
"""Default limit of intermediate texts, in characters: a few edits can multiply the length of a text."""
_LATER_AT_MOST = 20
"""Attempts to find further failures after the first one."""


class TextTooLong(PicklableError):
    """A text would exceed its limit after an edit; `length` is how long it would be, in characters."""

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length


class TextEdit(NamedTuple):
    """One replacement: of the only match of `old`, or of every match."""

    old: str
    new: str
    replace_all: bool = False


class EditStep(NamedTuple):
    """One applied edit: where its matches began in the text before it, and the lengths before and after."""

    starts: tuple[int, ...]
    old_length: int
    new_length: int


class Edited(NamedTuple):
    """The text after all edits.

    Args:
        text: The new text.
        occurrences: How many matches each edit replaced; 0 where `old` and `new` are the same.
        steps: Where the replacements were; empty unless traced.
    """

    text: str
    occurrences: tuple[int, ...]
    steps: tuple[EditStep, ...]

    @property
    def replacements(self) -> int:
        """How many matches were replaced in all."""
        return sum(self.occurrences)


class FailedEdit(NamedTuple):
    """The first edit that cannot be applied.

    Args:
        edit_index: Its position among the edits, from 0.
        sought: Its `old`, with the line endings of the text.
        text: The text as the edits before it left it.
        is_missing: Whether there is no match; otherwise there are several, which may overlap.
    """

    edit_index: int
    sought: str
    text: str
    is_missing: bool


def apply_edits(
    text: str, edits: Sequence[TextEdit], *, trace: bool = False, length_at_most: int = _LENGTH_AT_MOST
) -> Edited | FailedEdit:
    """Return the text after all edits, or the first edit that cannot be applied.

    Each edit sees the result of those before it. In a text that is CRLF throughout, a line feed in an edit is CRLF.
    A single replacement needs a single match; overlapping matches count as several, since each gives another text.

    Args:
        text: The text as it was read, a byte order mark included.
        edits: In the order of application; no `old` is empty.
        trace: Whether to keep where the replacements were, for a diff.
        length_at_most: Characters of the text after each of the edits.

    Raises:
        TextTooLong: An edit would make the text longer than that; it was not applied.
    """
    endings = is_crlf(text)
    occurrences: list[int] = []
    steps: list[EditStep] = []
    for index, edit in enumerate(edits):
        old, new = (as_crlf(edit.old), as_crlf(edit.new)) if endings else (edit.old, edit.new)
        first = text.find(old)
        # `count` skips overlapping matches: it finds "\nx\n" once in "\nx\nx\n". Among 30,000 hunks of real releases
        # that made a wrong file. `replace_all` replaces disjoint matches, as `str.replace` does.
        if first < 0 or not (edit.replace_all or text.find(old, first + 1) < 0):
            return FailedEdit(index, old, text, is_missing=first < 0)
        count = text.count(old) if edit.replace_all else 1
        if (length := len(text) + count * (len(new) - len(old))) > length_at_most and len(new) > len(old):
            raise TextTooLong(length)
        if trace:
            starts = matches(text, old, step=len(old)) if edit.replace_all else (first,)
            steps.append(EditStep(tuple(starts), len(old), len(new)))
        occurrences.append(0 if old == new else count)
        text = text.replace(old, new) if edit.replace_all else f"{text[:first]}{new}{text[first + len(old) :]}"
    return Edited(text, tuple(occurrences), tuple(steps))


def later_failures(failed: FailedEdit, edits: Sequence[TextEdit]) -> list[FailedEdit]:
    """Return the edits after a failed one that fail as well, as if the failed ones were left out.

    An edit that may depend on what a failed one would have written is left out.
    """
    found: list[FailedEdit] = []
    written = [edits[failed.edit_index].new]
    text, at = failed.text, failed.edit_index + 1
    for _ in range(_LATER_AT_MOST):
        try:
            done = apply_edits(text, edits[at:])
        except TextTooLong:
            break
        if isinstance(done, Edited):
            break
        at += done.edit_index
        lines = [line for line in edits[at].old.splitlines() if line.strip()]
        if not any(line in new for line in lines for new in written):
            found.append(done._replace(edit_index=at))
        written.append(edits[at].new)
        text, at = done.text, at + 1
    return found


def matches(text: str, sought: str, *, step: int = 1) -> Iterator[int]:
    """Yield where `sought` occurs: every match with a step of 1, disjoint ones with its length."""
    position = text.find(sought)
    while position >= 0:
        yield position
        position = text.find(sought, position + step)


def is_crlf(text: str) -> bool:
    """Return whether every line of the text ends in CRLF, and there is one that does."""
    if "\r" not in text:
        return False
    pairs = text.count("\r\n")
    return pairs > 0 and pairs == text.count("\n") == text.count("\r")


def as_crlf(text: str) -> str:
    """Return the text with CRLF in place of each LF; what is CRLF stays."""
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if "\n" in text else text
