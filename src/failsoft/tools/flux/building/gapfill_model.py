"""`gapfill_model`: the operation, and the call that follows one of its errors."""

from __future__ import annotations

import json
from typing import Annotated, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from failsoft.framework.arguments.marks import Fault
from failsoft.framework.call import CallContext
from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.errors import InvalidArgument, NextStep, Public
from failsoft.tools.flux import work
from failsoft.tools.flux.conditions import Medium, bounds_to_json, extended
from failsoft.tools.flux.failures import GapfillInfeasible, MaxComplexityExceeded
from failsoft.tools.flux.parts import FluxParts
from failsoft.tools.flux.signatures import BUILDING_S, MAKES_A_MODEL, MediaId, ModelId, SuggestedCall
from failsoft.tools.flux.store import ListedModel, listed


class InvalidTargetGrowth(InvalidArgument):
    """The target growth is not a possible growth rate.

    Raised when: `target_growth` is zero, negative, or above `limit`, more than any known organism reaches.
    Caller: give a rate per hour above 0; 0.01 asks for any growth at all.
    """

    target_growth: Public[float | None] = None
    limit: Public[float | None] = None
    code = "INVALID_TARGET_GROWTH"
    message = "A target growth of {target_growth} per hour is not possible: it must be above 0 and at most {limit}."
    hints = ("Use 0.01 to ask for any growth at all; 0.1 to 2 per hour are typical",)


class AddedReaction(TypedDict):
    """A reaction that fills a gap."""

    id: str
    name: str
    equation: str
    equation_with_names: NotRequired[str]


class GapfilledModel(ListedModel):
    """A model with its gaps filled, under an id of its own, and its growth on the medium before and after, per hour."""

    media_id: str
    growth_before: float
    growth_after: float
    growth_rate: float
    interpretation: str
    next_steps: list[SuggestedCall]
    num_reactions_added: int
    reactions_added: list[AddedReaction]
    universe: str


_GROWTH_AT_MOST = 10.0
"""Per hour, well above the fastest known growth: doubling in ten minutes is 4."""
TargetGrowth = Annotated[
    float,
    Field(gt=0, le=_GROWTH_AT_MOST, description="Growth to reach, per hour; 0.01 asks for any growth at all"),
    Fault(InvalidTargetGrowth, "range"),
]
_COMPLEXITY_AT_MOST = 1_000
MaxComplexity = Annotated[int, Field(ge=1, le=_COMPLEXITY_AT_MOST, description="Reactions that may be added at most")]


def next_gapfill_step(
    error: GapfillInfeasible | MaxComplexityExceeded, call: CallContext, medium: Medium
) -> GapfillInfeasible | MaxComplexityExceeded:
    """Return the error with its next step: a complete medium, or a higher complexity limit.

    A target that the caller has set is not lowered by a step, since that would be another question: what could be asked
    instead is a suggestion.
    """
    if isinstance(error, MaxComplexityExceeded):
        if error.reactions_needed <= _COMPLEXITY_AT_MOST:
            error.next_step = NextStep(call.operation, {**call.params, "max_complexity": error.reactions_needed})
        return error
    lacking = {str(item["compound_id"]): item for item in error.missing_nutrients or () if "compound_id" in item}
    new = [compound for compound in lacking if compound not in medium.compounds]
    if new and len(lacking) == len(error.missing_nutrients or ()) and medium.others is None:
        error.next_step = NextStep("build_media", extended(medium, new))
    elif error.growth_at_most:
        # Rounded down, since at the very maximum the solver's tolerances decide.
        reachable = float(f"{error.growth_at_most * 0.99:.3g}")
        error.suggestions = [
            *(
                f"Let in more {item['name']}: custom_bounds "
                f"{json.dumps({compound: bounds_to_json(round(low - item['uptake'], 4), high)})}"
                for compound, item in lacking.items()
                if compound in medium.compounds
                for low, high in [medium.compounds[compound]]
            ),
            f"Ask for less growth: target_growth {reachable:g} in place of {error.target_growth:g}",
        ]
        if "target_growth" not in call.params:
            error.next_step = NextStep(call.operation, {**call.params, "target_growth": reachable})
    return error


@operation(**MAKES_A_MODEL, open_world=False, timeout=BUILDING_S, title="Fill gaps")
async def gapfill_model(
    flux: FluxParts,
    call: Call,
    model_id: ModelId,
    media_id: MediaId,
    target_growth: TargetGrowth = 0.01,
    max_complexity: MaxComplexity = 50,
) -> GapfilledModel:
    """Add as few reactions to a model as let it grow on a medium, and return the new model's id."""
    parent = await flux.models.model(call, model_id)
    conditions = await flux.conditions(call, model_id, media_id)
    universe = await flux.runtime.threads.run(lambda: flux.reference_data.universe_of(parent.recipe.base))
    arguments = parent.recipe, conditions, target_growth, max_complexity, universe
    try:
        filled = await flux.compute(call, work.gapfill_model, *arguments)
    except (GapfillInfeasible, MaxComplexityExceeded) as error:
        raise next_gapfill_step(error, call, conditions.medium or Medium({})) from None
    facts = {**parent.facts, "parent": model_id, **filled["facts"]}
    recipe = parent.recipe if filled["step"] is None else parent.recipe.then(filled["step"])
    record = await flux.models.add_model(call, recipe, facts, name=parent.name, suffix=".gf")
    again = {"model_id": record.model_id, "media_id": media_id}
    again |= {} if filled["objective"] is None else {"objective": filled["objective"]}
    return cast(
        "GapfilledModel",
        {
            **listed(record),
            "media_id": media_id,
            "growth_before": filled["growth_before"],
            "growth_after": filled["growth_after"],
            "growth_rate": filled["growth_after"],
            "num_reactions_added": len(filled["reactions_added"]),
            "reactions_added": filled["reactions_added"],
            "universe": filled["universe"],
            "interpretation": filled["interpretation"],
            "next_steps": [{"tool": "run_fba", "arguments": again, "why": "the fluxes of the new model"}],
        },
    )
