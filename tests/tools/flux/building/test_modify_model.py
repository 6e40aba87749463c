"""`modify_model` adds reactions and metabolites as COBRApy does, and names every fault of what is to be added."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX

TOLERANCE = 1e-6
PHB = {"id": "phb_c", "formula": "C4H6O2", "charge": 0, "name": "hydroxybutyrate unit"}
PHB_MADE = {
    "id": "PHBS",
    "equation": "2 accoa_c + nadph_c + h_c --> phb_c + 2 coa_c + nadp_c",
    "gene_rule": "phaA and phaB",
}
PHB_TAKEN = {"id": "DM_phb_c", "equation": "phb_c -->", "bounds": [0, None]}


def with_phb() -> Any:
    """Return the textbook model that makes a polymer, as COBRApy is told to."""
    from cobra import Metabolite, Reaction  # noqa: PLC0415 - COBRApy takes more than a second

    model = textbook()
    model.add_metabolites([Metabolite("phb_c", formula="C4H6O2", charge=0, compartment="c")])
    model.add_reactions([Reaction("PHBS"), Reaction("DM_phb_c")])
    for given in (PHB_MADE, PHB_TAKEN):
        model.reactions.get_by_id(given["id"]).build_reaction_from_string(given["equation"])
    model.reactions.PHBS.gene_reaction_rule = PHB_MADE["gene_rule"]
    return model


def warnings_of(answer: dict[str, Any]) -> str:
    return " ".join(answer.get("metadata", {}).get("warnings", ()))


def test_a_product_by_equation_is_made_as_in_cobra(lab: Lab, tool: Flux) -> None:
    given = {"add_metabolites": [PHB], "add_reactions": [PHB_MADE, PHB_TAKEN], "objective": "DM_phb_c"}
    answer = lab.call(tool, "modify_model", {"model_id": lab.loaded(tool), **given})
    assert (answer["num_reactions"], answer["num_metabolites"], answer["num_genes"]) == (97, 73, 139)
    assert "phaA, phaB" in warnings_of(answer)
    assert "balanced" not in warnings_of(answer)
    model = with_phb()
    model.objective = "DM_phb_c"
    best = lab.call(tool, "run_fba", {"model_id": answer["model_id"]})
    assert best["objective_value"] == pytest.approx(model.slim_optimize(), abs=TOLERANCE)
    lost = lab.call(tool, "delete_genes", {"model_id": answer["model_id"], "genes": ["phaB"]})
    assert lost["results"][0]["growth"] == 0


def test_reactions_by_id_are_those_of_a_published_model(lab: Lab, tool: Flux) -> None:
    """Of iJO1366: fructose-6-phosphate aldolase and dihydroxyacetone phosphotransferase."""
    from cobra import Metabolite, Reaction  # noqa: PLC0415 - as above

    params = {"add_reactions": [{"id": "F6PA"}, {"id": "DHAPT"}], "bounds": {"PFK": [0, 0]}}
    model_id = lab.modified(tool, lab.loaded(tool), **params)
    model = textbook()
    model.add_metabolites([Metabolite("dha_c", compartment="c")])
    model.add_reactions([Reaction("F6PA"), Reaction("DHAPT")])
    model.reactions.F6PA.build_reaction_from_string("f6p_c <=> dha_c + g3p_c")
    model.reactions.DHAPT.build_reaction_from_string("dha_c + pep_c --> dhap_c + pyr_c")
    model.reactions.PFK.bounds = (0, 0)
    exported = lab.call(tool, "export_model_json", {"model_id": model_id})["model"]
    added = {item["id"]: item["metabolites"] for item in exported["reactions"] if item["id"] in {"F6PA", "DHAPT"}}
    for name, metabolites in added.items():
        assert metabolites == {item.id: number for item, number in model.reactions.get_by_id(name).metabolites.items()}
    grown = lab.call(tool, "run_fba", {"model_id": model_id})["growth_rate"]
    assert grown == pytest.approx(model.slim_optimize(), abs=TOLERANCE)


def test_a_modelseed_id_becomes_the_reaction_in_metabolites_of_the_model(lab: Lab, tool: Flux) -> None:
    """rxn00148 is pyruvate kinase."""
    params = {"remove_reactions": ["PYK"], "add_reactions": [{"id": "rxn00148"}]}
    answer = lab.call(tool, "modify_model", {"model_id": lab.loaded(tool), **params})
    assert (answer["num_reactions"], answer["num_metabolites"]) == (95, 72), "no metabolite is new"
    exported = lab.call(tool, "export_model_json", {"model_id": answer["model_id"]})["model"]
    (added,) = (item for item in exported["reactions"] if item["id"] == "rxn00148")
    assert set(added["metabolites"]) == {item.id for item in textbook().reactions.PYK.metabolites}


def test_a_removed_reaction_may_be_added_in_another_form(lab: Lab, tool: Flux) -> None:
    reversed_one = {"id": "PYK", "equation": "adp_c + h_c + pep_c <=> atp_c + pyr_c"}
    params = {"remove_reactions": ["PYK"], "add_reactions": [reversed_one], "bounds": {"PYK": [-5, 5]}}
    model_id = lab.modified(tool, lab.loaded(tool), **params)
    model = textbook()
    model.reactions.PYK.bounds = (-5, 5)
    grown = lab.call(tool, "run_fba", {"model_id": model_id})["growth_rate"]
    assert grown == pytest.approx(model.slim_optimize(), abs=TOLERANCE)


def test_a_metabolite_alone_is_added_and_later_used(lab: Lab, tool: Flux) -> None:
    with_it = lab.modified(tool, lab.loaded(tool), add_metabolites=[PHB])
    model_id = lab.modified(tool, with_it, add_reactions=[PHB_MADE, PHB_TAKEN], objective="DM_phb_c")
    assert lab.call(tool, "run_fba", {"model_id": model_id})["objective_value"] > 1


def test_what_is_not_balanced_is_a_warning(lab: Lab, tool: Flux) -> None:
    wrong = {"id": "LEAK", "equation": "glc__D_e --> 2 pyr_c"}
    answer = lab.call(tool, "modify_model", {"model_id": lab.loaded(tool), "add_reactions": [wrong]})
    assert answer["success"]
    assert "LEAK is not balanced: -6 H, -2 charge from left to right." in warnings_of(answer)


def test_a_knock_out_blocks_whatever_the_bounds_of_the_same_call(lab: Lab, tool: Flux) -> None:
    model_id = lab.modified(tool, lab.loaded(tool), knock_out_genes=["b1779"], bounds={"GAPD": [-9, 9]})
    refused = lab.call(tool, "run_fba", {"model_id": model_id})
    removed = lab.call(tool, "run_fba", {"model_id": lab.modified(tool, lab.loaded(tool), remove_reactions=["GAPD"])})
    assert refused.get("growth_rate", 0.0) == removed.get("growth_rate", 0.0)


def test_all_faults_are_named_at_once(lab: Lab, tool: Flux) -> None:
    good = "atp_c --> adp_c"
    params = {
        "model_id": lab.loaded(tool),
        "remove_reactions": ["PGI"],
        "bounds": {"PGI": [0, 1], "W": [0, 1]},
        "objective": "NEW",
        "knock_out_genes": ["g1"],
        "add_metabolites": [{"id": "atp_c"}, {"id": "bare"}, {"id": "x_c"}, {"id": "x_c"}],
        "add_reactions": [
            {"id": "PGK", "equation": good},
            {"id": "R1", "equation": "atp_c + 2 adp_cc --> x_c"},
            {"id": "R2", "equation": "atp_c"},
            {"id": "R3", "equation": "atp_c --> adp_c --> pi_c"},
            {"id": "R4", "equation": "atp_c --> atp_c"},
            {"id": "NOWHERE"},
            {"id": "NEW", "equation": good, "gene_rule": "g1 and"},
            {"id": "NEW", "equation": good, "gene_rule": "talB"},
        ],
    }
    refused = lab.call(tool, "modify_model", params)
    assert refused["error_code"] == "INVALID_PARAM"
    paths = {item["path"] for item in refused["violations"]}
    assert paths == {
        *("bounds.PGI", "bounds.W", "knock_out_genes.0"),
        *("add_metabolites.0", "add_metabolites.1.compartment", "add_metabolites.3"),
        *("add_reactions.0.id", "add_reactions.1.equation", "add_reactions.*.equation"),
        *("add_reactions.4.equation", "add_reactions.5.id", "add_reactions.6.gene_rule", "add_reactions.7.id"),
        "add_reactions.7.gene_rule",
    }
    by_path = {item["path"]: item for item in refused["violations"]}
    assert by_path["add_reactions.*.equation"]["at"] == "2-3"
    assert "adp_c" in by_path["add_reactions.1.equation"]["allowed"]
    assert by_path["add_reactions.7.gene_rule"]["allowed"] == ["b0008"]


def test_bounds_of_what_is_added_have_an_order(lab: Lab, tool: Flux) -> None:
    wrong = {"id": "B", "equation": "atp_c --> adp_c", "bounds": [2, 1]}
    params = {"model_id": lab.loaded(tool), "add_reactions": [wrong], "bounds": {"PGK": [3, 2]}}
    refused = lab.call(tool, "modify_model", params)
    assert refused["error_code"] == "BOUNDS_OUT_OF_ORDER"
    assert [item["path"] for item in refused["violations"]] == ["bounds.PGK", "add_reactions.0.bounds"]


UNREADABLE = {
    "list": {"gene_rule": "[g1, g2]"},
    "comparison": {"gene_rule": "g1 < g2"},
    "call": {"gene_rule": "g1 and f(g2)"},
    "sum": {"gene_rule": "g1 + g2"},
    "comment": {"gene_rule": "g1 # or g2"},
    "nested": {"gene_rule": "(g and (h or " * 95 + "i" + "))" * 95},
    "huge": {"equation": "1e308 atp_c --> adp_c"},
    "tiny": {"equation": "1e-320 atp_c --> adp_c"},
    "reverse": {"id": "PFK_reverse_d24a6"},
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_cobra_cannot_hold_or_no_solver_solves_is_refused(lab: Lab, tool: Flux, kind: str) -> None:
    added = {"id": "NEW", "equation": "atp_c --> adp_c", **UNREADABLE[kind]}
    refused = lab.call(tool, "modify_model", {"model_id": lab.loaded(tool), "add_reactions": [added]})
    assert (refused["error_code"], refused["effect"]) == ("INVALID_PARAM", "none")
    assert refused["violations"][0]["path"] == f"add_reactions.0.{next(iter(UNREADABLE[kind]))}"


def test_an_objective_that_is_replaced_leaves_a_model_that_can_be_asked(lab: Lab, tool: Flux) -> None:
    name = "Biomass_Ecoli_core"
    added = [{"id": name, "equation": "atp_c + h2o_c --> adp_c + h_c + pi_c"}]
    given = {"model_id": lab.loaded(tool), "remove_reactions": [name], "add_reactions": added}
    model_id = lab.modified(tool, **given)
    assert lab.call(tool, "check_model", {"model_id": model_id})["success"]
    assert lab.call(tool, "run_fba", {"model_id": model_id, "objective": name})["objective_value"] > 0
