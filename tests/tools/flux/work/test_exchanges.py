"""Every exchange of a published model is reachable by id, and a medium sets the same bounds as cobra would."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from failsoft.tools.flux import Flux
from tests.doors import Database, Medium, Recipe
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX

OXYGEN = "o2"
SALTS = (
    *("h2o", "h", "pi", "nh4", "so4", "k", "na1", "ca2", "mg2", "mn2", "zn2", "cu2", "cobalt2", "fe2", "fe3", "cl"),
    *("mobd", "ni2"),
)
NAMED = {
    "cpd00224": "EX_arab__L_e",
    "cpd00751": "EX_fuc__L_e",
    "cpd00072": "EX_f6p_e",
    "cpd00101": "EX_r5p_e",
    "cpd01107": "EX_dca_e",
    "cpd01741": "EX_ddca_e",
    "cpd05274": "EX_hdcea_e",
    "cpd03847": "EX_ttdca_e",
    "cpd15298": "EX_ttdcea_e",
    "cpd00571": "EX_glcr_e",
    "cpd00609": "EX_glcr_e",
    "cpd15495": "EX_maltpt_e",
    "cpd11735": "EX_14glucan_e",
    "cpd00666": "EX_tartr__L_e",
    "cpd19018": "EX_tartr__D_e",
    "cpd00244": "EX_ni2_e",
    "cpd20862": "EX_ni2_e",
    "cpd00007": "EX_o2_e",
    "cpd00532": "EX_o2s_e",
}
"""Exchanges of iJO1366 by the ids that ModelSEED has for them today, and some that it has merged with others."""


@pytest.fixture(autouse=True)
def _no_database_afterwards() -> Iterator[None]:
    """A database that this process looks ids up in is used by one test alone."""
    yield
    from tests.doors import use_database  # noqa: PLC0415 - COBRApy takes more than a second, for these tests alone

    use_database("")


def model_and_surroundings(name: str, database: Database) -> tuple[Any, Any]:
    """Return a published model and its exchanges, by the ids of a database."""
    from tests.doors import exchanges_of, model_of, use_database  # noqa: PLC0415 - as above

    use_database(database.file())
    model = model_of(Recipe.shipped(name))
    return model, exchanges_of(model)


def exchanges(model: Any) -> dict[str, Any]:
    """Return the exchange reactions by the BiGG id of what they exchange."""
    return {next(iter(item.metabolites)).id[:-2]: item for item in model.reactions if item.id.startswith("EX_")}


def carbon_sources(model: Any) -> list[str]:
    return [bigg for bigg, item in exchanges(model).items() if "C" in (next(iter(item.metabolites)).elements or {})]


def medium_with(known: Mapping[str, Any], carbon: str, *, with_oxygen: bool) -> dict[str, tuple[float, float]]:
    free = [bigg for bigg in (*SALTS, *([OXYGEN] if with_oxygen else [])) if bigg in known]
    return {**dict.fromkeys(free, (-1000.0, 1000.0)), carbon: (-10.0, 1000.0)}


def closed_but(known: Mapping[str, Any], medium: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Return the bounds of all exchanges as a modeller sets them in cobra: no uptake but what the medium has."""
    return {item.id: medium.get(bigg, (0.0, max(0.0, item.upper_bound))) for bigg, item in known.items()}


def assert_that_ids_lead_to_exchanges(database: Database, name: str) -> None:
    """Hold every exchange to an id of its own, and to its BiGG id, that media take and that lead back to it."""
    model, around = model_and_surroundings(name, database)
    ids = [item.compound for item in around.exchanges]
    assert len(set(ids)) == len(around.exchanges)
    assert list(database.compounds(ids)) == ids
    assert [around.by_compound[item.compound] for item in around.exchanges] == list(around.exchanges)
    by_bigg = exchanges(model)
    assert {bigg: around.by_compound[bigg].reaction_id for bigg in by_bigg} == {
        bigg: item.id for bigg, item in by_bigg.items()
    }
    assert list(database.compounds(list(by_bigg))) == list(by_bigg)


def assert_that_media_set_the_bounds_of_cobra(database: Database, name: str) -> None:
    """By BiGG and by ModelSEED ids, with and without oxygen; the same bounds have the same optimum."""
    from tests.doors import bounds_under  # noqa: PLC0415 - as above

    model, around = model_and_surroundings(name, database)
    known = exchanges(model)
    listed = {bigg: around.by_compound[bigg].compound for bigg in known}
    sources = carbon_sources(model)
    assert len(sources) == {"textbook": 15, "iJO1366": 285, "salmonella": 431}[name]
    for carbon in sources:
        for with_oxygen in (True, False):
            medium = medium_with(known, carbon, with_oxygen=with_oxygen)
            wanted = closed_but(known, medium)
            for given in (medium, {listed[bigg]: bounds for bigg, bounds in medium.items()}):
                applied = bounds_under(model, Medium(given))
                assert (applied.unused, applied.warnings, dict(applied.bounds)) == ((), (), wanted), carbon


