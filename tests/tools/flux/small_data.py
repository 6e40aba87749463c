"""Data sets of the form of ModelSEED's, carveme's and ModelSEEDpy's, small enough to be made in a test."""

from __future__ import annotations

import csv
import gzip
import json
import pickle
import random
import shutil
import subprocess
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

__all__ = [
    "COMPOUNDS",
    "FUNCTIONS",
    "REACTIONS",
    "proteins_of_textbook",
    "shipped",
    "small_carveme",
    "small_modelseedpy",
    "small_tables",
    "textbook",
]

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


def small_tables(folder: Path, *, compounds: str = COMPOUNDS, reactions: str = REACTIONS) -> Path:
    """Write tables of a few rows into a folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compounds.tsv").write_text(compounds, encoding="utf-8")
    (folder / "reactions.tsv").write_text(reactions, encoding="utf-8")
    return folder


_LETTERS = "ACDEFGHIKLMNPQRSTVWY"


@cache
def _shipped(name: str) -> bytes:
    from cobra.io import read_sbml_model  # noqa: PLC0415 - it takes more than a second, for these tests alone

    return pickle.dumps(read_sbml_model(str(files("cobra.data") / f"{name}.xml.gz")))


def shipped(name: str) -> Any:
    """Return a new copy of a model that COBRApy ships, which may be changed."""
    return pickle.loads(_shipped(name))  # noqa: S301 - our own bytes


def textbook() -> Any:
    """Return the textbook model as cobra reads it; the caller may change it."""
    return shipped("textbook")


def proteins_of_textbook() -> dict[str, str]:
    """Return a protein for each gene of the textbook model, the same ones every time."""
    chance = random.Random(7)  # noqa: S311 - proteins of a test
    genes = sorted(gene.id for gene in textbook().genes if gene.id != "s0001")
    return {gene: "M" + "".join(chance.choices(_LETTERS, k=200)) for gene in genes}


def small_carveme(folder: Path) -> Path:
    """Write data as carveme has them into a folder: the textbook model as universe, and made-up proteins for its genes.

    The database of proteins is made by diamond itself, so the test is skipped where that is not installed.
    """
    program = shutil.which("diamond")
    if program is None:
        pytest.skip("diamond is not installed (Debian: diamond-aligner)")
    generated = folder / "carveme" / "data" / "generated"
    generated.mkdir(parents=True)
    packed = files("cobra.data").joinpath("textbook.xml.gz").read_bytes()
    (generated / "universe_gramneg.xml.gz").write_bytes(packed)
    fasta = "".join(f">iTB.{gene}\n{text}\n" for gene, text in proteins_of_textbook().items())
    command = [program, "makedb", "--db", str(generated / "bigg_proteins.dmnd"), "--quiet", "--threads", "1"]
    subprocess.run(command, input=fasta.encode(), check=True, capture_output=True)
    with gzip.open(generated / "bigg_gprs.csv.gz", "wt", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(["gene", "protein", "reaction", "model"])
        for reaction in textbook().reactions:
            for complex_ in reaction.gene_reaction_rule.split(" or "):
                genes = sorted(gene for gene in complex_.replace("(", "").replace(")", "").split(" and ") if gene)
                table.writerows([f"G_{gene}", f"P_{'+'.join(genes)}", f"R_{reaction.id}", "iTB"] for gene in genes)
    return folder


FUNCTIONS = {
    "fig|1.1.peg.1": "Glucose taker # of some strain",
    "fig|1.1.peg.2": "Ammonium  TAKER / Unheard-of protein",
    "fig|1.1.peg.3": "Maker of alanine, small chain",
}
"""Functions of three proteins, as RAST words them."""
_ROLES = {"ftr1": "Glucose taker", "ftr3": "Maker of alanine, small chain"}


def small_modelseedpy(folder: Path) -> Path:
    """Write a template as ModelSEEDpy has them into a folder: sugar comes in and becomes alanine."""

    def species(name: str) -> dict[str, Any]:
        compound, _, place = name.partition("_")
        refs = {"templatecompartment_ref": f"~/compartments/id/{place}", "templatecompound_ref": f"~/x/id/{compound}"}
        return {"id": name, "charge": 0, "maxuptake": 100, **refs}

    def reaction(name: str, number: int, complex_: str, **coefficients: float) -> dict[str, Any]:
        parts = [
            {"templatecompcompound_ref": f"~/x/id/{key}", "coefficient": value} for key, value in coefficients.items()
        ]
        costs = dict.fromkeys(("base_cost", "reverse_penalty", "forward_penalty"), 1)
        facts = {
            "type": "conditional",
            "direction": ">",
            "GapfillDirection": "=",
            "reaction_ref": f"~/x/id/{name[:-2]}",
        }
        refs = {"templateReactionReagents": parts, "templatecomplex_refs": [f"~/x/id/{complex_}"]}
        return {"id": name, "name": f"step {number}", **facts, **costs, **refs}

    energy = dict.fromkeys(("deltaG", "deltaGErr", "isCofactor", "defaultCharge"), 0)
    part = {"templatecompcompound_ref": "~/x/id/cpd00035_c", "class": "cofactor", "coefficient": -1}
    content = {
        "id": "GramNegative",
        "name": "GramNegTiny",
        "domain": "Bacteria",
        "type": "GenomeScale",
        "__VERSION__": 1,
        "biochemistry_ref": "1/1/1",
        "compartments": [{"id": item, "name": item, "aliases": [], "hierarchy": 0, "pH": 7} for item in "ce"],
        "compounds": [
            {"id": item, "formula": "C3", "name": item, "abbreviation": item, "mass": 1, "aliases": [], **energy}
            for item in ("cpd00027", "cpd00035")
        ],
        "compcompounds": [species(item) for item in ("cpd00027_e", "cpd00027_c", "cpd00035_c")],
        "roles": [
            {"id": f"ftr{place}", "name": _ROLES[f"ftr{place}"], "features": [], "source": "x", "aliases": []}
            for place in (1, 3)
        ],
        "complexes": [
            {
                "id": f"cpx{place}",
                "name": "x",
                "source": "x",
                "reference": "",
                "confidence": 1,
                "complexroles": [{"templaterole_ref": f"~/x/id/ftr{place}", "triggering": 1, "optional_role": 0}],
            }
            for place in (1, 3)
        ],
        "reactions": [
            reaction("rxn00001_c", 1, "cpx1", cpd00027_e=-1, cpd00027_c=1),
            reaction("rxn00003_c", 2, "cpx3", cpd00027_c=-1, cpd00035_c=2),
        ],
        "biomasses": [
            {
                "id": "bio1",
                "name": "biomass",
                "type": "growth",
                "cofactor": 1,
                "templateBiomassComponents": [
                    {**part, "coefficient_type": "EXACT", "linked_compound_refs": [], "link_coefficients": []}
                ],
            }
        ],
    }
    (folder / "GramNegative.json").write_text(json.dumps(content))
    return folder
