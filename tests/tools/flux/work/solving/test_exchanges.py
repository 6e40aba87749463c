"""Every exchange of the published models is reachable by id, and a medium sets the same bounds as cobra would."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

pytest.importorskip("cobra", reason="the extra 'flux' is not installed")

from failsoft.tools.flux import Flux
from tests.doors import SHIPPED_MODELS, Database, Medium, Recipe, bounds_under, model_of, surroundings_of, use_database
from tests.tools.flux.data import fetched
from tests.tools.flux.lab import Lab

OXYGEN = "o2"
SLOW = pytest.mark.slow
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


@pytest.fixture(scope="module", params=["shipped", "dnngior"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The database of the published models alone, and that of the whole of ModelSEED."""
    tables = None if request.param == "shipped" else fetched(request.param)
    made = Database(tables, cache_dir=tmp_path_factory.mktemp("cache"))
    use_database(made.file())
    yield made
    use_database("")
    made.close()


@pytest.fixture
def known(tool: Flux) -> Iterator[Flux]:
    """A toolset whose database this process uses as well."""
    use_database(tool.database.file())
    yield tool
    use_database("")


@functools.cache
def exchanges(model: Any) -> dict[str, Any]:
    """Return the exchange reactions by the BiGG id of what they exchange."""
    return {next(iter(item.metabolites)).id[:-2]: item for item in model.reactions if item.id.startswith("EX_")}


def carbon_sources(model: Any) -> list[str]:
    return [bigg for bigg, item in exchanges(model).items() if "C" in (next(iter(item.metabolites)).elements or {})]


def medium_with(model: Any, carbon: str, *, with_oxygen: bool) -> dict[str, tuple[float, float]]:
    free = [bigg for bigg in (*SALTS, *([OXYGEN] if with_oxygen else [])) if bigg in exchanges(model)]
    return {**dict.fromkeys(free, (-1000.0, 1000.0)), carbon: (-10.0, 1000.0)}


def closed_but(model: Any, medium: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Return the bounds of all exchanges as a modeller sets them in cobra: no uptake but what the medium has."""
    return {item.id: medium.get(bigg, (0.0, max(0.0, item.upper_bound))) for bigg, item in exchanges(model).items()}


@pytest.mark.parametrize("name", SHIPPED_MODELS)
def test_every_exchange_has_an_id_that_media_take_and_that_leads_back_to_it(database: Database, name: str) -> None:
    around = surroundings_of(model_of(Recipe.shipped(name)))
    ids = [item.compound for item in around.exchanges]
    assert len(set(ids)) == len(around.exchanges)
    assert list(database.compounds(ids)) == ids
    assert [around.by_compound[item.compound] for item in around.exchanges] == list(around.exchanges)


@pytest.mark.parametrize("name", SHIPPED_MODELS)
def test_every_exchange_is_reached_by_its_bigg_id(database: Database, name: str) -> None:
    model = model_of(Recipe.shipped(name))
    around = surroundings_of(model)
    by_bigg = exchanges(model)
    assert {bigg: around.by_compound[bigg].reaction_id for bigg in by_bigg} == {
        bigg: item.id for bigg, item in by_bigg.items()
    }
    assert list(database.compounds(list(by_bigg))) == list(by_bigg)


def test_ids_of_today_merged_ids_and_stereoisomers_lead_to_their_exchange(database: Database) -> None:
    around = surroundings_of(model_of(Recipe.shipped("iJO1366")))
    assert {item: around.by_compound[item].reaction_id for item in NAMED} == NAMED


@pytest.mark.parametrize("name", SHIPPED_MODELS)
def test_a_medium_sets_the_bounds_that_cobra_would_for_every_carbon_source(database: Database, name: str) -> None:
    """By BiGG and by ModelSEED ids, with and without oxygen; the same bounds have the same optimum."""
    model = model_of(Recipe.shipped(name))
    around = surroundings_of(model)
    listed = {bigg: around.by_compound[bigg].compound for bigg in exchanges(model)}
    sources = carbon_sources(model)
    assert len(sources) == {"textbook": 15, "iJO1366": 285, "salmonella": 431}[name]
    for carbon in sources:
        for with_oxygen in (True, False):
            medium = medium_with(model, carbon, with_oxygen=with_oxygen)
            wanted = closed_but(model, medium)
            for given in (medium, {listed[bigg]: bounds for bigg, bounds in medium.items()}):
                applied = bounds_under(model, Medium(given))
                assert (applied.unused, applied.warnings, dict(applied.bounds)) == ((), (), wanted), carbon


@pytest.mark.parametrize(
    ("name", "number"),
    [("textbook", 15), pytest.param("iJO1366", 6, marks=SLOW), pytest.param("salmonella", 4, marks=SLOW)],
)
def test_run_fba_grows_on_carbon_sources_as_cobra_does(lab: Lab, known: Flux, name: str, number: int) -> None:
    """A sample, half of it without oxygen, by BiGG and ModelSEED ids; the bounds are held for all of them above."""
    model = model_of(Recipe.shipped(name))
    listed = {bigg: surroundings_of(model).by_compound[bigg].compound for bigg in exchanges(model)}
    model_id = lab.loaded(known, name)
    drawn = random.Random(2).sample(carbon_sources(model), number)  # noqa: S311 - a sample
    for place, carbon in enumerate(drawn):
        medium = medium_with(model, carbon, with_oxygen=place % 2 == 0)
        with model:
            for reaction_id, bounds in closed_but(model, medium).items():
                model.reactions.get_by_id(reaction_id).bounds = bounds
            growth = model.slim_optimize(error_value=0.0)
        for given in (medium, {listed[bigg]: bounds for bigg, bounds in medium.items()}):
            made = {"compounds": list(given), "custom_bounds": {item: list(pair) for item, pair in given.items()}}
            media_id = lab.call(known, "build_media", made)["media_id"]
            answer = lab.call(known, "run_fba", {"model_id": model_id, "media_id": media_id})
            # Two bases of the same problem may end within the solver's tolerance of 1e-6 of each other.
            assert answer.get("growth_rate", 0.0) == pytest.approx(growth, abs=1e-5), carbon
            assert answer["success"] is (growth > 1e-6), answer
            assert answer["success"] or answer["error_code"] == "FBA_INFEASIBLE"


def test_an_annotation_of_another_metabolite_is_reported_when_the_model_is_loaded(lab: Lab, tool: Flux) -> None:
    warnings = lab.call(tool, "load_model", {"name": "textbook"})["metadata"]["warnings"]
    assert any("EX_o2_e (cpd00532)" in warning for warning in warnings)


def test_two_ids_of_one_exchange_are_reported(lab: Lab, tool: Flux) -> None:
    media_id = lab.call(tool, "build_media", {"compounds": ["cpd00027", "glc__D", "o2", "nh4", "pi", "h2o", "h"]})
    answer = lab.call(tool, "run_fba", {"model_id": lab.loaded(tool), "media_id": media_id["media_id"]})
    assert any("EX_glc__D_e" in warning for warning in answer["metadata"]["warnings"])


def test_without_a_database_the_annotations_of_the_model_are_used() -> None:
    use_database("")
    around = surroundings_of(model_of(Recipe.shipped("textbook")).copy())
    assert around.by_compound["glc__D"].reaction_id == "EX_glc__D_e"
    assert around.by_compound["cpd00009"].reaction_id == "EX_pi_e"
