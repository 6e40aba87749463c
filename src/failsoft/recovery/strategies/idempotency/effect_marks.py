"""Detects from a handler's bytecode whether it marks its effects with `Call.effect`."""

from __future__ import annotations

import dis
import functools
import inspect
import types
from typing import Any

from failsoft.framework.call.ports import CalledOperation

__all__ = ["marks_effects"]

_MARK = "effect"


def marks_effects(bound: CalledOperation) -> bool:
    """Return whether the handler, or a method of its toolset that it names, uses `effect` of its call context.

    If this cannot be detected, the handler counts as one that marks nothing: its work is not repeated after a crash.
    """
    if getattr(bound, "context_parameter", None) is None:
        return False
    looked_at: set[str] = set()
    waiting = [inspect.unwrap(bound.function)]
    while waiting:
        code = getattr(waiting.pop(), "__code__", None)
        names, methods = _names(code)
        if _MARK in methods:
            return True
        for name in names - looked_at:
            looked_at.add(name)
            method: Any = inspect.getattr_static(type(bound.tool), name, None)
            if inspect.isfunction(method):
                waiting.append(method)
    return False


@functools.lru_cache  # all foreign tools share one function
def _names(code: types.CodeType | None) -> tuple[set[str], set[str]]:
    """Return the names that code uses, and those that it calls as methods (`error.effect` is not a call)."""
    if code is None:
        return set(), set()
    names = set(code.co_names)
    called = {
        str(step.argval)
        for step in dis.get_instructions(code)
        if step.opname == "LOAD_METHOD" or (step.opname == "LOAD_ATTR" and "NULL" in step.argrepr)
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            more_names, more_called = _names(constant)
            names |= more_names
            called |= more_called
    return names, called
