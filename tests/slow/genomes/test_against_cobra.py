"""Deletions and flux ranges of whole organisms are those that cobra finds."""

from __future__ import annotations

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import shipped
from tests.tools.flux.work.solving.test_deletions import TOLERANCE, assert_that_deletions_are_those_of_cobra

pytestmark = IN_FLUX

VIABLE_ONCE = ["b2574", "b0029", "b3807", "b2762", "b3850", "b1260", "b1261"]
"""Genes of iJO1366 without which it does not grow; each stops several reactions, not all of which have a flux."""


@pytest.mark.parametrize("name", ["iJO1366", "salmonella"])
def test_every_deletion_is_that_of_cobra(lab: Lab, tool: Flux, name: str) -> None:
    assert_that_deletions_are_those_of_cobra(lab, tool, lab.loaded(tool, name), shipped(name))


def test_lethal_genes_are_lethal_as_deletions_and_as_knock_outs(lab: Lab, tool: Flux) -> None:
    model_id = lab.loaded(tool, "iJO1366")
    viable = "b4025"
    deleted = lab.call(tool, "delete_genes", {"model_id": model_id, "genes": [*VIABLE_ONCE, viable]})["results"]
    for item in deleted:
        grown = lab.call(tool, "run_fba", {"model_id": lab.modified(tool, model_id, knock_out_genes=[item["id"]])})
        assert item["growth"] == pytest.approx(grown.get("growth_rate", 0.0), abs=TOLERANCE), item
    assert [item["id"] for item in deleted if not item["growth"]] == VIABLE_ONCE
