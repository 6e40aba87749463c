"""The database of the whole of ModelSEED."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doors import Database, find_tables
from tests.programs.flux import IN_FLUX
from tests.tools.flux.database.test_database import found

pytestmark = IN_FLUX


def test_the_whole_of_modelseed_is_there(whole: Database) -> None:
    assert whole.facts() == ("compounds.tsv", 33_992, 43_774)
    assert found(whole, "glucose")[0] == "cpd00027"
    assert found(whole, "ammonia")[0] == "cpd00013"
    assert found(whole, "sulfate")[0] == "cpd00048"
    assert whole.similar("cpd99999")[:2] == ["cpd09999", "cpd19999"]
    assert whole.search_reactions("hexokinase", 1).entries[0][0].id == "rxn00216"
    obsolete = whole.compound("cpd01355")
    assert obsolete is not None
    assert (obsolete.is_obsolete, obsolete.linked) == (True, ("cpd00179",))


def test_the_tables_as_json_say_the_same_as_the_tables_as_text(dnngior_wheel: Path, pyfba_sdist: Path) -> None:
    as_text, as_json = (find_tables(archive).read() for archive in (dnngior_wheel, pyfba_sdist))
    for rows, others in zip(as_text, as_json, strict=True):
        assert {entry.id: entry for entry in rows} == {entry.id: entry for entry in others}


@pytest.mark.parametrize("query", ["rn00010", "GLYCOLYSIS glucose"])
def test_reactions_are_found_by_the_pathways_of_modelseed(whole: Database, query: str) -> None:
    assert any(entry.id == "rxn00148" for entry, _ in whole.search_reactions(query, 100).entries)
