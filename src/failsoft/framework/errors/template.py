"""Message templates with fields: parsed when an error class is defined, filled for every failure."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

from failsoft.framework.text import named, plain, requoted

_LIST_AT_MOST = 5
_BITS_AT_MOST = 128
_QUOTES = "'\"`"
_formatter = string.Formatter()


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a template: the text before a field, the field's name, and how it is written.

    Args:
        before: The text before the field, without the quotation mark that the template puts around it.
        name: The field as in the template (`size`, `page.title`); None for text alone.
        spec: The format of the value (`.1f`).
        is_name: Whether the template puts it in backticks.
        is_quoted: Whether the template puts it in quotation marks.
    """

    before: str
    name: str | None
    spec: str = ""
    is_name: bool = False
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class MessageTemplate:
    """A message template over the fields of an error. Values are quoted, since they may be foreign text.

    Args:
        text: The sentence as declared.
        names: The fields in it.
        parts: The pieces of it, in order.
        constant: The whole sentence, if it has no fields.
    """

    text: str
    names: frozenset[str]
    parts: tuple[Part, ...]
    constant: str | None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the template of a text; `{{` and `}}` are braces.

        Raises:
            ValueError: The braces do not match.
        """
        found = list(_formatter.parse(text))
        names = frozenset(name.split(".")[0].split("[")[0] for _, name, _, _ in found if name is not None)
        constant = None if names else "".join(before for before, _, _, _ in found)
        return cls(text, names, tuple(_parts(found)), constant)

    def fill(self, error: object, words: frozenset[str] = frozenset()) -> str:
        """Return the sentence over an error's fields: lists are joined, text is quoted and bounded.

        Args:
            error: Has the fields as attributes.
            words: The fields that hold words of the author's own, which need no quotation.
        """
        if self.constant is not None:
            return self.constant
        return "".join([part.before + _filled(part, error, words) for part in self.parts])


def _parts(found: list[Any]) -> Iterator[Part]:
    """Yield the pieces; quotation marks around a field are removed, since the value has its own."""
    skipped = 0
    for index, (before, name, spec, _) in enumerate(found):
        text = before[skipped:]
        after = found[index + 1][0] if index + 1 < len(found) else ""
        mark = text[-1:]
        skipped = int(name is not None and mark != "" and mark in _QUOTES and after[:1] == mark)
        yield Part(
            text[:-1] if skipped else text,
            name,
            spec or "",
            is_name=bool(skipped) and mark == "`",
            is_quoted=bool(skipped) and mark != "`",
        )


def _filled(part: Part, error: object, words: frozenset[str]) -> str:
    if part.name is None:
        return ""
    if part.name.isidentifier():
        value = getattr(error, part.name)
    else:
        value = _formatter.get_field(part.name, (), vars(error))[0]
    write = named if part.is_name else plain if part.name in words and not part.is_quoted else requoted
    if isinstance(value, (list, tuple, set, frozenset)):
        shown = [_written(item, "", write) for item in list(value)[:_LIST_AT_MOST]]
        more = len(value) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    return _written(value, part.spec, write)


def _written(value: Any, spec: str, write: Callable[[Any], str]) -> str:
    try:
        text = format(value, spec) if spec else value
    except (TypeError, ValueError):  # None, or a value of another type, has no such format
        text = value
    if value is None or isinstance(value, (bool, float)):
        return str(text)
    if isinstance(value, int):
        return str(text) if value.bit_length() < _BITS_AT_MOST else "a very large number"
    return write(text)
