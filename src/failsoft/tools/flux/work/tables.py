"""Reader of ModelSEED's templates in PyFBA's files: reactions, compounds, roles and biomass."""

from __future__ import annotations

import ast
import csv
import functools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from failsoft.tools.flux.database.reference_data import TEMPLATES
from failsoft.tools.flux.work.network import Network, NetworkMetabolite, NetworkReaction

BIOMASS = "bio1"
_DATABASE = "Biochemistry/ModelSEEDDatabase"
_COMPARTMENTS = {"0": "c0", "1": "e0"}
_DIRECTIONS = {">": (0.0, 1_000.0), "<": (-1_000.0, 0.0)}
_BIOMASS_FUNCTION = {"Core": "standard_eqn"}
"""PyFBA's biomass equation for a template; by default that of gram-negative bacteria, which has no lipids."""
_BOOKKEEPING = frozenset({"Biomass", "Protein biosynthesis", "DNA replication", "RNA transcription"})
"""Terms of those equations that are not compounds; their components are listed separately."""
_SYNONYMS = {"H": "H+"}
_EC = re.compile(r"\((?:EC|TC)\s[^)]*\)", re.IGNORECASE)
_NOT_A_WORD = re.compile(r"[^a-z0-9]+")


@functools.lru_cache(maxsize=2)
def template_universe(folder: Path, template: str) -> Network:
    """Return all reactions of a template, with its biomass and an exchange for each extracellular compound.

    Unbalanced reactions are left out: they would create mass.

    Args:
        folder: The folder `PyFBA`.
        template: A name of a template that has tables.
    """
    compounds = _compounds(folder)
    wanted = {row["id"]: row["direction"] for row in _template_rows(folder, template)}
    with (folder / _DATABASE / "Biochemistry/reactions.json").open(encoding="utf-8") as file:
        entries = [entry for entry in json.load(file) if entry["id"] in wanted]
    reactions: dict[str, NetworkReaction] = {}
    for entry in entries:
        coefficients = _coefficients(entry.get("stoichiometry") or "")
        if len(coefficients) > 1 and _is_balanced(entry):
            low, high = _DIRECTIONS.get(wanted[entry["id"]], (-1_000.0, 1_000.0))
            reactions[f"{entry['id']}_c0"] = NetworkReaction(entry.get("name") or "", coefficients, low, high)
    reactions[BIOMASS] = NetworkReaction("Biomass", _biomass(folder, template, compounds), 0.0, 1_000.0)
    used = dict.fromkeys(name for item in reactions.values() for name in item.coefficients)
    for name in used:
        if name.endswith("_e0"):
            reactions[f"EX_{name}"] = NetworkReaction(f"Exchange of {name}", {name: -1.0}, -1_000.0, 1_000.0)
    return Network({name: _metabolite(name, compounds) for name in used}, reactions, BIOMASS)


def reaction_complexes(folder: Path, template: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the type of each reaction of a template (`conditional`, `spontaneous`, ...) and its complexes."""
    return {
        f"{row['id']}_c0": (row["type"], () if row["complexes"] == "null" else tuple(row["complexes"].split("|")))
        for row in _template_rows(folder, template)
    }


@functools.lru_cache(maxsize=1)
def complexes_of_roles(folder: Path) -> Mapping[str, tuple[tuple[str, ...], ...]]:
    """Return for each complex the roles that trigger it, each as its normalized names."""
    with (folder / _DATABASE / "Annotations/Roles.tsv").open(encoding="utf-8", newline="") as file:
        roles = {row["id"]: plain_role(row["name"]) for row in csv.DictReader(file, delimiter="\t")}
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    with (folder / _DATABASE / "Annotations/Complexes.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            parts = [part.split(";") for part in row["roles"].split("|")]
            triggering = [roles[part[0]] for part in parts if part[-1] == "1" and part[0] in roles]
            found[row["id"]] = tuple((role,) for role in triggering)
    return found


def plain_role(role: str) -> str:
    """Return a normalized role: without EC numbers, case and punctuation."""
    return _NOT_A_WORD.sub(" ", _EC.sub("", role).lower()).strip()


def _template_rows(folder: Path, template: str) -> Iterator[dict[str, str]]:
    file = folder / _DATABASE / "Templates" / TEMPLATES[template].tables / "Reactions.tsv"
    with file.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines, delimiter="\t")


@functools.lru_cache(maxsize=1)
def _compounds(folder: Path) -> dict[str, tuple[str, str, int]]:
    """Return name, formula and charge of every compound."""
    with (folder / _DATABASE / "Biochemistry/compounds.json").open(encoding="utf-8") as file:
        return {
            entry["id"]: (entry.get("name") or "", entry.get("formula") or "", int(entry.get("charge") or 0))
            for entry in json.load(file)
        }


def _metabolite(name: str, compounds: Mapping[str, tuple[str, str, int]]) -> NetworkMetabolite:
    compound, _, compartment = name.partition("_")
    name, formula, charge = compounds.get(compound, ("", "", 0))
    return NetworkMetabolite(name, "" if formula == "null" else formula, charge, compartment, (compound,))


def _coefficients(stoichiometry: str) -> dict[str, float]:
    """Return what `-1:cpd00001:0:0:"H2O";...` says; nothing if a compartment is unknown."""
    found: dict[str, float] = {}
    for part in re.split(r";(?=-?[\d.])", stoichiometry):
        fields = part.split(":", 4)
        if len(fields) < 4 or fields[2] not in _COMPARTMENTS:  # noqa: PLR2004 - number, compound, compartment, index
            return {}
        name = f"{fields[1]}_{_COMPARTMENTS[fields[2]]}"
        found[name] = found.get(name, 0.0) + float(fields[0])
    return {name: number for name, number in found.items() if number}


def _is_balanced(entry: Mapping[str, Any]) -> bool:
    status = str(entry.get("status") or "")
    return "MI:" not in status and "EMPTY" not in status


def _biomass(folder: Path, template: str, compounds: Mapping[str, tuple[str, str, int]]) -> dict[str, float]:
    """Return the coefficients that PyFBA's source states as plain data; it is read as text and never run."""
    source = ast.parse((folder / "metabolism/biomass.py").read_text(encoding="utf-8"))
    wanted = _BIOMASS_FUNCTION.get(template, "gram_negative")
    function = next(node for node in source.body if isinstance(node, ast.FunctionDef) and node.name == wanted)
    sides: dict[str, dict[str, float]] = {}
    for node in function.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            sides[node.targets[0].id] = ast.literal_eval(node.value)
    ids: dict[str, str] = {}
    for compound, (name, _, _) in compounds.items():
        ids.setdefault(name.lower(), compound)
    found: dict[str, float] = {}
    for side, sign in (("reactants", -1.0), ("products", 1.0)):
        for name, number in sides[side].items():
            bare = _SYNONYMS.get(name.strip(), name.strip())
            known = ids.get(bare.lower())
            if known is not None and bare not in _BOOKKEEPING:
                found[f"{known}_c0"] = found.get(f"{known}_c0", 0.0) + sign * float(number)
    return found
