"""What gapfill_model tells besides its result: the call that makes the next attempt succeed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from failsoft.framework.context import CallContext
from failsoft.framework.errors import NextStep
from failsoft.tools.flux.gapfill_errors import GapfillInfeasible, MaxComplexityExceeded
from failsoft.tools.flux.media import SECRETION_AT_MOST

__all__ = ["guided"]

_COMPLEXITY_AT_MOST = 1_000


def guided(
    error: GapfillInfeasible | MaxComplexityExceeded, call: CallContext, medium: Mapping[str, tuple[float, float]]
) -> GapfillInfeasible | MaxComplexityExceeded:
    """Return the error with its next step: a medium that lacks nothing, a target in reach, or more room."""
    if isinstance(error, MaxComplexityExceeded):
        if error.reactions_needed <= _COMPLEXITY_AT_MOST:
            error.next_step = NextStep(call.operation, {**call.params, "max_complexity": error.reactions_needed})
        return error
    lacking = [str(item["compound_id"]) for item in error.missing_nutrients or () if "compound_id" in item]
    new = [compound for compound in lacking if compound not in medium]
    if new:
        error.next_step = NextStep("build_media", _extended(medium, new))
    elif error.growth_at_most:
        # Rounded down, since at the very maximum the solver's tolerances decide.
        error.next_step = NextStep(call.operation, {**call.params, "target_growth": _below(error.growth_at_most)})
    return error


def _extended(medium: Mapping[str, tuple[float, float]], new: list[str]) -> dict[str, Any]:
    """Return the arguments of build_media for a medium and more compounds: the same bounds for what it has."""
    uptakes = Counter(-low for low, _ in medium.values() if low < 0 and not math.isinf(low))
    usual = uptakes.most_common(1)[0][0] if uptakes else 100.0
    custom = {
        compound: [None if math.isinf(bound) else bound for bound in bounds]
        for compound, bounds in medium.items()
        if tuple(bounds) != (-usual, SECRETION_AT_MOST)
    }
    arguments: dict[str, Any] = {"compounds": [*medium, *new], "default_uptake": usual}
    return {**arguments, "custom_bounds": custom} if custom else arguments


def _below(growth: float) -> float:
    return float(f"{growth * 0.99:.3g}")
