"""Sentences with fields in them: parsed once, when an error class is defined, and filled for every failure."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import Any, Self

from failsoft.framework.text import bounded

__all__ = ["Template"]

_LIST_AT_MOST = 5


class _Formatter(string.Formatter):
    """Fills in whatever `str.format` knows (`{size:.1f}`, `{page.title}`)."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return _written(format(value, format_spec) if format_spec else value)


_formatter = _Formatter()


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence over the fields of an error.

    Args:
        text: The sentence as declared.
        names: The fields in it.
        parts: Text and the field that follows it; None where it has more than plain `{name}`s, and takes the slow way.
        constant: The whole sentence, if it has no fields.
    """

    text: str
    names: frozenset[str]
    parts: tuple[tuple[str, str | None], ...] | None
    constant: str | None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the template of a text; `{{` and `}}` are braces.

        Raises:
            ValueError: The braces do not match.
        """
        found = list(_formatter.parse(text))
        is_plain = all(name is None or (name.isidentifier() and not spec and not how) for _, name, spec, how in found)
        names = frozenset(name.split(".")[0].split("[")[0] for _, name, _, _ in found if name is not None)
        return cls(
            text,
            names,
            tuple((before, name) for before, name, _, _ in found) if is_plain else None,
            None if names else "".join(before for before, _, _, _ in found),
        )

    def fill(self, error: object) -> str:
        """Return the sentence over an error's fields: lists are joined, text is bounded and made printable."""
        if self.constant is not None:
            return self.constant
        if self.parts is None:
            return _formatter.vformat(self.text, (), {name: getattr(error, name) for name in self.names})
        sentence = ""
        for before, name in self.parts:
            sentence += before if name is None else before + _written(getattr(error, name))
        return sentence


def _written(value: Any) -> str:
    if isinstance(value, (list, tuple, set, frozenset)):
        shown = [bounded(str(item)) for item in list(value)[:_LIST_AT_MOST]]
        more = len(value) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    return bounded(str(value))
