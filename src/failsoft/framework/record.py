"""`record`: a dataclass that nobody may change, without paying for the lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

__all__ = ["record"]

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def record(cls: type[T]) -> type[T]:
    """Return the class as a dataclass with keyword-only fields, which type checkers hold to be frozen.

    At run time nothing guards them: `frozen=True` sets every field by a function call, and that came to a tenth of a
    failed call. It is for the records that every such call makes.
    """
    return dataclass(kw_only=True, unsafe_hash=True)(cls)  # with slots it could not be pickled by every protocol
