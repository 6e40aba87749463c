"""Every next step of a failed `run_fba` is taken, and the model grows afterwards: whatever a modeller changes."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX, sampled
from tests.tools.flux.lab import AEROBIC, Lab

pytestmark = IN_FLUX

CLOSED = [0, 1000]
OWN, AEROBIC_MINIMAL, ANAEROBIC = None, "minimal_aerobic", "minimal_anaerobic"
LEAD_ON_AT_MOST = 5
GENES = ("b1136", "b1779", "b2779", "b2926", "b2416", "b0720", "b2415")
"""The essential genes of the small model, by cobra's `single_gene_deletion`."""
NEEDED = ("PGM", "CS", "PGK", "ENO", "PIt2r", "NH4t", "GLCpts", "ACONTb", "GLNS", "ICDHyr", "RPI", "GAPD", "ACONTa")
"""Its essential reactions, by `single_reaction_deletion`."""


def without(*left_out: str) -> list[str]:
    return [item for item in AEROBIC if item not in left_out]


def case(medium: Any, leads_to: str | None, *changes: dict[str, Any], **asked: Any) -> tuple[Any, ...]:
    return medium, leads_to, changes, asked


CASES = {
    **{f"the gene {gene}": case(OWN, "modify_model", {"knock_out_genes": [gene]}) for gene in GENES},
    **{f"the reaction {name}": case(AEROBIC_MINIMAL, "modify_model", {"remove_reactions": [name]}) for name in NEEDED},
    "a gene by name": case(OWN, "modify_model", {"knock_out_genes": ["eno"]}),
    "a gene without oxygen": case(ANAEROBIC, "modify_model", {"knock_out_genes": ["b1779"]}),
    "two genes for one reaction": case(AEROBIC_MINIMAL, "modify_model", {"knock_out_genes": ["b0118", "b1276"]}),
    "a gene in one of three steps": case(
        OWN, "modify_model", {"knock_out_genes": ["b2415"]}, {"bounds": {"PFL": [0, 0]}}, {"knock_out_genes": ["b1241"]}
    ),
    "a reaction that is needed without oxygen": case(ANAEROBIC, "modify_model", {"remove_reactions": ["TPI"]}),
    "two reactions without oxygen": case(ANAEROBIC, "modify_model", {"remove_reactions": ["PFL", "ENO"]}),
    "two reactions that are both needed": case(AEROBIC_MINIMAL, "modify_model", {"remove_reactions": ["CS", "ENO"]}),
    "an exchange": case(OWN, "modify_model", {"remove_reactions": ["EX_nh4_e"]}),
    "a reaction that is blocked": case(AEROBIC_MINIMAL, "modify_model", {"bounds": {"ENO": [0, 0]}}),
    "an uptake that is closed": case(OWN, "modify_model", {"bounds": {"EX_glc__D_e": CLOSED}}),
    "an uptake that is closed, and oxygen": case(
        OWN, "modify_model", {"bounds": {"EX_o2_e": CLOSED}}, {"bounds": {"EX_nh4_e": CLOSED, "EX_pi_e": CLOSED}}
    ),
    "a reaction of fermentation, with oxygen closed before": case(
        OWN, "modify_model", {"bounds": {"EX_o2_e": CLOSED}}, {"bounds": {"TPI": [0, 0]}}
    ),
    "too much upkeep": case(OWN, "modify_model", {"bounds": {"ATPM": [500, 1000]}}),
    "too much of a product": case(OWN, "modify_model", {"bounds": {"EX_etoh_e": [30, 1000]}}),
    "carbon": case(without("cpd00027"), "build_media"),
    "nitrogen": case(without("cpd00013"), "build_media"),
    "phosphorus": case(without("cpd00009"), "build_media"),
    "all but water": case(["cpd00001"], "build_media"),
    "nitrogen and a reaction": case(without("cpd00013"), "build_media", {"bounds": {"ENO": [0, 0]}}),
    "carbon and a gene": case(without("cpd00027"), "build_media", {"knock_out_genes": ["b2779"]}),
    "glucose, which is excluded": case({"cpd00027": CLOSED}, "build_media"),
    "another objective: fructose": case(AEROBIC_MINIMAL, "build_media", objective="FRUpts2"),
    "another objective: its own bounds": case(OWN, "modify_model", {"bounds": {"PGI": [0, 0]}}, objective="PGI"),
    "another objective: a step before it": case(
        AEROBIC_MINIMAL, "modify_model", {"knock_out_genes": ["b0720"]}, objective="AKGDH"
    ),
}
"""What is missing or changed: the medium, the tool of the first next step, changes of the small model, and more."""


