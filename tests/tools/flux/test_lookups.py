"""What a look-up says about what it does not find: the advice fits the query, and the tables are named as they are."""

from __future__ import annotations

import io
import json

import pytest
from loguru import logger

from failsoft import configure_logging
from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab, until

pytestmark = IN_FLUX


@pytest.mark.parametrize(
    ("operation", "query", "advice"),
    [
        ("search_compounds", "cpd33000", "Search for a part of its name"),
        ("search_compounds", "rxn00148", "call `search_reactions`"),
        ("search_compounds", "glucoze", "D-Glucose"),
        ("search_compounds", "qqqqqqqq", "or a formula"),
        ("search_reactions", "rxn43000", "Search for a part of its name"),
        ("search_reactions", "cpd00027", "call `search_compounds`"),
        ("search_reactions", "EC 1.2.3.99", "a part of the enzyme's name"),
        ("search_reactions", "7.7.7.-", "a part of the enzyme's name"),
        ("search_reactions", "qqqqqqqq", "an EC number or a pathway"),
    ],
)
def test_an_empty_result_gives_advice_that_fits(lab: Lab, tool: Flux, operation: str, query: str, advice: str) -> None:
    answer = lab.call(tool, operation, {"query": query})
    assert (answer["success"], answer["results"], answer["total"]) == (True, [], 0)
    (warning,) = answer["metadata"]["warnings"]
    assert advice in warning, warning


@pytest.mark.parametrize("kind", ["compound", "reaction"])
def test_an_id_that_the_tables_lack_is_said_to_be_missing_from_them_and_the_log_says_how_to_have_all(
    lab: Lab, tool: Flux, kind: str
) -> None:
    log = io.StringIO()
    sink = configure_logging("DEBUG", json_lines=True, stream=log)
    try:
        missing = {"compound": "cpd33000", "reaction": "rxn43000"}[kind]
        answer = lab.call(tool, f"get_{kind}_name", {f"{kind}_id": missing})
        tool.database.warm_up()
        until(lambda: '"INFO"' in log.getvalue(), "the line of the start")
    finally:
        logger.remove(sink)
        logger.disable("failsoft")
    assert "not in the tables of this server" in answer["message"]
    assert f"{tool.database.facts()[1 if kind == 'compound' else 2]} {kind}s" in answer["message"]
    assert "FAILSOFT" not in json.dumps(answer)
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    (failed,) = [line for line in lines if line.get("event") == "call_failed"]
    assert "FAILSOFT_FLUX_TABLES" in failed["operator_hint"]
    (started,) = [line for line in lines if line["level"] == "INFO"]
    assert "FAILSOFT_FLUX_TABLES" in started["message"]
