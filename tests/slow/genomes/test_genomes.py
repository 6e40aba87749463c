"""The proteins of a genome become a model that grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from failsoft.tools.flux import Flux
from tests.doors import FluxSettings
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import AEROBIC, Lab

pytestmark = IN_FLUX

MINERALS = [
    *("cpd00048", "cpd00205", "cpd00099", "cpd00254", "cpd00063", "cpd10515", "cpd10516", "cpd00058", "cpd00034"),
    *("cpd00030", "cpd00149", "cpd11574"),
]
"""What E. coli needs besides: sulfate and salts."""
K12 = {"fasta_path": "Ecoli_K12_MG1655.faa", "template": "GramNegative"}


@pytest.fixture(scope="module")
def tool(lab: Lab, flux_data: Path) -> Flux:
    """A toolset that reads the proteomes that carveme has for its benchmark."""
    made = Flux(
        root=flux_data / "carveme" / "data" / "benchmark" / "fasta", settings=FluxSettings(templates=(str(flux_data),))
    )
    made.workers = lab.workers
    return made


def test_a_proteome_with_internal_stops_is_refused_with_the_way_to_leave_them_out(lab: Lab, tool: Flux) -> None:
    error = lab.call(tool, "build_model", K12)
    assert error["error_code"] == "INVALID_PROTEIN_SEQUENCES"
    assert (error["details"]["total_sequences"], error["details"]["total_invalid"]) == (4_321, 48)
    assert error["next_step"] == {"tool": "build_model", "arguments": {**K12, "skip_invalid": True}}


def test_the_proteins_of_e_coli_become_a_model_that_grows_on_minimal_medium(lab: Lab, tool: Flux) -> None:
    built = lab.call(tool, "build_model", {**K12, "skip_invalid": True})
    assert (built["num_proteins"], built["num_left_out"], len(built["left_out"])) == (4_273, 48, 48)
    assert 1_600 < built["num_recognized"] < 1_800
    assert 2_000 < built["num_reactions"] < 3_000
    assert 1_200 < built["num_genes"] < 1_600
    media = lab.fed(tool, [*AEROBIC, *MINERALS])
    error = lab.call(tool, "run_fba", {"model_id": built["model_id"], "media_id": media})
    assert error["error_code"] == "FBA_INFEASIBLE"
    filled = lab.call(tool, "gapfill_model", {"model_id": built["model_id"], "media_id": media})
    assert 1 <= filled["num_reactions_added"] <= 15
    assert filled["growth_rate"] == pytest.approx(0.67, abs=0.1)
