"""The proteins or the functions of a genome become a model that grows."""

from __future__ import annotations

import json
import tarfile
import zipfile
from pathlib import Path

from failsoft.tools.flux import Flux
from tests.doors import TemplateData
from tests.programs.flux import IN_FLUX
from tests.programs.flux_data import FOLDER
from tests.tools.flux.lab import AEROBIC, Lab

pytestmark = IN_FLUX

MINERALS = [
    *("cpd00048", "cpd00205", "cpd00099", "cpd00254", "cpd00063", "cpd10515", "cpd10516", "cpd00058", "cpd00034"),
    *("cpd00030", "cpd00149", "cpd11574"),
]
"""What E. coli needs besides: sulfate and salts."""


def with_data(lab: Lab, archive: Path) -> Flux:
    """Return a toolset with the data of a distribution, unpacked beside the archive."""
    tool = lab.tool()
    tool.reference_data = TemplateData([archive], cache=FOLDER)
    return tool


def proteins_of(genome: str, wheel: Path) -> dict[str, str]:
    """Return the proteins of a genome that carveme has, but for those with odd residues."""
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"carveme/data/benchmark/fasta/{genome}.faa").decode()
    entries = (entry.partition("\n") for entry in text.split(">")[1:])
    found = {name.split()[0]: "".join(lines.split()).rstrip("*") for name, _, lines in entries}
    return {name: sequence for name, sequence in found.items() if sequence and not set(sequence) & set("*UXBZJO")}


def test_the_proteins_of_e_coli_become_a_model_that_grows_on_minimal_medium(lab: Lab, carveme_wheel: Path) -> None:
    tool = with_data(lab, carveme_wheel)
    proteins = proteins_of("Ecoli_K12_MG1655", carveme_wheel)
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


def test_the_functions_of_a_genome_become_a_model_that_grows(lab: Lab, pyfba_sdist: Path) -> None:
    with tarfile.open(pyfba_sdist) as archive:
        name = "PyFBA-2.62/example_data/Citrobacter/ungapfilled_model/citrobacter.assigned_functions"
        file = archive.extractfile(name)
        assert file is not None
        lines = file.read().decode().splitlines()
    rows = [line.split("\t") for line in lines if ".peg." in line]
    functions = {row[0]: row[1] for row in rows if len(row) > 1 and row[1]}
    tool = with_data(lab, pyfba_sdist)
    params = {
        "protein_sequences": dict.fromkeys(functions, "MKVLAAGIVG"),
        "template": "GramNegative",
        "functions": functions,
    }
    built = lab.call(tool, "build_model", params)
    assert 1_500 < built["num_reactions"] < 2_500
    media = lab.fed(tool, [*AEROBIC, *MINERALS])
    filled = lab.call(tool, "gapfill_model", {"model_id": built["model_id"], "media_id": media, "max_complexity": 60})
    assert filled["success"], json.dumps(filled)[:500]
    assert filled["growth_rate"] > 0.01
