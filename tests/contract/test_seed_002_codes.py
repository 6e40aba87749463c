"""Seed 002, every code of every tool: made to happen by the real solver and database, and held to what all must be."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from failsoft import ToolError
from failsoft.tools.flux import Flux
from tests.contract.flux_agent import Agent
from tests.contract.flux_case import PROTEIN, Answer, Case, Stocked
from tests.doors import FluxSettings, flux_module as flux
from tests.programs.flux import IN_FLUX
from tests.programs.rast import RastServer, rast, rast_service  # noqa: F401 - fixtures
from tests.tools.flux.lab import AEROBIC, Lab
from tests.tools.flux.small_data import proteins_of_textbook, small_carveme, small_modelseedpy, small_tables

pytestmark = IN_FLUX

LOOK_UP = ("INVALID_ID_FORMAT", "DATABASE_NOT_LOADED")
SEARCH = ("EMPTY_QUERY", "INVALID_LIMIT", "DATABASE_NOT_LOADED")
SEED: dict[str, tuple[str, ...]] = {
    "build_media": (
        *("INVALID_COMPOUND_IDS", "EMPTY_COMPOUNDS_LIST", "INVALID_BOUNDS_FORMAT", "BOUNDS_OUT_OF_ORDER"),
        *("NEGATIVE_UPTAKE", "COMPOUND_NOT_IN_LIST"),
    ),
    "build_model": (
        *("INVALID_PROTEIN_SEQUENCES", "EMPTY_PROTEIN_SEQUENCES", "INVALID_TEMPLATE_NAME", "MODELSEEDPY_ERROR"),
        "RAST_UNAVAILABLE",
    ),
    "gapfill_model": (
        *("MODEL_NOT_FOUND", "MEDIA_NOT_FOUND", "GAPFILL_INFEASIBLE", "INVALID_TARGET_GROWTH"),
        *("TEMPLATE_NOT_LOADED", "MAX_COMPLEXITY_EXCEEDED"),
    ),
    "run_fba": (
        *("MODEL_NOT_FOUND", "MEDIA_NOT_FOUND", "OBJECTIVE_NOT_FOUND", "FBA_INFEASIBLE", "FBA_UNBOUNDED"),
        *("COBRAPY_SOLVER_ERROR", "INVALID_FLUX_THRESHOLD"),
    ),
    "get_compound_name": ("COMPOUND_NOT_FOUND", *LOOK_UP),
    "get_reaction_name": ("REACTION_NOT_FOUND", *LOOK_UP),
    "search_compounds": SEARCH,
    "search_reactions": SEARCH,
}
"""The lists of codes under "Tool-Specific Error Handling"."""
KINDS = {
    "MODELSEEDPY_ERROR": ("library_error", -32003),
    "COBRAPY_SOLVER_ERROR": ("library_error", -32003),
    "MODEL_NOT_FOUND": ("not_found_error", -32001),
    "MEDIA_NOT_FOUND": ("not_found_error", -32001),
    "OBJECTIVE_NOT_FOUND": ("not_found_error", -32001),
    "GAPFILL_INFEASIBLE": ("infeasibility_error", -32002),
    "MAX_COMPLEXITY_EXCEEDED": ("infeasibility_error", -32002),
    "FBA_INFEASIBLE": ("infeasibility_error", -32002),
    "FBA_UNBOUNDED": ("infeasibility_error", -32002),
    "COMPOUND_NOT_FOUND": ("database_error", -32004),
    "REACTION_NOT_FOUND": ("database_error", -32004),
    "DATABASE_NOT_LOADED": ("database_error", -32004),
    "RAST_UNAVAILABLE": ("server_error", -32603),
    "TEMPLATE_NOT_LOADED": ("server_error", -32603),
}
"""What is no `validation_error`."""
DETAILS = {
    "INVALID_COMPOUND_IDS": {"invalid_ids", "valid_ids", "total_provided", "total_invalid", "total_valid"},
    "MODEL_NOT_FOUND": {"requested_id", "available_models", "num_available"},
    "GAPFILL_INFEASIBLE": {
        *("model_id", "media_id", "target_growth", "max_complexity", "media_compounds", "template_reactions_available")
    },
    "FBA_INFEASIBLE": {
        *("model_id", "media_id", "objective", "solver_status", "num_reactions", "num_metabolites"),
        "num_exchange_reactions",
    },
    "INVALID_PROTEIN_SEQUENCES": {
        *("invalid_sequences", "valid_sequences", "total_sequences", "total_invalid", "allowed_characters")
    },
    "MODELSEEDPY_ERROR": {"library", "operation", "exception_type", "exception_message", "template_requested"},
    "COBRAPY_SOLVER_ERROR": {"library", "operation", "solver", "exception_type", "exception_message"},
    "COMPOUND_NOT_FOUND": {"requested_id", "database", "total_compounds", "similar_ids"},
}
"""The keys of `details` in the seed's examples."""
KEYS = [
    *("success", "error_type", "error_code", "jsonrpc_error_code", "message", "details", "suggestions"),
    *("tool_name", "timestamp"),
]
UNSTABLE = 1e155
"""A coefficient that floating point numbers hold, and whose square they do not."""


