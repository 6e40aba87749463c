"""Edits applied in order to one text, all or none: where each one matches, and what they make of the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["Edited", "Step", "Stuck", "TextEdit", "apply_edits", "matches"]


class TextEdit(NamedTuple):
    """One replacement: of the one place where `old` stands, or of every one."""

    old: str
    new: str
    replace_all: bool = False


class Step(NamedTuple):
    """One edit as it was done: where it began, in the text as the edit found it, and the lengths before and after."""

    starts: tuple[int, ...]
    old_length: int
    new_length: int


class Edited(NamedTuple):
    """What all edits together made of a text. `steps` is empty unless it was asked for."""

    text: str
    replacements: int
    steps: tuple[Step, ...]


class Stuck(NamedTuple):
    """The edit that could not be done: what it looked for, and the text as it found it.

    Args:
        edit_index: Its position among the edits, from 0.
        sought: Its `old`, with the line endings of the text.
        is_missing: Whether that stands nowhere; otherwise it stands at several places, which may overlap.
    """

    edit_index: int
    sought: str
    text: str
    is_missing: bool


def apply_edits(text: str, edits: Sequence[TextEdit], *, trace: bool = False) -> Edited | Stuck:
    """Return the text after all edits, or the first edit that cannot be done.

    Each edit sees what the ones before it made. In a text that is CRLF throughout, a line feed in an edit is CRLF.
    A single replacement needs a single match; places that overlap are several, since each would give another text.

    Args:
        text: The text as it was read, a byte order mark included.
        edits: In the order in which they are done; no `old` is empty.
        trace: Whether to keep where the replacements were, for a diff.
    """
    endings = is_crlf(text)
    replacements = 0
    steps: list[Step] = []
    for index, edit in enumerate(edits):
        old, new = (as_crlf(edit.old), as_crlf(edit.new)) if endings else (edit.old, edit.new)
        first = text.find(old)
        if first < 0 or not (edit.replace_all or text.find(old, first + 1) < 0):
            return Stuck(index, old, text, is_missing=first < 0)
        if trace:
            starts = matches(text, old, step=len(old)) if edit.replace_all else (first,)
            steps.append(Step(tuple(starts), len(old), len(new)))
        if edit.replace_all:
            replacements += text.count(old)
            text = text.replace(old, new)
        else:
            replacements += 1
            text = f"{text[:first]}{new}{text[first + len(old) :]}"
    return Edited(text, replacements, tuple(steps))


def matches(text: str, sought: str, *, step: int = 1) -> Iterator[int]:
    """Yield where `sought` stands: every place with a step of 1, disjoint ones with its length."""
    place = text.find(sought)
    while place >= 0:
        yield place
        place = text.find(sought, place + step)


def is_crlf(text: str) -> bool:
    """Return whether every line of the text ends in CRLF, and there is one that does."""
    if "\r" not in text:
        return False
    pairs = text.count("\r\n")
    return pairs > 0 and pairs == text.count("\n") == text.count("\r")


def as_crlf(text: str) -> str:
    """Return the text with CRLF in place of each LF; what is CRLF stays."""
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if "\n" in text else text
