"""`check_model` finds what COBRApy's mass balance and the definitions of memote find, and energy from nothing."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX

COUNTED = ("mass_unbalanced", "charge_unbalanced", "without_formula", "only_consumed", "only_produced", "disconnected")


def reaction(model: Any, name: str, equation: str) -> None:
    """Add a reaction by its equation."""
    from cobra import Reaction  # noqa: PLC0415 - it takes more than a second, for these tests alone

    made = Reaction(name)
    model.add_reactions([made])
    made.build_reaction_from_string(equation, verbose=False)
    for part in made.metabolites:
        part.compartment = "c"


def test_a_sound_model_has_no_faults(lab: Lab, tool: Flux) -> None:
    answer = lab.call(tool, "check_model", {"model_id": lab.loaded(tool)})
    assert {name: answer[name]["count"] for name in COUNTED} == dict.fromkeys(COUNTED, 0)
    assert answer["energy_from_nothing"] == []
    assert answer["num_reactions"] == 95 - 20 - 1  # without exchanges and biomass
    assert "proton gradient" in answer["energy_not_checked"]  # there is no periplasm


def test_what_is_unbalanced_is_named_with_the_excess_that_cobra_finds(lab: Lab, rooted: Flux) -> None:
    from cobra.io import save_json_model  # noqa: PLC0415 - as above

    model = textbook()
    model.metabolites.get_by_id("fum_c").formula = "C4H3O4"
    model.metabolites.get_by_id("g6p_c").formula = ""
    model.metabolites.get_by_id("f6p_c").charge = None
    model.metabolites.get_by_id("akg_c").charge = -1
    (root,) = rooted.roots
    save_json_model(model, str(root / "odd.json"))  # in SBML COBRApy reads a charge that is missing as 0
    model_id = lab.call(rooted, "load_model", {"path": "odd.json"})["model_id"]
    answer = lab.call(rooted, "check_model", {"model_id": model_id})
    inner = [item for item in model.reactions if not item.boundary and "Biomass" not in item.id]
    mass, charge = {}, {}
    for item in inner:
        balance = item.check_mass_balance()
        total = balance.pop("charge", 0)
        if balance and all(part.formula for part in item.metabolites):
            mass[item.id] = balance
        if total and all(part.charge is not None for part in item.metabolites):
            charge[item.id] = {"charge": total}
    assert {item["reaction_id"]: item["excess"] for item in answer["mass_unbalanced"]["reactions"]} == mass
    assert {item["reaction_id"]: item["excess"] for item in answer["charge_unbalanced"]["reactions"]} == charge
    assert (answer["mass_unbalanced"]["count"], answer["charge_unbalanced"]["count"]) == (len(mass), len(charge))
    assert answer["without_formula"] == {"count": 1, "ids": ["g6p_c"]}
    assert answer["without_charge"] == {"count": 1, "ids": ["f6p_c"]}
    unchecked = [item.id for item in inner if "g6p_c" in {part.id for part in item.metabolites}]
    assert answer["not_checked_for_mass"] == {"count": len(unchecked), "ids": unchecked}


def test_dead_ends_and_unused_genes_follow_the_bounds(lab: Lab, rooted: Flux) -> None:
    from cobra import Gene, Metabolite  # noqa: PLC0415 - as above

    model = textbook()
    model.add_metabolites([Metabolite("lonely_c", compartment="c")])
    reaction(model, "ends", "pyr_c --> end_c")
    reaction(model, "begins", "end2_c --> pyr_c")
    reaction(model, "backward", "end3_c <-- pyr_c")  # produces what memote would call consumed
    reaction(model, "blocked", "pyr_c --> never_c")
    model.reactions.get_by_id("blocked").bounds = (0, 0)
    model.genes += [Gene("unused")]
    answer = lab.call(rooted, "check_model", {"model_id": lab.read(rooted, model)})
    found = {name: answer[name]["ids"] for name in ("only_produced", "only_consumed", "disconnected", "unused_genes")}
    assert found == {
        "only_produced": ["end_c", "end3_c"],
        "only_consumed": ["end2_c"],
        "disconnected": ["lonely_c", "never_c"],
        "unused_genes": ["unused"],
    }


@pytest.mark.parametrize(("form", "ids"), [("_c", {}), ("[c]", {}), ("_c0", {"atp": "cpd00002", "adp": "cpd00008"})])
def test_energy_from_nothing_is_found_with_the_loop_that_makes_it(
    lab: Lab, rooted: Flux, form: str, ids: dict[str, str]
) -> None:
    model = textbook()
    reaction(model, "free", "adp_c + pi_c + h_c --> atp_c + h2o_c")
    for metabolite in model.metabolites:
        if metabolite.compartment == "c":
            name = metabolite.id.removesuffix("_c")
            metabolite.id = f"{ids.get(name, name)}{form}"
    model_id = lab.read(rooted, model)
    answer = lab.call(rooted, "check_model", {"model_id": model_id})
    (energy,) = [item for item in answer["energy_from_nothing"] if item["carrier"] == "ATP"]
    assert energy["reactions"] == {"free": 1.0}
    assert "ATP" in answer["interpretation"]
    mended = lab.modified(rooted, model_id, bounds={"free": [0, 0]})
    assert lab.call(rooted, "check_model", {"model_id": mended})["energy_from_nothing"] == []


def test_a_model_that_was_deleted_is_not_checked(lab: Lab, tool: Flux) -> None:
    model_id = lab.loaded(tool)
    lab.call(tool, "delete_model", {"model_id": model_id})
    assert lab.call(tool, "check_model", {"model_id": model_id})["error_code"] == "MODEL_NOT_FOUND"