@pytest.fixture(scope="session")
def lab(flux_lab: Lab) -> Lab:
    return flux_lab


@pytest.fixture(scope="module")
def tableless(tmp_path_factory: pytest.TempPathFactory) -> Flux:
    scratch = tmp_path_factory.mktemp("scratch")
    tables = small_tables(scratch / "tables", compounds="no table", reactions="no table")
    return Stocked(settings=FluxSettings(tables=tables), cache_dir=scratch / "cache")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_modelseedpy(small_carveme(tmp_path_factory.mktemp("data")))


@pytest.fixture
def case(lab: Lab, folder: Path, tableless: Flux, rast: RastServer) -> Case:  # noqa: F811 - the fixture
    return Case(lab, folder, tableless, rast)


def with_(tool: str, **arguments: Any) -> Callable[[Case], Answer]:
    return lambda case: case.call(tool, **arguments)


def media(**arguments: Any) -> Callable[[Case], Answer]:
    return with_("build_media", **{"compounds": AEROBIC, **arguments})


def building(case: Case, **arguments: Any) -> Answer:
    return case.call("build_model", **{"protein_sequences": {"a": PROTEIN}, "template": "GramNegative", **arguments})


def invalid_compound_ids(case: Case) -> Answer:
    """The seed's first example."""
    answer = case.call("build_media", compounds=["cpd99999", "cpd00ABC", "cpd00027", "cpd00007", "cpd00001"])
    assert answer["details"] == {
        "invalid_ids": ["cpd99999", "cpd00ABC"],
        "valid_ids": ["cpd00027", "cpd00007", "cpd00001"],
        "total_provided": 5,
        "total_invalid": 2,
        "total_valid": 3,
    }
    return answer


def model_not_found(case: Case) -> Answer:
    """The seed's second."""
    made = [case.model(), case.model()]
    answer = case.call("run_fba", model_id="model_xyz")
    assert answer["details"] == {"requested_id": "model_xyz", "available_models": made, "num_available": 2}
    return answer


def gapfill_infeasible(case: Case) -> Answer:
    media_id = case.medium("cpd00013")
    return case.call("gapfill_model", model_id=case.gappy(), media_id=media_id, max_complexity=10)


def max_complexity_exceeded(case: Case) -> Answer:
    return case.call("gapfill_model", model_id=case.gappy(), media_id=case.medium(), max_complexity=1)


def template_not_loaded(case: Case) -> Answer:
    return case.call("gapfill_model", model_id=case.shelved(template="Archaea"), media_id=case.medium())


def fba_infeasible(case: Case) -> Answer:
    return case.call("run_fba", model_id=case.model(), media_id=case.medium("cpd00013"))


