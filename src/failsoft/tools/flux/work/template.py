"""Assign reactions to protein functions by a template: functions to roles, roles to complexes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from failsoft.tools.flux.work.homology import all_of, gene_ids
from failsoft.tools.flux.work.making import draft
from failsoft.tools.flux.work.network import Network
from failsoft.tools.flux.work.tables import (
    BIOMASS,
    complexes_of_roles,
    plain_role,
    reaction_complexes,
    template_universe,
)
from failsoft.tools.flux.workers.worker import progress

_WITHOUT_GENES = frozenset({"spontaneous", "universal"})
_BETWEEN_ROLES = re.compile(r"\s+/\s+|\s+@\s+|\s*;\s+")


def build(functions: Mapping[str, str], template: str, name: str, data: str) -> dict[str, Any]:
    """Return the base of a draft, and facts about it: a task.

    Args:
        functions: Functional roles by the id of the protein, as RAST writes them.
        template: A template that has tables.
        name: What the caller calls the model.
        data: The folder `PyFBA`.
    """
    folder = Path(data)
    genes = gene_ids(functions)
    progress(0, 3, "Looking up the roles")
    by_role: dict[str, list[str]] = defaultdict(list)
    for protein, function in functions.items():
        for role in _plain_roles(function):
            by_role[role].append(genes[protein])
    present = _present(complexes_of_roles(folder), by_role)
    progress(1, 3, "Reading the template")
    universe = template_universe(folder, template)
    progress(2, 3, "Making the draft")
    network, used = _drafted(universe, reaction_complexes(folder, template), present)
    known = {role for roles in complexes_of_roles(folder).values() for names in roles for role in names}
    matched = {gene for role, holders in by_role.items() if role in known for gene in holders}
    return {
        "base": draft(network, source="modelseed-template", template=template, name=name),
        "matched": len(matched),
        "complexes": used,
    }


def split_roles(function: str) -> list[str]:
    """Return the roles in a function: several are written with ` / `, ` @ ` or `; `, and a comment after `#`."""
    return [part.strip() for part in _BETWEEN_ROLES.split(function.partition("#")[0]) if part.strip()]


def _plain_roles(function: str) -> list[str]:
    return [role for role in map(plain_role, split_roles(function)) if role]


def _present(
    complexes: Mapping[str, tuple[tuple[str, ...], ...]], by_role: Mapping[str, list[str]]
) -> dict[str, list[list[str]]]:
    """Return for each complex of which a triggering role was found the genes of each such role."""
    found: dict[str, list[list[str]]] = {}
    for name, roles in complexes.items():
        options = [[gene for role in names for gene in by_role.get(role, ())] for names in roles]
        if any(options):
            found[name] = [genes for genes in options if genes]
    return found


def _drafted(
    universe: Network,
    reactions: Mapping[str, tuple[str, tuple[str, ...]]],
    present: Mapping[str, list[list[str]]],
) -> tuple[Network, int]:
    """Return the reactions whose complexes are there, biomass, and an exchange for everything outside."""
    kept = {}
    used: set[str] = set()
    for name, (kind, complexes) in reactions.items():
        here = [item for item in complexes if item in present]
        if name in universe.reactions and (here or kind in _WITHOUT_GENES):
            kept[name] = replace(universe.reactions[name], genes=all_of(present[item] for item in here))
            used.update(here)
    kept[BIOMASS] = universe.reactions[BIOMASS]
    touched = {metabolite for item in kept.values() for metabolite in item.coefficients}
    for metabolite, exchange in universe.exchanges.items():
        if metabolite in touched:
            kept[exchange] = universe.reactions[exchange]
    return Network(universe.metabolites, kept, BIOMASS), len(used)
