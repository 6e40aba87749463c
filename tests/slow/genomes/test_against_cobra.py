"""Deletions and flux ranges of whole organisms are those that cobra finds."""

from __future__ import annotations

import random
from typing import Any

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import ALL_CASES, IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import shipped
from tests.tools.flux.work.test_deletions import TOLERANCE, assert_that_deletions_are_those_of_cobra
from tests.tools.flux.work.test_variability import assert_that_ranges_are_those_of_cobra, minimizing

pytestmark = IN_FLUX

VIABLE_ONCE = ["b2574", "b0029", "b3807", "b2762", "b3850", "b1260", "b1261"]
"""Genes of iJO1366 without which it does not grow; each stops several reactions, not all of which have a flux."""


@pytest.mark.parametrize("name", ["iJO1366", "salmonella"])
def test_every_deletion_is_that_of_cobra(lab: Lab, tool: Flux, name: str) -> None:
    assert_that_deletions_are_those_of_cobra(lab, tool, lab.loaded(tool, name), shipped(name), at_most=40)


def test_lethal_genes_are_lethal_as_deletions_and_as_knock_outs(lab: Lab, tool: Flux) -> None:
    model_id = lab.loaded(tool, "iJO1366")
    viable = "b4025"
    deleted = lab.call(tool, "delete_genes", {"model_id": model_id, "genes": [*VIABLE_ONCE, viable]})["results"]
    for item in deleted:
        grown = lab.call(tool, "run_fba", {"model_id": lab.modified(tool, model_id, knock_out_genes=[item["id"]])})
        assert item["growth"] == pytest.approx(grown.get("growth_rate", 0.0), abs=TOLERANCE), item
    assert [item["id"] for item in deleted if not item["growth"]] == VIABLE_ONCE


GROWTH = "BIOMASS_Ec_iJO1366_core_53p95M"


def some_of(model: Any) -> list[str]:
    """Return reactions of a model, the same ones every time."""
    return random.Random(7).sample([item.id for item in model.reactions], 300 if ALL_CASES else 40)  # noqa: S311 - a sample of a test


def test_the_ranges_of_a_model_that_maximizes_are_those_of_cobra(lab: Lab, tool: Flux) -> None:
    model = shipped("iJO1366")
    model_id = lab.loaded(tool, "iJO1366")
    assert_that_ranges_are_those_of_cobra(lab, tool, model_id, model, fraction=0.95, names=some_of(model))


def test_the_ranges_of_a_model_that_minimizes_are_those_of_cobra(lab: Lab, rooted: Flux) -> None:
    model = minimizing(shipped("iJO1366"), "EX_co2_e", **{GROWTH: (0.5, 1000.0)})
    assert_that_ranges_are_those_of_cobra(lab, rooted, lab.read(rooted, model), model, names=some_of(model))
