"""The database of the whole of ModelSEED."""

from __future__ import annotations

import pytest

from tests.doors import COMPOUNDS, REACTIONS, Database
from tests.programs.flux import IN_FLUX
from tests.tools.flux.database.test_database import found

pytestmark = IN_FLUX


def test_the_whole_of_modelseed_is_there(whole: Database) -> None:
    assert whole.facts() == ("compounds.tsv", 33_992, 43_774)
    assert found(whole, "glucose")[0] == "cpd00027"
    assert found(whole, "ammonia")[0] == "cpd00013"
    assert found(whole, "sulfate")[0] == "cpd00048"
    assert whole.similar(COMPOUNDS, "cpd99999")[:2] == ["cpd09999", "cpd19999"]
    assert found(whole, "hexokinase", REACTIONS)[0] == "rxn00216"
    obsolete = whole.entry(COMPOUNDS, "cpd01355")
    assert obsolete is not None
    assert (obsolete.is_obsolete, obsolete.linked) == (True, ["cpd00179"])


@pytest.mark.parametrize("query", ["rn00010", "GLYCOLYSIS glucose"])
def test_reactions_are_found_by_the_pathways_of_modelseed(whole: Database, query: str) -> None:
    assert "rxn00148" in found(whole, query, REACTIONS, 100)
