"""Media and look-ups as callers meet them: every code of theirs made to happen, in the order of seed 002."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from failsoft.tools.flux import Flux
from tests.doors import CallScope, FluxSettings, bounds_of, missing_sources
from tests.framework.wellformed import check_wellformed
from tests.programs.flux import IN_FLUX
from tests.tools.flux.small_data import small_tables

pytestmark = IN_FLUX

COMPLETE = ["cpd00027", "cpd00007", "cpd00013", "cpd00009", "cpd00048", "cpd00001"]
Call = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def flux(tmp_path_factory: pytest.TempPathFactory) -> Flux:
    folder = tmp_path_factory.mktemp("flux")
    return flux_with(small_tables(folder / "tables"), folder / "cache")


@pytest.fixture(scope="module")
def call(flux: Flux) -> Iterator[Call]:
    """Return a function that calls an operation as a client does, and returns the wire form."""
    with asyncio.Runner() as runner:

        def made(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
            return runner.run(wire_of(flux, operation, arguments))

        yield made


def flux_with(tables: Path | None, cache: Path) -> Flux:
    return Flux(settings=FluxSettings(tables=tables), cache_dir=cache)


async def wire_of(flux: Flux, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    bound = flux.operations[operation]
    return check_wellformed(await bound.call(arguments, CallScope(principal="somebody")), bound)


def media(call: Call, compounds: list[str] | None = None, **more: Any) -> dict[str, Any]:
    return call("build_media", {"compounds": COMPLETE if compounds is None else compounds, **more})


def warnings(wire: dict[str, Any]) -> list[str]:
    assert wire["success"], wire
    reported: list[str] = wire.get("metadata", {}).get("warnings", [])
    return reported


def follow(call: Call, wire: dict[str, Any]) -> dict[str, Any]:
    """Make the call that a failure names."""
    return call(wire["next_step"]["tool"], wire["next_step"]["arguments"])


# Look-ups.


def test_a_compound_is_looked_up_by_its_id(call: Call) -> None:
    wire = call("get_compound_name", {"compound_id": "cpd00027"})
    assert wire.items() >= {"success": True, "name": "D-Glucose", "formula": "C6H12O6", "charge": 0}.items()
    assert wire["aliases"]["KEGG"] == ["C00031"]


def test_a_reaction_is_looked_up_by_its_id(call: Call) -> None:
    wire = call("get_reaction_name", {"reaction_id": "rxn00148"})
    assert wire["equation"] == "(1) ATP[0] <=> (1) ADP[0]"
    assert (wire["ec_numbers"], wire["is_transport"], wire["reversibility"]) == (["2.7.1.40"], False, "<")


@pytest.mark.parametrize(
    ("operation", "parameter", "missing", "code", "total"),
    [
        ("get_compound_name", "compound_id", "cpd00028", "COMPOUND_NOT_FOUND", "total_compounds"),
        ("get_reaction_name", "reaction_id", "rxn00149", "REACTION_NOT_FOUND", "total_reactions"),
    ],
)
def test_an_id_that_does_not_exist_lists_candidates_and_guesses_none(
    call: Call, operation: str, parameter: str, missing: str, code: str, total: str
) -> None:
    wire = call(operation, {parameter: missing})
    assert (wire["error_type"], wire["error_code"], wire["jsonrpc_error_code"]) == ("database_error", code, -32004)
    details = wire["details"]
    assert details["requested_id"] == missing
    assert details[total] in {9, 3}
    assert details["database"] == ("compounds.tsv" if parameter == "compound_id" else "reactions.tsv")
    assert details["similar_ids"]
    assert "next_step" not in wire


@pytest.mark.parametrize("given", ["CPD00027", "cpd27", "EX_cpd00027_e0", " cpd00027", "cpd_00027[c]", "glc__D"])
def test_an_id_in_another_spelling_leads_to_a_search_that_finds_it(call: Call, given: str) -> None:
    wire = call("get_compound_name", {"compound_id": given})
    assert (wire["error_type"], wire["error_code"]) == ("validation_error", "INVALID_ID_FORMAT")
    assert any("cpd00027" in text for text in wire["suggestions"])
    assert follow(call, wire)["results"][0]["compound_id"] == "cpd00027"


def test_a_name_in_the_place_of_an_id_leads_to_the_search(call: Call) -> None:
    wire = call("get_reaction_name", {"reaction_id": "phosphotransferase"})
    assert wire["error_code"] == "INVALID_ID_FORMAT"
    assert follow(call, wire)["total"] == 2
    wire = call("get_compound_name", {"compound_id": "glucoze"})
    assert follow(call, wire)["results"][0]["compound_id"] == "cpd00027"


@pytest.mark.parametrize("given", ["", "cpd", "x" * 100_000, "cpd0002७", "cpd00027\n", "RXN"])
def test_what_is_no_id_at_all_is_refused(call: Call, given: str) -> None:
    for operation, parameter in (("get_compound_name", "compound_id"), ("get_reaction_name", "reaction_id")):
        wire = call(operation, {parameter: given})
        assert wire["error_code"] == "INVALID_ID_FORMAT"
        assert len(json.dumps(wire)) < 3_000


def test_an_obsolete_id_comes_with_its_replacement(call: Call) -> None:
    wire = call("get_compound_name", {"compound_id": "cpd01355"})
    assert (wire["is_obsolete"], wire["replaced_by"]) == (True, ["cpd00179"])
    (warning,) = warnings(wire)
    assert "cpd00179 (Maltose)" in warning
    assert "rxn00216" in warnings(call("get_reaction_name", {"reaction_id": "rxn06467"}))[0]


def test_a_search_says_what_matched(call: Call) -> None:
    wire = call("search_compounds", {"query": "dextrose", "limit": 1})
    assert wire["total"] == 1
    assert wire["results"] == [
        {"compound_id": "cpd00027", "name": "D-Glucose", "formula": "C6H12O6", "charge": 0, "matched": "Dextrose"}
    ]


@pytest.mark.parametrize("operation", ["search_compounds", "search_reactions"])
def test_a_search_that_finds_nothing_is_a_success_with_a_hint(call: Call, operation: str) -> None:
    wire = call(operation, {"query": "hexokinaze"})
    assert (wire["success"], wire["results"], wire["total"]) == (True, [], 0)
    assert len(warnings(wire)) == 1


@pytest.mark.parametrize("operation", ["search_compounds", "search_reactions"])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"query": ""}, "EMPTY_QUERY"),
        ({"query": " \t\n"}, "EMPTY_QUERY"),
        ({"query": "", "limit": 0}, "EMPTY_QUERY"),
        ({"query": "glucose", "limit": 0}, "INVALID_LIMIT"),
        ({"query": "glucose", "limit": -1}, "INVALID_LIMIT"),
        ({"query": "glucose", "limit": 2.5}, "INVALID_LIMIT"),
        ({"query": "glucose", "limit": "5"}, "INVALID_LIMIT"),
        ({"query": "glucose", "limit": 101}, "INVALID_LIMIT"),
        ({"query": 5}, "INVALID_PARAM"),
        ({}, "INVALID_PARAM"),
    ],
    ids=str,
)
def test_a_search_needs_words_and_a_limit(call: Call, operation: str, arguments: dict[str, Any], code: str) -> None:
    wire = call(operation, arguments)
    assert (wire["error_type"], wire["error_code"]) == ("validation_error", code)
    assert "violations" in wire or wire["next_step"]["arguments"] == {"query": "glucose", "limit": 5}


def test_without_tables_that_can_be_read_nothing_else_is_judged(tmp_path: Path) -> None:
    flux = flux_with(small_tables(tmp_path / "tables", compounds="no table"), tmp_path / "cache")
    for operation, arguments in (
        ("get_compound_name", {"compound_id": "cpd00027"}),
        ("get_compound_name", {"compound_id": "odd"}),
        ("get_reaction_name", {"reaction_id": "rxn1"}),
        ("search_compounds", {"query": "glucose"}),
        ("search_reactions", {"query": "kinase"}),
        ("build_media", {"compounds": COMPLETE}),
    ):
        wire = asyncio.run(wire_of(flux, operation, arguments))
        assert (wire["error_type"], wire["error_code"], wire["jsonrpc_error_code"]) == (
            "database_error",
            "DATABASE_NOT_LOADED",
            -32004,
        )
        assert str(tmp_path) not in json.dumps(wire)
        assert wire["next_step"] == {"tool": operation, "arguments": arguments}


# Media.


def test_a_medium_is_made_and_listed(call: Call, flux: Flux) -> None:
    wire = media(call, default_uptake=10)
    assert warnings(wire) == []
    assert wire["num_compounds"] == 6
    assert wire["compounds"][0] == {
        "compound_id": "cpd00027",
        "name": "D-Glucose",
        "formula": "C6H12O6",
        "bounds": [-10, 1000],
    }
    listed = call("list_media", {})
    assert {"media_id": wire["media_id"], "num_compounds": 6, "compounds": COMPLETE} in listed["media"]
    assert listed["total"] == len(listed["media"])


def test_a_list_of_media_names_the_compounds_that_a_medium_does_not_offer(call: Call) -> None:
    closed = {one["media_id"]: one.get("not_taken_up") for one in call("list_media", {})["media"]}
    assert closed["minimal_anaerobic"] == closed["complete_anaerobic"] == ["cpd00007"]
    assert closed["minimal_aerobic"] is None


def test_bounds_of_single_compounds_come_before_the_default(call: Call) -> None:
    bounds = {"cpd00027": [-5.5, 0], "cpd00007": [None, None], "cpd00001": [0, 0], "cpd00009": [None, 3]}
    reported = {item["compound_id"]: item["bounds"] for item in media(call, custom_bounds=bounds)["compounds"]}
    assert reported["cpd00027"] == [-5.5, 0]
    assert reported["cpd00007"] == [None, None]
    assert reported["cpd00001"] == [0, 0]
    assert reported["cpd00009"] == [None, 3]
    assert reported["cpd00013"] == [-100, 1000]


def test_what_is_given_twice_counts_once(call: Call) -> None:
    wire = media(call, [*COMPLETE, "cpd00027"])
    assert wire["num_compounds"] == 6
    assert len(warnings(wire)) == 1


FAULTS: dict[str, dict[str, Any]] = {
    "EMPTY_COMPOUNDS_LIST": {"compounds": []},
    "INVALID_COMPOUND_IDS": {"compounds": ["cpd00027", "cpd00ABC"]},
    "NEGATIVE_UPTAKE": {"default_uptake": -1.0},
    "INVALID_BOUNDS_FORMAT": {"custom_bounds": {"cpd00007": [1, 2, 3]}},
    "COMPOUND_NOT_IN_LIST": {"custom_bounds": {"cpd00179": [-1, 1]}},
    "BOUNDS_OUT_OF_ORDER": {"custom_bounds": {"cpd00027": [1, -1]}},
}
"""The codes in the order of the seed, and arguments that make each happen."""


def joined(*codes: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {"compounds": COMPLETE, "custom_bounds": {}}
    for code in reversed(codes):
        bounds = {**arguments["custom_bounds"], **FAULTS[code].get("custom_bounds", {})}
        arguments = {**arguments, **FAULTS[code], "custom_bounds": bounds}
    return arguments


@pytest.mark.parametrize("code", FAULTS)
def test_every_fault_of_a_medium_has_its_code(call: Call, code: str) -> None:
    wire = call("build_media", joined(code))
    assert (wire["error_type"], wire["error_code"], wire["jsonrpc_error_code"]) == ("validation_error", code, -32000)
    assert wire["effect"] == "none"
    assert wire["violations"]
    assert wire["suggestions"]


def test_of_two_faults_the_first_in_the_order_of_the_seed_decides_and_both_are_reported(call: Call) -> None:
    for first, second in combinations(FAULTS, 2):
        wire = call("build_media", joined(first, second))
        assert wire["error_code"] == first, second
        places = [item["path"].partition(".")[0] for item in wire["violations"]]
        for code in (first, second):
            assert next(iter(FAULTS[code])) in places, (first, second)


def test_form_is_judged_before_what_the_ids_lead_to(call: Call) -> None:
    assert media(call, ["cpd99999"], default_uptake=0)["error_code"] == "NEGATIVE_UPTAKE"
    assert media(call, ["cpd99999"])["error_code"] == "INVALID_COMPOUND_IDS"


@pytest.mark.parametrize(
    "custom_bounds",
    [
        *([1], "x", 5, True),
        *({"cpd00027": item} for item in ([], [1], [1, 2, 3], "12", 5, {}, ["a", 1], [True, 2], [[1], 2], None)),
        {"cpd00027": [-(10**400), 1]},
    ],
    ids=lambda bounds: str(bounds)[:40],
)
def test_bounds_that_are_no_pair_of_numbers_are_refused(call: Call, custom_bounds: Any) -> None:
    assert media(call, custom_bounds=custom_bounds)["error_code"] == "INVALID_BOUNDS_FORMAT"


@pytest.mark.parametrize("pair", [[1, 1], [2, 1], [-1, -1], [0, -0.5]], ids=str)
def test_bounds_have_to_be_in_order(call: Call, pair: list[float]) -> None:
    wire = media(call, custom_bounds={"cpd00027": pair})
    assert wire["error_code"] == "BOUNDS_OUT_OF_ORDER"
    assert (wire["details"]["lower"], wire["details"]["upper"]) == tuple(pair)
    assert "next_step" not in wire  # bounds in the other order would be other bounds


@pytest.mark.parametrize("uptake", [0, -0.0, -10])
def test_an_uptake_has_to_be_above_zero(call: Call, uptake: float) -> None:
    wire = media(call, default_uptake=uptake)
    assert wire["error_code"] == "NEGATIVE_UPTAKE"
    assert "next_step" not in wire  # an uptake with the other sign would be a secretion


def test_invalid_ids_are_reported_with_the_valid_ones(call: Call) -> None:
    wire = media(call, ["cpd99999", "cpd00ABC", "cpd00027", "cpd00007", "cpd00001"])
    details = wire["details"]
    assert details["invalid_ids"] == ["cpd99999", "cpd00ABC"]
    assert details["valid_ids"] == ["cpd00027", "cpd00007", "cpd00001"]
    assert (details["total_provided"], details["total_invalid"], details["total_valid"]) == (5, 2, 3)


def test_the_lists_of_an_error_are_bounded_and_the_counts_are_not(call: Call) -> None:
    wire = media(call, [f"cpd{number:05}" for number in range(90_000, 91_000)])
    assert len(wire["details"]["invalid_ids"]) <= 50
    assert wire["details"]["total_invalid"] == 1_000


def test_ids_in_another_spelling_are_corrected(call: Call) -> None:
    wire = media(call, ["CPD00027", "Cpd00007", *COMPLETE[2:]], custom_bounds={})
    assert wire["error_code"] == "INVALID_COMPOUND_IDS"
    assert [item["compound_id"] for item in follow(call, wire)["compounds"]] == COMPLETE


@pytest.mark.parametrize("given", ["EX_cpd00027_e0", "CPD27"])
def test_an_id_in_another_form_is_searched_for_and_not_put_in(call: Call, given: str) -> None:
    wire = media(call, [given, *COMPLETE[1:]], custom_bounds={})
    assert wire["error_code"] == "INVALID_COMPOUND_IDS"
    assert [fault["suggestion"] for fault in wire["violations"]] == ["cpd00027"]
    assert follow(call, wire)["results"][0]["compound_id"] == "cpd00027"


@pytest.mark.parametrize("given", ["EX_glc__D_e", "glc__D_e", "M_glc__D_e", "glc__D[e]", "EX_glc-D(e)"])
def test_the_exchange_or_metabolite_of_a_bigg_id_is_found(call: Call, given: str) -> None:
    wire = media(call, [given, *COMPLETE[1:]], custom_bounds={})
    assert wire["error_code"] == "INVALID_COMPOUND_IDS"
    assert [fault["suggestion"] for fault in wire["violations"]] == ["cpd00027"]
    assert follow(call, wire)["results"][0]["compound_id"] == "cpd00027"


def test_a_formula_in_the_place_of_an_id_is_searched_for(call: Call) -> None:
    wire = media(call, ["O2", *COMPLETE], custom_bounds={})
    assert "BiGG" in wire["violations"][0]["message"]
    assert "cpd00007" in [item["compound_id"] for item in follow(call, wire)["results"]]


def test_bounds_under_another_form_of_an_id_name_it(call: Call) -> None:
    wire = media(call, custom_bounds={"EX_cpd00027_e0": [-1, 2]})
    assert wire["error_code"] == "COMPOUND_NOT_IN_LIST"
    assert [fault["suggestion"] for fault in wire["violations"]] == ["cpd00027"]
    assert "next_step" not in wire


def test_a_name_in_the_place_of_an_id_is_searched_for(call: Call) -> None:
    wire = media(call, ["sugar of some kind", *COMPLETE])
    assert wire["next_step"] == {"tool": "search_compounds", "arguments": {"query": "sugar of some kind"}}


# Plausibility.


@pytest.mark.parametrize(
    ("missing", "kind"),
    [
        ("cpd00027", "carbon source"),
        ("cpd00013", "nitrogen source"),
        ("cpd00009", "phosphorus source"),
        ("cpd00048", "sulfur source"),
    ],
)
@pytest.mark.parametrize("is_blocked", [False, True])
def test_a_medium_that_lacks_a_nutrient_is_made_with_a_warning(
    call: Call, missing: str, kind: str, is_blocked: bool
) -> None:
    if is_blocked:
        wire = media(call, custom_bounds={missing: [0, 0]})
    else:
        wire = media(call, [item for item in COMPLETE if item != missing])
    (warning,) = warnings(wire)
    assert kind in warning


def test_an_obsolete_compound_is_warned_of(call: Call) -> None:
    (warning,) = warnings(media(call, [*COMPLETE, "cpd01355"]))
    assert "cpd00179" in warning


@pytest.mark.parametrize(
    ("formulas", "missing"),
    [
        (["C6H12O6", "O2", "H4N", "HO4P", "O4S"], []),
        (["CO2", "CHO3", "O2", "H4N", "HO4P", "O4S"], ["carbon source"]),
        (["C6H12O6", "O2", "N2", "HO4P", "O4S"], ["nitrogen source"]),
        (["C3H6NO2S", "NO3", "HO4P"], []),
        (["C3H6NO2S", "HO4P"], ["electron acceptor"]),
        (["", "Ca", "Cl", "Sn", "Pt", "Na", "Co"], ["carbon", "nitrogen", "phosphorus", "sulfur", "electron"]),
    ],
)
def test_nutrients_are_reported_by_formula(formulas: list[str], missing: list[str]) -> None:
    names = [source.name for source in missing_sources(formulas)]
    assert len(names) == len(missing)
    assert all(name.startswith(begin) for name, begin in zip(names, missing, strict=True))


# Whatever is given.


@given(st.lists(st.one_of(st.none(), st.floats(), st.integers(), st.booleans(), st.text(max_size=3)), max_size=4))
def test_bounds_are_a_pair_of_finite_numbers_or_nothing(given_pair: list[Any]) -> None:
    pair = bounds_of(given_pair)
    if pair is not None:
        assert len(given_pair) == 2
        assert all(isinstance(bound, float) for bound in pair)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=12)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=9), inner, max_size=3)),
    max_leaves=6,
)


@settings(deadline=None)
@given(
    arguments=st.fixed_dictionaries(
        {},
        optional={
            "compounds": st.one_of(json_values, st.lists(st.sampled_from([*COMPLETE, "cpd9", "x"]), max_size=4)),
            "default_uptake": json_values,
            "custom_bounds": st.one_of(
                json_values, st.dictionaries(st.sampled_from(["cpd00027", "cpd1", ""]), json_values, max_size=3)
            ),
        },
    )
)
def test_whatever_a_medium_is_made_of_the_answer_is_of_the_published_shape(
    call: Call, arguments: dict[str, Any]
) -> None:
    wire = call("build_media", arguments)
    assert wire["success"] or wire["error_type"] == "validation_error"


def test_a_predefined_medium_is_not_deleted_and_the_answer_names_the_argument(call: Call) -> None:
    error = call("delete_media", {"media_id": "minimal_aerobic"})
    assert (error["error_code"], error["effect"]) == ("INVALID_PARAM", "none")
    assert error["details"] == {"param": "media_id", "expected": "a medium of build_media"}