def fba_unbounded(case: Case) -> Answer:
    endless = case.model(bounds={"FRD7": [0, None], "SUCDi": [0, None]})
    return case.call("run_fba", model_id=endless, objective="FRD7")


def invalid_protein_sequences(case: Case) -> Answer:
    """The seed's fifth."""
    sequences = {
        "prot_001": PROTEIN[:44] + "X" + PROTEIN[45:],
        "prot_002": PROTEIN,
        "prot_003": "",
        "prot_004": PROTEIN,
        "prot_005": PROTEIN,
    }
    answer = building(case, protein_sequences=sequences)
    details = answer["details"]
    assert list(details["invalid_sequences"]) == ["prot_001", "prot_003"]
    assert "'X' at position 45" in details["invalid_sequences"]["prot_001"]
    assert details["valid_sequences"] == ["prot_002", "prot_004", "prot_005"]
    assert (details["total_sequences"], details["total_invalid"]) == (5, 2)
    assert details["allowed_characters"] == "ACDEFGHIKLMNPQRSTVWY"
    return answer


def modelseedpy_error(case: Case) -> Answer:
    """A Python without ModelSEEDpy."""
    case.use_modelseedpy(Path(sys.executable))
    return building(case, annotate_with_rast=True)


def rast_unavailable(case: Case) -> Answer:
    """It is not set up; what the next step does is build without it."""
    return building(case, protein_sequences=dict([*proteins_of_textbook().items()][:5]), annotate_with_rast=True)


def solver_error(case: Case) -> Answer:
    """Numbers that no solver can hold."""
    from tests.doors import packed  # noqa: PLC0415 - it loads cobra

    ways = {
        "SOURCE": ({"a_c": 1}, 1000),
        "CHANGE": ({"a_c": -1 / UNSTABLE, "b_c": UNSTABLE}, 1000),
        "bio1": ({"b_c": -1 / UNSTABLE}, "inf"),
    }
    reactions = [
        {"id": name, "name": "", "gene_reaction_rule": "", "metabolites": metabolites, "lower_bound": 0}
        | {"upper_bound": high, "objective_coefficient": float(name == "bio1")}
        for name, (metabolites, high) in ways.items()
    ]
    metabolites = [{"id": name, "name": "", "compartment": "c"} for name in ("a_c", "b_c")]
    content = {"id": "wild", "metabolites": metabolites, "reactions": reactions, "genes": []}
    return case.call("run_fba", model_id=case.shelved(**packed(content)))


def without_database(tool: str, **arguments: Any) -> Callable[[Case], Answer]:
    def trigger(case: Case) -> Answer:
        case.without_database()
        return case.call(tool, **arguments)

    return trigger


