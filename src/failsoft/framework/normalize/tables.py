"""The normalization tables by root package, and the lookup along an exception's MRO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from failsoft.framework.errors import ToolError
from failsoft.framework.normalize import os_errors, python, standard_library
from failsoft.framework.normalize.libraries import (
    clouds,
    databases,
    drivers,
    http_clients,
    model_providers,
    rpc,
    ssh,
    validation,
    web,
)
from failsoft.framework.normalize.rules import Inside, Rule, hint_of, read

__all__ = ["TABLES", "by_tables"]

_FILES = (
    *(python, standard_library, os_errors, http_clients, databases, drivers, clouds, rpc, model_providers, ssh, web),
    validation,
)

TABLES: dict[str, dict[str, Rule]] = {}
for _file in _FILES:
    for _root, _table in _file.TABLES.items():
        TABLES.setdefault(_root, {}).update(_table)
"""Root package of a class's `__module__` -> the rules for its classes."""


Judge: TypeAlias = Callable[[BaseException], "ToolError | None"]


def by_tables(exc: Any, judge: Judge) -> ToolError | None:
    """Return the error by the first class of the MRO whose rule knows the exception, or None.

    Args:
        exc: The exception.
        judge: Judges what is inside an exception that wraps another one.
    """
    for cls in type(exc).__mro__:
        module, name = read(cls, "__module__"), read(cls, "__qualname__")
        if not isinstance(module, str):
            continue
        rule = TABLES.get(module.partition(".")[0], {}).get(name)
        outcome = rule(exc) if rule is not None else None
        if isinstance(outcome, Inside):
            outcome = _opened(exc, outcome, judge)
        if outcome is not None:
            return outcome
    return None


def _opened(exc: Any, inside: Inside, judge: Judge) -> ToolError | None:
    error = judge(inside.exc)
    if error is None and inside.otherwise is not None:
        error = inside.otherwise(exc)
    if error is not None and not error.operator_hint:
        error.operator_hint = hint_of(inside.exc)
    return error
