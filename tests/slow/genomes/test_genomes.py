"""The proteins of a genome as published; `test_flux_examples.py` makes a model of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from failsoft.tools.flux import Flux
from tests.doors import FluxSettings
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab

pytestmark = IN_FLUX

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