def assert_that_it_grows_as_in_cobra(lab: Lab, tool: Flux, name: str, number: int) -> None:
    """A sample, half of it without oxygen, by BiGG and ModelSEED ids; the bounds are held for all of them above."""
    model, around = model_and_surroundings(name, tool.database)
    known = exchanges(model)
    listed = {bigg: around.by_compound[bigg].compound for bigg in known}
    model_id = lab.loaded(tool, name)
    drawn = random.Random(2).sample(carbon_sources(model), number)  # noqa: S311 - a sample
    for place, carbon in enumerate(drawn):
        medium = medium_with(known, carbon, with_oxygen=place % 2 == 0)
        with model:
            for reaction_id, bounds in closed_but(known, medium).items():
                model.reactions.get_by_id(reaction_id).bounds = bounds
            growth = model.slim_optimize(error_value=0.0)
        for given in (medium, {listed[bigg]: bounds for bigg, bounds in medium.items()}):
            made = {"compounds": list(given), "custom_bounds": {item: list(pair) for item, pair in given.items()}}
            media_id = lab.call(tool, "build_media", made)["media_id"]
            answer = lab.call(tool, "run_fba", {"model_id": model_id, "media_id": media_id})
            # Two bases of the same problem may end within the solver's tolerance of 1e-6 of each other.
            assert answer.get("growth_rate", 0.0) == pytest.approx(growth, abs=1e-5), carbon
            assert answer["success"] is (growth > 1e-6), answer
            assert answer["success"] or answer["error_code"] == "FBA_INFEASIBLE"


def test_every_exchange_has_ids_that_media_take_and_that_lead_back_to_it(tool: Flux) -> None:
    assert_that_ids_lead_to_exchanges(tool.database, "textbook")


def test_ids_of_today_merged_ids_and_stereoisomers_lead_to_their_exchange(tool: Flux) -> None:
    """In a model of such exchanges alone, with the one annotation that iJO1366 needs."""
    import cobra  # noqa: PLC0415 - as above

    from tests.doors import exchanges_of, use_database  # noqa: PLC0415 - as above

    use_database(tool.database.file())
    model = cobra.Model("exchanges")
    model.add_metabolites(
        [cobra.Metabolite(item.removeprefix("EX_"), compartment="e") for item in dict.fromkeys(NAMED.values())]
    )
    model.metabolites.get_by_id("ni2_e").annotation = {"seed.compound": "cpd20862"}
    for metabolite in list(model.metabolites):
        model.add_boundary(metabolite)
    around = exchanges_of(model)
    assert {item: around.by_compound[item].reaction_id for item in NAMED} == NAMED


def test_a_medium_sets_the_bounds_that_cobra_would_for_every_carbon_source(tool: Flux) -> None:
    assert_that_media_set_the_bounds_of_cobra(tool.database, "textbook")


def test_run_fba_grows_on_carbon_sources_as_cobra_does(lab: Lab, tool: Flux) -> None:
    assert_that_it_grows_as_in_cobra(lab, tool, "textbook", 15)


def test_an_annotation_of_another_metabolite_is_reported_when_the_model_is_loaded(lab: Lab, tool: Flux) -> None:
    warnings = lab.call(tool, "load_model", {"name": "textbook"})["metadata"]["warnings"]
    assert any("EX_o2_e (cpd00532)" in warning for warning in warnings)


def test_two_ids_of_one_exchange_are_reported(lab: Lab, tool: Flux) -> None:
    media_id = lab.call(tool, "build_media", {"compounds": ["cpd00027", "glc__D", "o2", "nh4", "pi", "h2o", "h"]})
    answer = lab.call(tool, "run_fba", {"model_id": lab.loaded(tool), "media_id": media_id["media_id"]})
    assert any("EX_glc__D_e" in warning for warning in answer["metadata"]["warnings"])


def test_without_a_database_the_annotations_of_the_model_are_used() -> None:
    from tests.doors import exchanges_of, use_database  # noqa: PLC0415 - as above

    use_database("")
    around = exchanges_of(textbook())
    assert around.by_compound["glc__D"].reaction_id == "EX_glc__D_e"
    assert around.by_compound["cpd00009"].reaction_id == "EX_pi_e"
