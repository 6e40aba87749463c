"""The proteins of a genome become a model that grows."""

from __future__ import annotations

from pathlib import Path

from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import AEROBIC, Lab

pytestmark = IN_FLUX

MINERALS = [
    *("cpd00048", "cpd00205", "cpd00099", "cpd00254", "cpd00063", "cpd10515", "cpd10516", "cpd00058", "cpd00034"),
    *("cpd00030", "cpd00149", "cpd11574"),
]
"""What E. coli needs besides: sulfate and salts."""


def proteins_of(genome: str, folder: Path) -> dict[str, str]:
    """Return the proteins of a genome that carveme has, but for those with odd residues."""
    text = (folder / f"carveme/data/benchmark/fasta/{genome}.faa").read_text()
    entries = (entry.partition("\n") for entry in text.split(">")[1:])
    found = {name.split()[0]: "".join(lines.split()).rstrip("*") for name, _, lines in entries}
    return {name: sequence for name, sequence in found.items() if sequence and not set(sequence) & set("*UXBZJO")}


def test_the_proteins_of_e_coli_become_a_model_that_grows_on_minimal_medium(lab: Lab, flux_data: Path) -> None:
    tool = lab.tool(flux_templates=(str(flux_data),))
    proteins = proteins_of("Ecoli_K12_MG1655", flux_data)
    assert len(proteins) > 4_200
    built = lab.call(tool, "build_model", {"protein_sequences": proteins, "template": "GramNegative"})
    assert 2_000 < built["num_reactions"] < 3_000
    assert 1_200 < built["num_genes"] < 1_600
    media = lab.fed(tool, [*AEROBIC, *MINERALS])
    error = lab.call(tool, "run_fba", {"model_id": built["model_id"], "media_id": media})
    assert error["error_code"] == "FBA_INFEASIBLE"
    filled = lab.call(tool, "gapfill_model", {"model_id": built["model_id"], "media_id": media})
    assert 1 <= filled["num_reactions_added"] <= 15
    assert 0.4 < filled["growth_rate"] < 1.2
