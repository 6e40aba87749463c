"""`record`: a dataclass that type checkers treat as frozen, without the cost at run time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

__all__ = ["record"]

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def record(cls: type[T]) -> type[T]:
    """Return the class as a dataclass with keyword-only fields, which type checkers treat as frozen.

    The fields are not protected at run time: `frozen=True` sets every field with a function call, which took a tenth
    of a failed call. Use it for records that every failed call creates.
    """
    return dataclass(kw_only=True, unsafe_hash=True)(cls)  # with slots, some pickle protocols would not work
