"""Label values: short, printable, bounded in number."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from failsoft.framework.text import bounded

K = TypeVar("K", bound=Hashable)
_LABEL_AT_MOST = 128


def label(value: str) -> str:
    """Return the value as a label: one line of at most 128 characters that can be encoded."""
    return bounded(value, _LABEL_AT_MOST)


class Admission(Generic[K]):
    """Accepts the first `limit` distinct keys; every later one becomes `other`. Not thread-safe by itself."""

    __slots__ = ("_admitted", "_limit", "_other")

    def __init__(self, limit: int, other: K) -> None:
        self._limit = limit
        self._other = other
        self._admitted: set[K] = set()

    def __call__(self, key: K) -> K:
        """Return the key, or `other`."""
        if key not in self._admitted:
            if len(self._admitted) >= self._limit:
                return self._other
            self._admitted.add(key)
        return key
