"""The published models of whole organisms have the exchanges, bounds and growth that cobra finds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from failsoft.tools.flux import Flux
from tests.doors import SHIPPED_MODELS, Database, Recipe, model_of
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.work.test_exchanges import (
    NAMED,
    _no_database_afterwards,  # noqa: F401 - a fixture
    assert_that_ids_lead_to_exchanges,
    assert_that_it_grows_as_in_cobra,
    assert_that_media_set_the_bounds_of_cobra,
    model_and_surroundings,
)

pytestmark = IN_FLUX


@pytest.fixture(scope="module", params=["shipped", "whole"])
def database(request: pytest.FixtureRequest) -> Database:
    """The database of the published models alone, and that of the whole of ModelSEED."""
    return Database() if request.param == "shipped" else request.getfixturevalue("whole")


def test_iJO1366_grows_as_published(lab: Lab, tool: Flux) -> None:  # noqa: N802 - its name
    answer = lab.call(tool, "run_fba", {"model_id": lab.loaded(tool, "iJO1366")})
    assert answer["growth_rate"] == pytest.approx(0.9824, abs=1e-3)
    assert answer["status"] == "optimal"


def test_a_cofactor_is_made_as_fast_as_biomass_needs_it(lab: Lab, tool: Flux) -> None:
    """Biomass has 2e-6 of biotin: growth changes these fluxes by less than the solver's tolerance."""
    model_id = lab.loaded(tool, "iJO1366")
    for name in ("OGMEACPR", "I2FE2SR", "BTS5", "PMEACPE"):
        answer = lab.call(tool, "run_fba", {"model_id": model_id, "objective": name})
        assert answer.get("objective_value") == pytest.approx(0.9824 * 2e-6, abs=1e-7), (name, answer)


@pytest.mark.parametrize("name", SHIPPED_MODELS)
def test_every_exchange_has_ids_that_media_take_and_that_lead_back_to_it(database: Database, name: str) -> None:
    assert_that_ids_lead_to_exchanges(database, name)


def test_ids_of_today_merged_ids_and_stereoisomers_lead_to_their_exchange(database: Database) -> None:
    _, around = model_and_surroundings("iJO1366", database)
    assert {item: around.by_compound[item].reaction_id for item in NAMED} == NAMED


@pytest.mark.parametrize("name", SHIPPED_MODELS)
def test_a_medium_sets_the_bounds_that_cobra_would_for_every_carbon_source(database: Database, name: str) -> None:
    assert_that_media_set_the_bounds_of_cobra(database, name)


@pytest.mark.parametrize(("name", "number"), [("iJO1366", 6), ("salmonella", 4)])
def test_run_fba_grows_on_carbon_sources_as_cobra_does(lab: Lab, tool: Flux, name: str, number: int) -> None:
    assert_that_it_grows_as_in_cobra(lab, tool, name, number)


def test_the_faults_of_whole_models_are_those_of_cobra_and_memote(lab: Lab, tool: Flux) -> None:
    for name in ("iJO1366", "salmonella"):
        model = model_of(Recipe.shipped(name))
        answer = lab.call(tool, "check_model", {"model_id": lab.loaded(tool, name)})
        unbalanced = [
            item.id
            for item in model.reactions
            if not item.boundary
            and "biomass" not in item.id.casefold()
            and all(part.formula for part in item.metabolites)
            and item.check_mass_balance().keys() - {"charge"}
        ]
        assert [item["reaction_id"] for item in answer["mass_unbalanced"]["reactions"]] == unbalanced
        assert answer["energy_from_nothing"] == []


def test_the_dead_ends_of_iJO1366_are_those_of_memote(lab: Lab, tool: Flux) -> None:  # noqa: N802 - its name
    found = lab.call(tool, "check_model", {"model_id": lab.loaded(tool, "iJO1366")})["only_produced"]
    produced = [
        part.id
        for part in model_of(Recipe.shipped("iJO1366")).metabolites
        if all(not (item.reversibility or item.boundary) and item.metabolites[part] > 0 for item in part.reactions)
    ]
    assert (found["count"], found["ids"]) == (len(produced), produced[:20])


def test_the_models_of_carveme_are_loaded_and_grow_as_in_cobra(lab: Lab, tmp_path: Path, flux_data: Path) -> None:
    from cobra.io import read_sbml_model  # noqa: PLC0415 - it takes more than a second

    tool = Flux(root=tmp_path)
    tool.workers = lab.workers
    found = flux_data / "carveme" / "data" / "benchmark" / "models" / "mgen.xml"
    shutil.copy(found, tmp_path)
    answer = lab.call(tool, "load_model", {"path": "mgen.xml"})
    own = read_sbml_model(str(found))
    assert (answer["num_reactions"], answer["num_genes"]) == (len(own.reactions), len(own.genes))
    grown = lab.call(tool, "run_fba", {"model_id": answer["model_id"]})["growth_rate"]
    assert grown == pytest.approx(own.slim_optimize(), rel=1e-6)
