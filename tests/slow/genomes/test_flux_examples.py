"""The examples of the flux toolset print exactly what their pages show, and what COBRApy says too."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.programs.flux import IN_FLUX
from tests.slow.site.test_examples import EXAMPLES, prints_what_its_page_shows

pytestmark = IN_FLUX

GENOME = "model_genome"
SALTS = (
    *("h2o", "h", "o2", "nh4", "pi", "so4", "k", "na1", "mg2", "ca2", "cl", "fe2", "fe3"),
    *("zn2", "mn2", "cu2", "cobalt2", "mobd", "ni2"),
)
FOODS = ("glc__D", "glyc", "lac__D", "succ", "ac")
STRAINS = {"wild type": None, "pgi": "b4025", "gltA": "b0720", "icd": "b1136", "sdhC": "b0721"}


@pytest.mark.parametrize("name", ["fill_gaps", "model_metabolism"])
def test_the_example_runs_and_prints_what_the_page_shows(name: str, tmp_path: Path) -> None:
    prints_what_its_page_shows(EXAMPLES / f"{name}.py", tmp_path)


def growth(model: Any, food: str) -> float:
    """Return COBRApy's optimum with this food at 10 mmol/gDW/h, all else at 1,000, and nothing besides."""
    with model:
        for exchange in model.exchanges:
            compound = exchange.id.removeprefix("EX_").removesuffix("_e")
            exchange.lower_bound = -10 if compound == food else -1000 if compound in SALTS else 0
        optimum: float = model.slim_optimize()
        return optimum if model.solver.status == "optimal" else 0.0


def test_a_genome_becomes_a_table_of_growth_that_is_cobras(tmp_path: Path, flux_data: Path) -> None:
    """Growth to two decimals, by GLPK, of the model that the page writes."""
    from cobra.io import read_sbml_model  # noqa: PLC0415 - it takes more than a second

    shutil.copy(flux_data / "carveme/data/benchmark/fasta/Ecoli_K12_MG1655.faa", tmp_path / "k12.faa")
    environment = {"FAILSOFT_FLUX_TEMPLATES": str(flux_data)}
    prints_what_its_page_shows(EXAMPLES / f"{GENOME}.py", tmp_path, timeout_s=600.0, **environment)
    model = read_sbml_model(str(tmp_path / "k12.xml"))
    shown = (EXAMPLES / f"{GENOME}.out").read_text().splitlines()
    for strain, gene in STRAINS.items():
        (line,) = (line for line in shown if line.startswith(strain.ljust(10)))
        with model:
            if gene is not None:
                model.genes.get_by_id(gene).knock_out()
            of_cobra = [growth(model, food) for food in FOODS]
        assert [float(number) for number in line[10:].split()] == pytest.approx(of_cobra, abs=0.005 + 1e-6), strain
