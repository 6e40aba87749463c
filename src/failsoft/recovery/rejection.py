"""Turning a call away before its handler runs: what it has in common, whoever does it."""

from __future__ import annotations

import math

from failsoft.framework.context import CallContext
from failsoft.framework.errors import Effect

__all__ = ["effect_so_far", "shown_wait_s"]


def effect_so_far(call: CallContext) -> Effect:
    """Return what the runs before may have left behind: a run that is turned away adds nothing to it."""
    if call.attempt == 0 or call.read_only:
        return "none"
    return call.worst_effect(call.error)


def shown_wait_s(wait_s: float) -> float:
    """Return a wait in whole milliseconds, never less than it is: who comes a moment early is turned away again."""
    return math.ceil(max(0.0, wait_s) * 1_000) / 1_000