TRIGGERS: dict[tuple[str, str], Callable[[Case], Answer]] = {
    ("build_media", "INVALID_COMPOUND_IDS"): invalid_compound_ids,
    ("build_media", "EMPTY_COMPOUNDS_LIST"): media(compounds=[]),
    ("build_media", "INVALID_BOUNDS_FORMAT"): media(custom_bounds={"cpd00027": [1, 2, 3]}),
    ("build_media", "BOUNDS_OUT_OF_ORDER"): media(custom_bounds={"cpd00027": [10, -10]}),
    ("build_media", "NEGATIVE_UPTAKE"): media(default_uptake=-10),
    ("build_media", "COMPOUND_NOT_IN_LIST"): media(custom_bounds={"cpd00179": [-1, 1]}),
    ("build_model", "INVALID_PROTEIN_SEQUENCES"): invalid_protein_sequences,
    ("build_model", "EMPTY_PROTEIN_SEQUENCES"): lambda case: building(case, protein_sequences={}),
    ("build_model", "INVALID_TEMPLATE_NAME"): lambda case: building(case, template="GramNeutral"),
    ("build_model", "MODELSEEDPY_ERROR"): modelseedpy_error,
    ("build_model", "RAST_UNAVAILABLE"): rast_unavailable,
    ("gapfill_model", "MODEL_NOT_FOUND"): with_("gapfill_model", model_id="model_xyz", media_id="media_xyz"),
    ("gapfill_model", "MEDIA_NOT_FOUND"): lambda case: case.call(
        "gapfill_model", model_id=case.model(), media_id="media_xyz"
    ),
    ("gapfill_model", "GAPFILL_INFEASIBLE"): gapfill_infeasible,
    ("gapfill_model", "INVALID_TARGET_GROWTH"): with_(
        "gapfill_model", model_id="model_xyz", media_id="media_xyz", target_growth=-1
    ),
    ("gapfill_model", "TEMPLATE_NOT_LOADED"): template_not_loaded,
    ("gapfill_model", "MAX_COMPLEXITY_EXCEEDED"): max_complexity_exceeded,
    ("run_fba", "MODEL_NOT_FOUND"): model_not_found,
    ("run_fba", "MEDIA_NOT_FOUND"): lambda case: case.call("run_fba", model_id=case.model(), media_id="media_xyz"),
    ("run_fba", "OBJECTIVE_NOT_FOUND"): lambda case: case.call("run_fba", model_id=case.model(), objective="bio1"),
    ("run_fba", "FBA_INFEASIBLE"): fba_infeasible,
    ("run_fba", "FBA_UNBOUNDED"): fba_unbounded,
    ("run_fba", "COBRAPY_SOLVER_ERROR"): solver_error,
    ("run_fba", "INVALID_FLUX_THRESHOLD"): with_("run_fba", model_id="model_xyz", flux_threshold=-1),
    ("get_compound_name", "COMPOUND_NOT_FOUND"): with_("get_compound_name", compound_id="cpd99999"),
    ("get_compound_name", "INVALID_ID_FORMAT"): with_("get_compound_name", compound_id="compound_027"),
    ("get_compound_name", "DATABASE_NOT_LOADED"): without_database("get_compound_name", compound_id="compound_027"),
    ("get_reaction_name", "REACTION_NOT_FOUND"): with_("get_reaction_name", reaction_id="rxn99999"),
    ("get_reaction_name", "INVALID_ID_FORMAT"): with_("get_reaction_name", reaction_id="RXN00148"),
    ("get_reaction_name", "DATABASE_NOT_LOADED"): without_database("get_reaction_name", reaction_id="RXN00148"),
    ("search_compounds", "EMPTY_QUERY"): with_("search_compounds", query=" "),
    ("search_compounds", "INVALID_LIMIT"): with_("search_compounds", query="glucose", limit=0),
    ("search_compounds", "DATABASE_NOT_LOADED"): without_database("search_compounds", query="glucose"),
    ("search_reactions", "EMPTY_QUERY"): with_("search_reactions", query=""),
    ("search_reactions", "INVALID_LIMIT"): with_("search_reactions", query="kinase", limit=2.5),
    ("search_reactions", "DATABASE_NOT_LOADED"): without_database("search_reactions", query="kinase"),
}


def test_every_code_of_the_seed_has_a_trigger_and_no_other_has() -> None:
    assert set(TRIGGERS) == {(tool, code) for tool, codes in SEED.items() for code in codes}


def test_the_toolset_has_the_errors_of_the_seed_and_those_of_files() -> None:
    classes = [getattr(flux, name) for name in flux.__all__]
    found = {item.code for item in classes if isinstance(item, type) and issubclass(item, ToolError)}
    seed = {code for codes in SEED.values() for code in codes}
    assert found - seed == {"INPUT_FILE_NOT_FOUND", "INVALID_INPUT_FILE"}
    assert seed <= found


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    """What is logged."""
    found: list[dict[str, Any]] = []
    logger.enable("failsoft")
    sink = logger.add(lambda message: found.append(dict(message.record["extra"])), level="DEBUG")
    yield found
    logger.remove(sink)
    logger.disable("failsoft")


