"""Errors of gapfilling (seed 002)."""

from __future__ import annotations

from typing import Any

from failsoft.framework.errors import Infeasible, InvalidArgument, Public, Unsupported, Words


class GapfillInfeasible(Infeasible):
    """No reactions of the universe make the model grow as wanted on the medium.

    Raised when: with every reaction of the universe added, growth stays below the target: because the medium lacks
    something, because some precursors of biomass cannot be made at all, or because the target is above the maximum.
    Caller: add what `missing_nutrients` names to the medium, or lower `target_growth` to `growth_at_most`.
    Operator: nothing to do, unless the universe should hold the missing reactions.
    """

    model_id: Public[str]
    media_id: Public[str]
    target_growth: Public[float]
    growth_at_most: Public[float | None] = None
    max_complexity: Public[int | None] = None
    media_compounds: Public[int | None] = None
    template_reactions_available: Public[int | None] = None
    blocked_precursors: Public[tuple[dict[str, Any], ...] | None] = None
    missing_nutrients: Public[tuple[dict[str, Any], ...] | None] = None
    code = "GAPFILL_INFEASIBLE"
    message = "No reactions of the universe let '{model_id}' grow at {target_growth} on '{media_id}'."
    hints = (
        "Verify that the medium has a source of carbon (glucose, acetate, ...), nitrogen, phosphorus and sulfur",
        "Check the compounds of the medium with get_compound_name",
        "Try a richer medium (LB, M9 with amino acids) instead of a minimal one",
        "Verify with export_model_json that the model has a biomass reaction",
    )


class InvalidTargetGrowth(InvalidArgument):
    """The target growth is not a possible growth rate.

    Raised when: `target_growth` is zero, negative, or above what any known organism reaches.
    Caller: give a rate per hour above 0; 0.01 asks for any growth at all.
    """

    target_growth: Public[float | None] = None
    limit: Public[float | None] = None
    code = "INVALID_TARGET_GROWTH"
    message = "A target growth of {target_growth} per hour is not possible: it has to be above 0 and at most {limit}."
    hints = ("Use 0.01 to ask for any growth at all; 0.1 to 2 per hour are typical",)


class TemplateNotLoaded(Unsupported):
    """The data that a template or a universe of reactions is made of are not on this server.

    Raised when: a template is known by name, and its tables, or the program that searches them, are not installed.
    Caller: use one of `loaded_templates`; without any, use `load_model`, or report it to the user.
    Operator: install the data that the log names, or set FAILSOFT_FLUX_TEMPLATES to a folder, wheel or sdist.
    """

    requested_template: Public[str]
    missing: Public[tuple[Words, ...]] = ()
    loaded_templates: Public[tuple[str, ...]] = ()
    retry = "after_fix"
    code = "TEMPLATE_NOT_LOADED"
    message = "The template '{requested_template}' is not loaded; this server lacks {missing}."
    hints = (
        "Use a template that is loaded: {loaded_templates}",
        "Use load_model for a model that needs no template",
        "The person who runs this server has to install what is missing",
    )


class MaxComplexityExceeded(Infeasible):
    """Growth needs more new reactions than the caller allows.

    Raised when: gapfilling finds a solution, and the fewest reactions that were found are above `max_complexity`.
    Caller: call again with the `max_complexity` that `reactions_needed` says, or with a richer medium.
    """

    reactions_needed: Public[int]
    max_complexity: Public[int]
    reactions: Public[tuple[str, ...] | None] = None
    code = "MAX_COMPLEXITY_EXCEEDED"
    message = "Growth needs {reactions_needed} new reactions, and max_complexity allows {max_complexity}."
    hints = (
        "Call gapfill_model again with max_complexity {reactions_needed}",
        "Try a richer medium: it needs fewer reactions",
    )