def followed(lab: Lab, tool: Flux, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the last answer of `run_fba`, and the failures before it: their next steps are taken."""
    failures: list[dict[str, Any]] = []
    answer = lab.call(tool, "run_fba", arguments)
    while not answer["success"] and len(failures) < LEAD_ON_AT_MOST:
        failures.append(answer)
        step = answer.get("next_step")
        if step is None:
            break
        found = lab.call(tool, step["tool"], step["arguments"])
        if not found["success"]:
            answer = found
            continue
        arguments = {**arguments, **{name: found[name] for name in ("model_id", "media_id") if name in found}}
        answer = lab.call(tool, "run_fba", arguments)
    return answer, failures


def assert_that_it_leads_to_growth(lab: Lab, tool: Flux, name: str, *given: Any) -> None:
    """Ask for an optimum that is 0, and take the next steps until it is not."""
    medium, leads_to, changes, asked = given
    model_id = lab.loaded(tool, name)
    for change in changes:
        model_id = lab.modified(tool, model_id, **change)
    arguments = {"model_id": model_id, **asked}
    if isinstance(medium, dict):
        arguments["media_id"] = lab.fed(tool, **medium)
    elif medium is not None:
        arguments["media_id"] = medium if isinstance(medium, str) else lab.fed(tool, medium)
    answer, failures = followed(lab, tool, arguments)
    assert failures, "the conditions allow a flux"
    assert failures[0].get("next_step", {}).get("tool") == leads_to, failures[0]
    assert answer["success"] is (leads_to is not None), answer
    if answer["success"]:
        assert answer["objective_value"] > 1e-6


WHOLE = {
    "a gene": case(AEROBIC_MINIMAL, "modify_model", {"knock_out_genes": ["b0073"]}),
    "a gene without oxygen": case(ANAEROBIC, "modify_model", {"knock_out_genes": ["b0073"]}),
    "a reaction": case(AEROBIC_MINIMAL, "modify_model", {"remove_reactions": ["IPMD"]}),
    "salts": case(AEROBIC, "build_media"),
    "all but water": case(["cpd00001"], "build_media"),
    "an amino acid's gene, without nitrogen": case(without("cpd00013"), "build_media", {"knock_out_genes": ["b0073"]}),
    "oxygen that is closed, and a gene of two": case(
        OWN, "modify_model", {"bounds": {"EX_o2_e": CLOSED}}, {"knock_out_genes": ["b2779", "b0073"]}
    ),
}
"""The same of a model of a whole genome."""


@pytest.mark.parametrize("name", CASES)
def test_every_next_step_leads_to_growth(lab: Lab, tool: Flux, name: str) -> None:
    assert_that_it_leads_to_growth(lab, tool, "textbook", *CASES[name])


@pytest.mark.parametrize("name", sampled(WHOLE, 2))
def test_every_next_step_leads_to_growth_of_a_whole_genome(lab: Lab, tool: Flux, name: str) -> None:
    assert_that_it_leads_to_growth(lab, tool, "iJO1366", *WHOLE[name])


@pytest.mark.parametrize("medium", [ANAEROBIC, without("cpd00013"), ["cpd00036", *without("cpd00027")]], ids=str)
def test_a_model_that_was_gap_filled_grows_on_another_medium_in_the_end(lab: Lab, tool: Flux, medium: Any) -> None:
    gappy = lab.modified(tool, lab.loaded(tool), remove_reactions=["ENO", "TPI", "PFL"])
    filled = lab.call(tool, "gapfill_model", {"model_id": gappy, "media_id": AEROBIC_MINIMAL})["model_id"]
    media_id = medium if isinstance(medium, str) else lab.fed(tool, medium)
    answer, failures = followed(lab, tool, {"model_id": filled, "media_id": media_id})
    assert answer["success"], failures