@pytest.mark.parametrize(("tool", "code"), TRIGGERS, ids=str)
def test_every_code_happens_and_is_all_that_the_checklist_asks_for(
    case: Case, lines: list[dict[str, Any]], tool: str, code: str
) -> None:
    answer = TRIGGERS[tool, code](case)
    assert answer.get("error_code") == code, answer
    keys = [name for name in answer if name in KEYS]
    assert keys == [name for name in KEYS if name in answer] == list(answer)[: len(keys)]
    assert set(KEYS) - set(keys) <= {"details"}
    assert (answer["success"], answer["tool_name"], answer["effect"]) == (False, tool, "none")
    assert (answer["error_type"], answer["jsonrpc_error_code"]) == KINDS.get(code, ("validation_error", -32000))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", answer["timestamp"])
    assert 20 < len(answer["message"]) < 1_000
    assert answer.get("details", {}).keys() >= DETAILS.get(code, set())
    if answer["error_type"] == "validation_error":
        assert answer["violations"]
    assert_can_be_followed(case, answer)
    (line,) = [line for line in lines if line.get("error_id") == answer["error_id"]]
    assert line.items() >= {"code": code, "operation": tool, "error_type": answer["error_type"]}.items()
    assert line["numeric_code"] == answer["jsonrpc_error_code"]


def assert_can_be_followed(case: Case, answer: Answer) -> None:
    """Hold the advice of a failure to naming tools that there are, and its next step to being a sound call."""
    assert answer["suggestions"]
    named = re.findall(r"\b(?:get|search|build|load|modify|gapfill|run|export|list|delete)_[a-z_]+", str(answer))
    assert set(named) <= set(case.tool.operations) | {"build_base_model"}
    step = answer.get("next_step")
    if step is None:
        return
    found = case.call(step["tool"], **step["arguments"])
    if answer["error_code"] == "DATABASE_NOT_LOADED":
        assert found["error_code"] == "DATABASE_NOT_LOADED"
    else:
        assert found["success"], found


def test_what_modelseedpy_says_is_reported_without_places_on_the_server_and_without_sequences(
    case: Case, tmp_path: Path
) -> None:
    said = {"operation": "MSBuilder.build", "exception_type": "ValueError"}
    said["exception_message"] = f"cannot read {tmp_path}/x.json, nor {PROTEIN[:30]}*"
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\ncat > /dev/null\ncat <<'END'\n{json.dumps(said)}\nEND\n")
    python.chmod(0o755)
    case.use_modelseedpy(python)
    details = building(case, annotate_with_rast=True)["details"]
    assert details["exception_message"] == "cannot read <path>, nor <sequence>"


def in_turn(case: Case, tool: str, arguments: Answer, *mended: Answer) -> list[str | None]:
    """Return the codes of calls in which one fault after the other is corrected; None is a success."""
    found = []
    for change in ({}, *mended):
        arguments = {**arguments, **change}
        found.append(case.call(tool, **arguments).get("error_code"))
    return found


def test_the_faults_of_a_medium_are_reported_in_the_order_of_the_seed(case: Case) -> None:
    """Whether ids exist is the second stage, so it is judged after all forms."""
    bounds = {"cpd00007": [1, 2, 3], "cpd00179": [-1, 1], "cpd00027": [1, -1]}
    wrong = {"compounds": [], "default_uptake": -1, "custom_bounds": bounds}
    assert len(case.call("build_media", **wrong)["violations"]) >= 5
    assert in_turn(
        case,
        "build_media",
        wrong,
        {"compounds": ["cpd00027", "cpd00007", "cpd00ABC"]},
        {"compounds": ["cpd00027", "cpd00007", "cpd99999"]},
        {"default_uptake": 10},
        {"custom_bounds": {**bounds, "cpd00007": [0, 0]}},
        {"custom_bounds": {"cpd00007": [0, 0], "cpd00027": [1, -1]}},
        {"custom_bounds": {"cpd00007": [0, 0], "cpd00027": [-1, 1]}},
        {"compounds": ["cpd00027", "cpd00007"]},
    ) == [
        *("EMPTY_COMPOUNDS_LIST", "INVALID_COMPOUND_IDS", "NEGATIVE_UPTAKE", "INVALID_BOUNDS_FORMAT"),
        *("COMPOUND_NOT_IN_LIST", "BOUNDS_OUT_OF_ORDER", "INVALID_COMPOUND_IDS", None),
    ]


