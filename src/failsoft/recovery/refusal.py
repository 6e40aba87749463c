"""Shared parts of errors that reject a call before its handler runs."""

from __future__ import annotations

import math

from failsoft.framework.call.call import Call
from failsoft.framework.errors import Effect

__all__ = ["effect_so_far", "shown_wait_s"]


def effect_so_far(call: Call) -> Effect:
    """Return the effect of the runs so far: a rejected run adds nothing to it."""
    if call.attempt == 0 or call.read_only:
        return "none"
    return call.worst_effect(call.error)


def shown_wait_s(wait_s: float) -> float:
    """Return a wait rounded up to milliseconds: a caller that comes back early would be rejected again."""
    return math.ceil(max(0.0, wait_s) * 1_000) / 1_000
