"""A base for exceptions with constructor arguments besides the message, so that pickle and copy work."""

from __future__ import annotations

from typing import Any

__all__ = ["PicklableError"]


class PicklableError(Exception):
    """An exception that is rebuilt without its constructor, from `args` and its attributes."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args), self.__dict__


def _rebuild(kind: type[PicklableError], args: tuple[Any, ...]) -> PicklableError:
    return kind.__new__(kind, *args)