def test_the_faults_of_a_build_are_reported_in_the_order_of_the_seed(case: Case) -> None:
    wrong = {"protein_sequences": {"no id": "MK1"}, "template": "x", "annotate_with_rast": True}
    assert {item["path"] for item in case.call("build_model", **wrong)["violations"]} == {
        "protein_sequences.no id",
        "template",
    }
    assert in_turn(
        case,
        "build_model",
        {**wrong, "protein_sequences": {}},
        {"protein_sequences": {"no id": "MK1"}},
        {"protein_sequences": proteins_of_textbook()},
        {"template": "Archaea"},
        {"template": "GramNegative"},
        {"annotate_with_rast": False},
    ) == [
        *("EMPTY_PROTEIN_SEQUENCES", "INVALID_PROTEIN_SEQUENCES", "INVALID_TEMPLATE_NAME", "TEMPLATE_NOT_LOADED"),
        *("RAST_UNAVAILABLE", None),
    ]


def test_the_faults_of_a_gapfilling_are_reported_in_the_order_of_the_seed(case: Case) -> None:
    wrong = {"model_id": "model_xyz", "media_id": "media_xyz", "target_growth": -1, "max_complexity": 0}
    assert {item["path"] for item in case.call("gapfill_model", **wrong)["violations"]} == {
        "target_growth",
        "max_complexity",
    }
    assert in_turn(
        case,
        "gapfill_model",
        wrong,
        {"target_growth": 0.01},
        {"max_complexity": 1},
        {"model_id": case.shelved(template="Archaea")},
        {"media_id": case.medium("cpd00013")},
        {"model_id": case.gappy()},
        {"media_id": case.medium()},
        {"max_complexity": 10},
    ) == [
        *("INVALID_TARGET_GROWTH", "INVALID_PARAM", "MODEL_NOT_FOUND", "MEDIA_NOT_FOUND", "TEMPLATE_NOT_LOADED"),
        *("GAPFILL_INFEASIBLE", "MAX_COMPLEXITY_EXCEEDED", None),
    ]


def test_the_faults_of_an_fba_are_reported_in_the_order_of_the_seed(case: Case) -> None:
    wrong = {"model_id": "model_xyz", "media_id": "media_xyz", "objective": "bio1", "flux_threshold": -1}
    assert in_turn(
        case,
        "run_fba",
        wrong,
        {"flux_threshold": 0},
        {"model_id": case.model()},
        {"media_id": case.medium("cpd00013")},
        {"objective": "Biomass_Ecoli_core"},
        {"media_id": case.medium()},
    ) == [
        *("INVALID_FLUX_THRESHOLD", "MODEL_NOT_FOUND", "MEDIA_NOT_FOUND", "OBJECTIVE_NOT_FOUND", "FBA_INFEASIBLE"),
        None,
    ]


@pytest.mark.parametrize(
    ("tool", "name", "malformed", "unknown", "known", "code"),
    [
        ("get_compound_name", "compound_id", "cpd27", "cpd99999", "cpd00027", "COMPOUND_NOT_FOUND"),
        ("get_reaction_name", "reaction_id", "rxn148", "rxn99999", "rxn00148", "REACTION_NOT_FOUND"),
    ],
)
def test_the_faults_of_a_look_up_are_reported_in_the_order_of_the_seed(
    case: Case, tool: str, name: str, malformed: str, unknown: str, known: str, code: str
) -> None:
    seen = in_turn(case, tool, {name: malformed}, {name: unknown}, {name: known})
    case.without_database()
    assert [*in_turn(case, tool, {name: malformed}), *seen] == [
        "DATABASE_NOT_LOADED",
        "INVALID_ID_FORMAT",
        code,
        None,
    ]


