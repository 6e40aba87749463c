"""Gaps filled by the toolset, judged by COBRApy on the exported model; and whichever nutrient is missing."""

from __future__ import annotations

import random
from typing import Any

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import ALL_CASES, IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import shipped
from tests.tools.flux.work.building.test_gapfill import assert_that_a_missing_nutrient_is_named_and_then_it_grows

pytestmark = IN_FLUX

SALTS = "o2 nh4 pi so4 h2o h k na1 cl mg2 ca2 fe2 fe3 mn2 zn2 cu2 cobalt2 mobd ni2 sel slnt tungs cbl1"
BOUNDS = {"glc__D": (-10.0, 1000.0), **dict.fromkeys(SALTS.split(), (-1000.0, 1000.0))}
ENERGY = {
    "ATP": "atp_c + h2o_c -> adp_c + pi_c + h_c",
    "NADH": "nadh_c -> nad_c + h_c",
    "NADPH": "nadph_c -> nadp_c + h_c",
    "ubiquinol": "q8h2_c -> q8_c + 2 h_c",
    "acetyl-CoA": "accoa_c + h2o_c -> ac_c + coa_c + h_c",
    "protons": "h_e -> h_c",
}
"""Reactions that use up an energy carrier: they run on nothing only in a model with an impossible cycle."""


@pytest.mark.parametrize("lacking", ["cpd00009", "cpd00027"], ids=["phosphorus", "carbon"])
def test_a_nutrient_that_is_missing_is_named_and_then_it_grows(lab: Lab, tool: Flux, gappy: str, lacking: str) -> None:
    assert_that_a_missing_nutrient_is_named_and_then_it_grows(lab, tool, gappy, lacking)


def feed(model: Any) -> None:
    for reaction in model.exchanges:
        (metabolite,) = reaction.metabolites
        reaction.bounds = BOUNDS.get(metabolite.id.removesuffix("_e"), (0.0, max(0.0, reaction.upper_bound)))


def grown(model: Any, *without: str) -> float:
    with model:
        for name in without:
            model.reactions.get_by_id(name).bounds = (0.0, 0.0)
        return float(model.slim_optimize(error_value=0.0))


def uptakes(model: Any) -> set[str]:
    """Return the boundary reactions through which something comes in that the medium does not have."""
    found = set()
    for reaction in model.boundary:
        ((metabolite, number),) = reaction.metabolites.items()
        inward = reaction.upper_bound if number > 0 else -reaction.lower_bound
        if inward > 0 and metabolite.id.removesuffix("_e") not in BOUNDS:
            found.add(reaction.id)
    return found


def carriers_from_nothing(model: Any) -> set[str]:
    from cobra import Reaction  # noqa: PLC0415 - it takes more than a second, for these tests alone

    found = set()
    with model:
        for reaction in model.reactions:
            low, high = reaction.bounds
            reaction.bounds = (0.0, 0.0) if reaction.boundary else (min(low, 0.0), max(high, 0.0))
        for carrier, equation in ENERGY.items():
            names = [word for word in equation.split() if word[0].isalpha()]
            if all(name in model.metabolites for name in names):
                with model:
                    spent = Reaction("spent", lower_bound=0.0, upper_bound=1000.0)
                    model.add_reactions([spent])
                    spent.build_reaction_from_string(equation)
                    model.objective = spent
                    if model.slim_optimize(error_value=0.0) > 1e-5:
                        found.add(carrier)
    return found


@pytest.mark.parametrize(
    ("name", "most", "sets"), [("textbook", 12, 8), ("iJO1366", 15, 1)] if ALL_CASES else [("textbook", 12, 3)]
)
def test_a_model_with_its_gaps_filled_grows_as_the_answer_says_and_cheats_nowhere(
    lab: Lab, rooted: Flux, name: str, most: int, sets: int
) -> None:
    from cobra.io import read_sbml_model  # noqa: PLC0415 - it takes more than a second, for these tests alone

    chance = random.Random(29)  # noqa: S311 - the same sets every time
    wild = shipped(name)
    feed(wild)
    target = wild.slim_optimize() / 2
    own = {next(iter(reaction.metabolites)).id.removesuffix("_e") for reaction in wild.exchanges}
    given = {item: list(bounds) for item, bounds in BOUNDS.items() if item in own}
    media_id = lab.fed(rooted, list(given), **given)
    inner = [item.id for item in wild.reactions if not item.boundary and item.lower_bound <= 0 <= item.upper_bound]
    inner = sorted(set(inner) - {item.id for item in wild.reactions if item.objective_coefficient})
    model_id = lab.loaded(rooted, name)
    while sets:
        removed = chance.sample(inner, chance.randint(1, most))
        if grown(wild, *removed) >= target:
            continue
        sets -= 1
        gappy = lab.modified(rooted, model_id, remove_reactions=removed)
        params = {"model_id": gappy, "media_id": media_id, "target_growth": target, "max_complexity": 100}
        answer = lab.call(rooted, "gapfill_model", params)
        exported = {"model_id": answer["model_id"], "format": "sbml", "path": f"{answer['model_id']}.xml"}
        assert lab.call(rooted, "export_model", exported)["success"]
        filled = read_sbml_model(str(rooted.roots[0] / exported["path"]))
        before = wild.copy()
        for item in removed:
            before.reactions.get_by_id(item).bounds = (0.0, 0.0)
        feed(filled)
        assert answer["growth_before"] == pytest.approx(grown(before), abs=1e-6)
        assert answer["growth_after"] == pytest.approx(grown(filled), abs=1e-6)
        assert answer["growth_after"] > target - 1e-6
        for item in answer["reactions_added"]:
            assert grown(filled, item["id"]) < target, f"{item['id']} is superfluous"
        assert uptakes(filled) <= uptakes(before)
        assert carriers_from_nothing(filled) <= carriers_from_nothing(before)
