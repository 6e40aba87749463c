"""A complete session: a model from SBML, a medium from a table, and every result compared with that of cobra."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.flux import Flux
from tests.doors import FluxSettings
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX

MEDIUM = {"glc__D": 8.0, "o2": 1000.0, "nh4": 1000.0, "cpd00009": 1000.0, "h2o": 1000.0, "h": 1000.0}
"""Uptake in mmol/gDW/h by BiGG or ModelSEED id."""
EXCHANGES = {"glc__D": "EX_glc__D_e", "o2": "EX_o2_e", "nh4": "EX_nh4_e", "cpd00009": "EX_pi_e"}
EXCHANGES |= {"h2o": "EX_h2o_e", "h": "EX_h_e"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a changed copy of a published model."""
    from cobra.io import write_sbml_model  # noqa: PLC0415 - COBRApy takes more than a second, for this test alone

    model = textbook()
    model.id = "own"
    model.reactions.get_by_id("PFK").bounds = (0, 500)
    write_sbml_model(model, str(tmp_path / "own.xml"))
    return tmp_path


@pytest.fixture
def flux(folder: Path, lab: Lab) -> Iterator[Flux]:
    tool = Flux(root=folder, settings=FluxSettings())
    tool.workers = lab.workers
    yield tool
    tool.database.close()


def in_cobra(model: Any) -> Any:
    """Put a model on the same medium by cobra's own means."""
    for reaction in model.exchanges:
        reaction.bounds = (0.0, 1000.0)
    for compound, uptake in MEDIUM.items():
        model.reactions.get_by_id(EXCHANGES[compound]).lower_bound = -uptake
    return model


def test_an_afternoon_gives_the_results_of_cobra(lab: Lab, flux: Flux, folder: Path) -> None:
    from cobra.flux_analysis import (  # noqa: PLC0415 - as above
        flux_variability_analysis,
        pfba,
        single_gene_deletion,
        single_reaction_deletion,
    )
    from cobra.io import load_json_model, read_sbml_model  # noqa: PLC0415 - as above

    own = in_cobra(read_sbml_model(str(folder / "own.xml")))
    model_id = lab.call(flux, "load_model", {"path": "own.xml"})["model_id"]
    bounds = {compound: [-uptake, 1000] for compound, uptake in MEDIUM.items()}
    media_id = lab.fed(flux, MEDIUM, **bounds)
    conditions = {"model_id": model_id, "media_id": media_id}

    grown = lab.call(flux, "run_fba", {**conditions, "pfba": True})
    assert grown["growth_rate"] == pytest.approx(own.slim_optimize(), abs=1e-6)
    assert grown["total_flux"] == pytest.approx(pfba(own).objective_value, rel=1e-6)
    assert [item["compound_id"] for item in grown["limiting"]] == ["cpd00027"]
    assert "D-Glucose" in grown["interpretation"]
    for step in grown["next_steps"]:
        assert lab.call(flux, step["tool"], step["arguments"])["success"]

    ranges = lab.call(flux, "run_fva", {**conditions, "fraction": 0.9})["results"]
    frame = flux_variability_analysis(own, fraction_of_optimum=0.9, processes=1)
    assert {item["reaction_id"] for item in ranges} == set(frame.index)
    for item in ranges:
        expected = frame.loc[item["reaction_id"]]
        assert (item["minimum"], item["maximum"]) == pytest.approx(tuple(expected), abs=1e-4), item

    for operation, oracle in (("delete_genes", single_gene_deletion), ("delete_reactions", single_reaction_deletion)):
        deleted = lab.call(flux, operation, conditions)
        expected = {next(iter(row.ids)): row.growth for row in oracle(own, processes=1).itertuples()}
        assert {item["id"] for item in deleted["results"]} == set(expected)
        for item in deleted["results"]:
            growth = expected[item["id"]]
            assert item["growth"] == pytest.approx(growth if growth == growth else 0.0, abs=1e-6), item  # noqa: PLR0124 - NaN
        assert deleted["num_lethal"] == sum(not item["growth"] for item in deleted["results"]) > 0

    gappy = lab.modified(flux, model_id, remove_reactions=["CS", "ENO"])
    filled = lab.call(flux, "gapfill_model", {"model_id": gappy, "media_id": media_id, "target_growth": 0.3})
    assert (filled["growth_before"], filled["num_reactions_added"]) == (0.0, 2)
    assert filled["growth_after"] >= 0.3
    assert all(item["name"] and "Phosphoenolpyruvate" not in item["equation"] for item in filled["reactions_added"])

    for form, ending, read in (("sbml", "xml", read_sbml_model), ("json", "json", load_json_model)):
        exported = {"model_id": filled["model_id"], "format": form, "path": f"filled.{ending}"}
        assert lab.call(flux, "export_model", exported)["success"]
        again = in_cobra(read(str(folder / f"filled.{ending}")))
        assert again.slim_optimize() == pytest.approx(filled["growth_after"], abs=1e-6)
        reloaded = lab.call(flux, "load_model", {"path": f"filled.{ending}"})["model_id"]
        fed = lab.call(flux, "run_fba", {"model_id": reloaded, "media_id": media_id})
        assert fed["growth_rate"] == pytest.approx(filled["growth_after"], abs=1e-6)
    assert lab.call(flux, "delete_media", {"media_id": media_id})["success"]