@pytest.mark.parametrize("tool", ["search_compounds", "search_reactions"])
def test_the_faults_of_a_search_are_reported_in_the_order_of_the_seed(case: Case, tool: str) -> None:
    wrong = {"query": "", "limit": -1}
    assert {item["path"] for item in case.call(tool, **wrong)["violations"]} == {"query", "limit"}
    assert in_turn(case, tool, wrong, {"query": "atp"}, {"limit": 1}) == ["EMPTY_QUERY", "INVALID_LIMIT", None]


def test_a_caller_without_anything_is_led_to_a_model_and_to_a_medium(case: Case) -> None:
    agent = Agent(lambda tool, arguments: case.call(tool, **arguments), frozenset(case.tool.operations))
    grown, _ = agent.reach("run_fba", {"model_id": "model_1", "media_id": "media_1"})
    assert [code for _, code in agent.said] == ["MODEL_NOT_FOUND", None, "MEDIA_NOT_FOUND", None, None]
    assert grown["growth_rate"] > 0.1


def test_a_near_name_of_a_predefined_medium_leads_to_the_list(case: Case) -> None:
    error = case.call("run_fba", model_id=case.model(), media_id="minimal")
    assert (error["error_code"], error["next_step"]) == ("MEDIA_NOT_FOUND", {"tool": "list_media", "arguments": {}})


@pytest.mark.parametrize("objective", ["bio1", "growth", "BIOMASS"])
def test_a_request_for_growth_by_another_name_leads_to_the_biomass_reaction(case: Case, objective: str) -> None:
    error = case.call("run_fba", model_id=case.model(), objective=objective)
    assert error["error_code"] == "OBJECTIVE_NOT_FOUND"
    assert case.call(error["next_step"]["tool"], **error["next_step"]["arguments"])["growth_rate"] > 0.8


STRANGE: list[Any] = [
    *(None, True, 5, -1, 1e308, 0.5, "", "x", "\0", "\ud800", "ü" * 200_000, "[]", [], [None], [[]], ["x"] * 5_000),
    *({}, {"": None}, {"x": [None, None]}, {"x": {"x": {}}}, {"success": False}),
]
"""What no tool expects."""
UNAVAILABLE = {"TEMPLATE_NOT_LOADED", "RAST_UNAVAILABLE"}
"""What this server does not have, and may say so."""


@pytest.mark.parametrize("tool", SEED)
def test_strange_arguments_are_typed_errors_and_never_a_crash(case: Case, tool: str) -> None:
    case.use(flux_diamond="none")  # so that no call compares proteins
    model_id, media_id = case.model(), case.medium()
    sounds: dict[str, Answer] = {
        "build_media": {"compounds": ["cpd00027"]},
        "build_model": {"protein_sequences": {"a": PROTEIN}, "template": "GramNegative"},
        "gapfill_model": {"model_id": model_id, "media_id": media_id},
        "run_fba": {"model_id": model_id},
        "get_compound_name": {"compound_id": "cpd00027"},
        "get_reaction_name": {"reaction_id": "rxn00148"},
    }
    sound = sounds.get(tool, {"query": "atp"})
    schema = case.tool.operations[tool].input_schema
    for name in [*schema["properties"], "surplus"]:
        for value in STRANGE:
            answer = case.call(tool, **{**sound, name: value})
            if not answer["success"]:
                assert answer["error_type"] != "server_error" or answer["error_code"] in UNAVAILABLE, answer
                assert len(str(answer)) < 20_000
    for name in schema.get("required", ()):
        missing = case.call(tool, **{key: value for key, value in sound.items() if key != name})
        assert [(item["path"], item["reason"]) for item in missing["violations"]] == [(name, "missing")]
