"""Seed 002, "Example Recovery Scenarios": a scripted client over stdio that knows only what failures tell it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters

from tests.contract.flux_agent import Agent, GaveUpError
from tests.programs.flux import IN_FLUX

pytestmark = IN_FLUX

AEROBIC = ["cpd00027", "cpd00007", "cpd00001", "cpd00009", "cpd00013", "cpd00067"]
"""Glucose, oxygen, water, phosphate, ammonium, protons."""
NITROGEN = "cpd00013"


@pytest.fixture(scope="module")
def agent(flux_python: str) -> Iterator[Agent]:
    """An agent at a server that runs in a process of its own."""
    server = StdioServerParameters(
        command=flux_python,
        args=["-m", "failsoft", "serve", "flux"],
        env={**os.environ, "FAILSOFT_FLUX_WORKERS": "1"},
    )
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server)) as client:
        schemas = {tool.name: tool.output_schema for tool in portal.call(client.list_tools).tools}

        def ask(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            result = portal.call(client.call_tool, name, arguments)
            answer: dict[str, Any] = result.structured_content or {}
            assert json.loads(result.content[0].text) == answer
            assert result.is_error is not answer["success"]
            jsonschema.validate(answer, schemas[name] or {})
            return answer

        yield Agent(ask, frozenset(schemas))


@pytest.fixture(autouse=True)
def fresh(agent: Agent) -> None:
    agent.said.clear()


def codes(agent: Agent) -> list[str]:
    """Return the codes that the agent has met, in order."""
    return [code for _, code in agent.said if code is not None]


def textbook(agent: Agent, **changes: Any) -> str:
    """Return the id of a published model, with changes."""
    model_id: str = agent.call("load_model", {"name": "textbook"})["model_id"]
    if changes:
        model_id = agent.call("modify_model", {"model_id": model_id, **changes})["model_id"]
    return model_id


def fed(agent: Agent, compounds: list[str]) -> str:
    """Return the id of a medium."""
    media_id: str = agent.call("build_media", {"compounds": compounds, "default_uptake": 10.0})["media_id"]
    return media_id


@pytest.mark.parametrize(
    ("compounds", "wrong", "right"),
    [
        (["D-Glucose", "cpd00007", "cpd00013", "cpd00009", "cpd00048"], "D-Glucose", "cpd00027"),
        (["CPD27", "cpd00007", "cpd00013", "cpd00009", "cpd00048"], "CPD27", "cpd00027"),
    ],
)
def test_scenario_1_a_name_or_a_misspelt_id_is_searched_for_and_the_medium_is_made(
    agent: Agent, compounds: list[str], wrong: str, right: str
) -> None:
    made, arguments = agent.reach("build_media", {"compounds": compounds})
    assert codes(agent) == ["INVALID_COMPOUND_IDS"]
    assert arguments["compounds"] == [right if item == wrong else item for item in compounds]
    assert "warnings" not in made.get("metadata", {})


@pytest.mark.parametrize("wrong", ["cpd99999", "cpd00ABC"])
def test_scenario_1_an_unknown_id_is_replaced_by_the_compound_that_the_agent_searches_for(
    agent: Agent, wrong: str
) -> None:
    """Only the agent knows what it meant by a number that no compound has; the suggestions name the search."""
    others = ["cpd00007", "cpd00013", "cpd00009", "cpd00048"]
    failure = agent.call("build_media", {"compounds": [wrong, *others]})
    assert (failure["error_code"], failure["details"]["invalid_ids"]) == ("INVALID_COMPOUND_IDS", [wrong])
    assert "next_step" not in failure
    search = next(tool for tool in agent.suggested(failure) if tool.startswith("search"))
    found = agent.call(search, {"query": "glucose"})["results"][0]["compound_id"]
    made = agent.call("build_media", {"compounds": [found, *others]})
    assert made["success"]
    assert "warnings" not in made.get("metadata", {})


def test_scenario_2_a_medium_on_which_gaps_cannot_be_filled_is_completed_and_they_are(agent: Agent) -> None:
    gappy = textbook(agent, remove_reactions=["CS", "ENO"])
    poor = [item for item in AEROBIC if item != NITROGEN]
    filled, arguments = agent.reach(
        "gapfill_model", {"model_id": gappy, "media_id": fed(agent, poor), "target_growth": 0.3}
    )
    assert codes(agent) == ["GAPFILL_INFEASIBLE"]
    asked = {"model_id": filled["model_id"], "media_id": arguments["media_id"]}
    assert agent.call("run_fba", asked)["growth_rate"] >= 0.3


def test_scenario_2_looking_up_every_compound_finds_the_same_nutrient_missing(agent: Agent) -> None:
    """As the seed tells it: the agent looks at the medium itself, and sees which element none of its compounds has."""
    gappy = textbook(agent, remove_reactions=["CS", "ENO"])
    poor = [item for item in AEROBIC if item != NITROGEN]
    failure = agent.call("gapfill_model", {"model_id": gappy, "media_id": fed(agent, poor), "target_growth": 0.3})
    assert "get_compound_name" in agent.suggested(failure)
    formulas = [agent.call("get_compound_name", {"compound_id": item})["formula"] for item in poor]
    assert [element for element in "CNP" if not any(map(re.compile(f"{element}(?![a-z])").search, formulas))] == ["N"]
    (nutrient,) = failure["details"]["missing_nutrients"]
    named = agent.call("get_compound_name", {"compound_id": nutrient["compound_id"]})
    assert "N" in named["formula"]
    again = {"model_id": gappy, "media_id": fed(agent, [*poor, named["compound_id"]]), "target_growth": 0.3}
    assert agent.call("gapfill_model", again)["success"]


def gapfilled(agent: Agent, **changes: Any) -> tuple[str, str]:
    """Return the ids of a gapfilled model, and of the medium that it grows on."""
    media_id = fed(agent, AEROBIC)
    gappy = textbook(agent, remove_reactions=["CS", "ENO"], **changes)
    asked = {"model_id": gappy, "media_id": media_id, "target_growth": 0.3}
    return agent.call("gapfill_model", asked)["model_id"], media_id


def test_scenario_3_a_gapfilled_model_that_does_not_grow_on_another_medium_is_fed_what_that_lacks(agent: Agent) -> None:
    model_id, _ = gapfilled(agent)
    other = fed(agent, [item for item in AEROBIC if item not in {"cpd00009", "cpd00013"}])
    grown, _ = agent.reach("run_fba", {"model_id": model_id, "media_id": other})
    assert codes(agent) == ["FBA_INFEASIBLE"]
    assert grown["growth_rate"] > 0.1


def test_scenario_3_a_gapfilled_model_that_has_lost_reactions_gets_those_back_that_it_needs(agent: Agent) -> None:
    model_id, media_id = gapfilled(agent)
    ways_to_ribose = ["G6PDH2r", "RPI", "RPE"]
    lost = agent.call("modify_model", {"model_id": model_id, "remove_reactions": ways_to_ribose})["model_id"]
    grown, arguments = agent.reach("run_fba", {"model_id": lost, "media_id": media_id})
    assert set(codes(agent)) == {"FBA_INFEASIBLE"}
    assert ("modify_model", None) in agent.said[-2:]
    assert arguments["model_id"] not in {model_id, lost}
    assert grown["growth_rate"] > 0


def test_scenario_3_what_cannot_be_repaired_is_inspected_and_then_reported_to_the_user(agent: Agent) -> None:
    stuck, media_id = gapfilled(agent, bounds={"PGI": [0, 0]})
    asked = {"model_id": stuck, "media_id": media_id, "objective": "PGI"}
    with pytest.raises(GaveUpError) as gave_up:
        agent.reach("run_fba", asked)
    report = gave_up.value.report
    assert report["error_code"] == "FBA_INFEASIBLE"
    assert re.fullmatch(r"[0-9a-f]{16}", report["error_id"])
    failure = agent.call("run_fba", asked)
    assert failure["suggestions"]
    model = agent.call("export_model_json", {"model_id": stuck, "section": "reactions"})["model"]
    by_id = {item["id"]: item for item in model["reactions"]}
    assert sum(name.startswith("EX_") for name in by_id) == report["details"]["num_exchange_reactions"]
    assert "Biomass_Ecoli_core" in by_id
    assert (by_id["PGI"]["lower_bound"], by_id["PGI"]["upper_bound"]) == (0, 0)
