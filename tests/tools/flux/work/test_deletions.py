"""Deletions of genes and reactions: the growth without each is that which cobra finds, and that of a changed model."""

from __future__ import annotations

import math
from typing import Any

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX, sampled
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX

TOLERANCE = 1e-6
"""Of the growth without a deletion, or of 1 if that is less."""


def assert_that_deletions_are_those_of_cobra(
    lab: Lab, tool: Flux, model_id: str, model: Any, *, at_most: int | None = None
) -> None:
    """Compare the deletion of all genes and of all reactions, or of so many of each, with cobra's own."""
    from cobra.flux_analysis import (  # noqa: PLC0415 - COBRApy takes more than a second, for these tests alone
        single_gene_deletion,
        single_reaction_deletion,
    )

    growth = model.slim_optimize()
    for operation, oracle, names in (
        ("delete_genes", single_gene_deletion, [gene.id for gene in model.genes]),
        ("delete_reactions", single_reaction_deletion, [reaction.id for reaction in model.reactions]),
    ):
        asked = names if at_most is None else sampled(names, at_most)
        limit = {} if at_most is None else {operation.removeprefix("delete_"): asked}
        deleted = lab.call(tool, operation, {"model_id": model_id, **limit})
        frame = oracle(model, asked, processes=1)
        expected = {next(iter(row.ids)): 0.0 if math.isnan(row.growth) else row.growth for row in frame.itertuples()}
        found = {item["id"]: item["growth"] for item in deleted["results"]}
        assert found.keys() == expected.keys()
        wrong = {
            name: (found[name], value)
            for name, value in expected.items()
            if abs(found[name] - value) > TOLERANCE * max(1.0, growth)
        }
        assert wrong == {}, f"{operation}: (found, of cobra)"
        assert deleted["num_lethal"] == sum(not value for value in found.values())


def with_stand_ins() -> Any:
    """Return the textbook model with a second reaction for one enzyme, and with a trace that growth needs."""
    from cobra import Metabolite, Reaction  # noqa: PLC0415 - as above

    model = textbook()
    twin = model.reactions.get_by_id("ENO").copy()
    twin.id = "ENO2"
    trace = Metabolite("trace_c", compartment="c")
    made = Reaction("TRACE", lower_bound=0, upper_bound=1_000)
    made.add_metabolites({trace: 1})
    made.gene_reaction_rule = "b9999"
    model.add_reactions([twin, made])
    model.reactions.get_by_id("Biomass_Ecoli_core").add_metabolites({trace: -9e-7})
    return model


def test_every_deletion_in_the_textbook_model_is_that_of_cobra(lab: Lab, tool: Flux) -> None:
    assert_that_deletions_are_those_of_cobra(lab, tool, lab.loaded(tool), textbook())


def test_without_a_gene_none_of_its_reactions_carries_anything_whichever_did_before(lab: Lab, rooted: Flux) -> None:
    model = with_stand_ins()
    model_id = lab.read(rooted, model)
    deleted = lab.call(rooted, "delete_genes", {"model_id": model_id, "genes": ["b2779"]})
    assert [item["growth"] for item in deleted["results"]] == [0.0]
    assert_that_deletions_are_those_of_cobra(lab, rooted, model_id, model)


def test_a_deleted_gene_leaves_the_growth_of_a_model_in_which_it_is_knocked_out(lab: Lab, tool: Flux) -> None:
    model_id = lab.loaded(tool)
    genes = ["b0720", "b1136", "b2779", "b3919", "b0114", "b3956"]
    deleted = lab.call(tool, "delete_genes", {"model_id": model_id, "genes": genes})["results"]
    for item in deleted:
        grown = lab.call(tool, "run_fba", {"model_id": lab.modified(tool, model_id, knock_out_genes=[item["id"]])})
        assert item["growth"] == pytest.approx(grown.get("growth_rate", 0.0), abs=TOLERANCE), item
        assert grown["success"] or grown["error_code"] == "FBA_INFEASIBLE"
    assert {not item["growth"] for item in deleted} == {True, False}


def test_progress_is_reported_for_each_fifty_deletions_that_are_solved(lab: Lab, tool: Flux) -> None:
    reported: list[tuple[float, float | None, str | None]] = []

    async def report(done: float, total: float | None, message: str | None) -> None:
        reported.append((done, total, message))

    model_id = lab.loaded(tool)
    assert lab.call(tool, "delete_genes", {"model_id": model_id}, report_progress=report)["success"]
    assert [done for done, _, _ in reported] == [0, 50]
    assert {total for _, total, _ in reported} <= {float(number) for number in range(51, 101)}


def test_a_minimum_of_zero_is_not_lethal(lab: Lab, rooted: Flux) -> None:
    model = textbook()
    model.objective = "EX_etoh_e"
    model.objective_direction = "min"
    params = {"model_id": lab.read(rooted, model), "reactions": ["ENO", "PGI", "GLCpts"]}
    deleted = lab.call(rooted, "delete_reactions", params)
    assert [item["growth"] for item in deleted["results"]] == [0.0, 0.0, 0.0]
    assert deleted["num_lethal"] == 1, "without glucose the demand for ATP cannot be met"


def test_a_deletion_says_that_it_is_lethal_and_a_growth_of_zero_alone_does_not(lab: Lab, rooted: Flux) -> None:
    model = textbook()
    model.objective = "EX_etoh_e"
    model.objective_direction = "min"
    params = {"model_id": lab.read(rooted, model), "reactions": ["ENO", "GLCpts"]}
    deleted = lab.call(rooted, "delete_reactions", params)["results"]
    assert [item.get("is_lethal") for item in deleted] == [None, True]


def test_genes_have_the_names_of_the_file_and_none_that_is_their_id(lab: Lab, tool: Flux) -> None:
    deleted = lab.call(tool, "delete_genes", {"model_id": lab.loaded(tool), "genes": ["b2779", "s0001"]})["results"]
    assert [item.get("name") for item in deleted] == ["eno", None]
