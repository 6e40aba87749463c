"""The distributions whose data tests read, as `scripts/fetch.sh flux_data` fetches them, and tables of a few rows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

__all__ = ["FOLDER", "fetched", "small_tables"]

FOLDER = Path(os.environ.get("FLUX_DATA", Path.home() / ".cache" / "failsoft-flux-data"))

_COMPOUNDS = """
id | abbreviation | name | formula | charge | mass | is_obsolete | linked_compound | aliases
cpd00001 | h2o | H2O | H2O | 0 | 18.0 | 0 | null | Name: Water; hydrogen oxide@AraGEM: x
cpd00007 | o2 | O2 | O2 | 0 | 32.0 | 0 | null | Name: Oxygen
cpd00009 | pi | Phosphate | HO4P | -2 | 96.0 | 0 | null | null
cpd00013 | nh3 | NH3 | H4N | 1 | 18.0 | 0 | null | Name: Ammonia; Ammonium
cpd00027 | glcD | D-Glucose | C6H12O6 | 0 | 180.0 | 0 | null | Name: Glucose; Dextrose@BiGG: glc__D@KEGG: C00031
cpd00048 | so4 | Sulfate | O4S | -2 | 96.0 | 0 | null | null
cpd00179 | malt | Maltose | C12H22O11 | 0 | 342.0 | 0 | cpd01355 | null
cpd01355 | bmal | beta-Maltose | C12H22O11 | 0 | 342.0 | 1 | cpd00179 | null
cpd11927 | odd | 3"-odd | null | 10000000 | 10000000 | 0 | null | null
"""
_REACTIONS = """
id       | abbreviation | name       | equation | definition | reversibility | is_transport | \
    ec_numbers | is_obsolete | linked_reaction | aliases
rxn00148 | R00200 | ATP:pyruvate 2-O-phosphotransferase  | (1) cpd00002[0] <=> (1) cpd00008[0] | \
    (1) ATP[0] <=> (1) ADP[0] | < | 0 | 2.7.1.40        | 0 | null     | Name: pyruvate kinase@KEGG: R00200
rxn00216 | R00299 | ATP:D-glucose 6-phosphotransferase   | (1) cpd00002[0] => (1) cpd00008[0]  | \
    (1) ATP[0] => (1) ADP[0]  | > | 0 | 2.7.1.1@2.7.1.2 | 0 | null     | Name: hexokinase
rxn06467 | R09085 | old kinase | null | null | null | 0 | null | 1 | rxn00216 | null
"""


def _as_tsv(table: str) -> str:
    """Return a table as ModelSEED writes it: tabs between the columns, bars within them (here `@`)."""
    rows = [[cell.strip().replace("@", "|") for cell in line.split("|")] for line in table.strip().split("\n")]
    return "".join("\t".join(row) + "\n" for row in rows)


COMPOUNDS, REACTIONS = _as_tsv(_COMPOUNDS), _as_tsv(_REACTIONS)


def fetched(name: str) -> Path:
    """Return the archive of a distribution, or skip the test where it was not fetched."""
    found = sorted(FOLDER.glob(f"{name}-*"))
    if not found:
        pytest.skip(f"the data of {name} was not fetched (scripts/fetch.sh flux_data)")
    return found[-1]


def small_tables(folder: Path, *, compounds: str = COMPOUNDS, reactions: str = REACTIONS) -> Path:
    """Write tables of a few rows into a folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compounds.tsv").write_text(compounds, encoding="utf-8")
    (folder / "reactions.tsv").write_text(reactions, encoding="utf-8")
    return folder
