"""Copies errors for `copy`, `deepcopy` and `pickle`, even if one of their facts cannot be copied."""

from __future__ import annotations

import copy
import pickle
from typing import Any, TypeVar

from failsoft.framework.text import bounded

__all__ = ["deep", "picklable", "rebuild"]

E_ = TypeVar("E_", bound=BaseException)


def rebuild(cls: type[E_], state: dict[str, Any], cause: BaseException | None) -> E_:
    """Return an error of a class with this state, without its constructor."""
    error = cls.__new__(cls)
    error.args = (state.get("message", ""),)
    error.__dict__.update(state)
    error.__cause__ = cause
    return error


def deep(value: Any, memo: dict[int, Any]) -> Any:
    """Return a deep copy of a value, or the value itself if it cannot be copied."""
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # noqa: BLE001 - as above
        return value


def picklable(value: Any, *, otherwise: Any = ...) -> Any:
    """Return a value if it can be pickled, otherwise a replacement, by default its text."""
    try:
        pickle.loads(pickle.dumps(value))  # noqa: S301 - our own bytes, made one call earlier
    except Exception:  # noqa: BLE001 - an error must cross a process even if one of its facts cannot
        return bounded(repr(value)) if otherwise is ... else otherwise
    return value
