"""Errors of gapfill_model, with the call that makes the next attempt succeed."""

from __future__ import annotations

from failsoft.framework.call import CallContext
from failsoft.framework.errors import NextStep
from failsoft.tools.flux.errors.gapfill import GapfillInfeasible, MaxComplexityExceeded
from failsoft.tools.flux.question import Medium, extended

_COMPLEXITY_AT_MOST = 1_000


def guided(
    error: GapfillInfeasible | MaxComplexityExceeded, call: CallContext, medium: Medium
) -> GapfillInfeasible | MaxComplexityExceeded:
    """Return the error with its next step: a complete medium, a reachable target, or a higher complexity limit."""
    if isinstance(error, MaxComplexityExceeded):
        if error.reactions_needed <= _COMPLEXITY_AT_MOST:
            error.next_step = NextStep(call.operation, {**call.params, "max_complexity": error.reactions_needed})
        return error
    lacking = [str(item["compound_id"]) for item in error.missing_nutrients or () if "compound_id" in item]
    new = [compound for compound in lacking if compound not in medium.compounds]
    if new and medium.others is None:
        error.next_step = NextStep("build_media", extended(medium, new))
    elif error.growth_at_most:
        # Rounded down, since at the very maximum the solver's tolerances decide.
        error.next_step = NextStep(call.operation, {**call.params, "target_growth": _below(error.growth_at_most)})
    return error


def _below(growth: float) -> float:
    return float(f"{growth * 0.99:.3g}")
