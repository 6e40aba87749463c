"""Assign reactions to proteins by homology with proteins of known function."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from failsoft.tools.flux.building.templates import TEMPLATES
from failsoft.tools.flux.work.building.diamond import ProteinHit, search
from failsoft.tools.flux.work.networks.drafts import draft
from failsoft.tools.flux.work.networks.network import Network, NetworkReaction
from failsoft.tools.flux.work.networks.rules import any_of, gene_ids
from failsoft.tools.flux.work.networks.universe import sbml_universe
from failsoft.tools.flux.workers.progress import progress

IDENTITY_AT_LEAST = 40.0
COVERED_AT_LEAST = 70.0
"""Percent of the amino acids, and of both proteins' lengths: below it two proteins rarely have the same function."""
_SPONTANEOUS = frozenset({"s0001", "S0001", "s_0001", "S_0001", "KPN_SPONT", "PP_s0001"})
"""Placeholder genes of spontaneous reactions."""
_MAINTENANCE = "ATPM"


class _Complex(NamedTuple):
    reaction: str
    proteins: frozenset[str]
    is_spontaneous: bool


def build(
    sequences: Mapping[str, str], template: str, name: str, data: str, program: str, limit_s: float
) -> dict[str, Any]:
    """Return the base of a draft, and facts about it.

    Args:
        sequences: Proteins by id.
        template: A template that has a universe.
        name: What the caller calls the model.
        data: The folder of carveme's generated data.
        program: The path of diamond.
        limit_s: Seconds that diamond may take.
    """
    folder = Path(data)
    genes = gene_ids(sequences)
    progress(0, 4, "Comparing the proteins with known ones")
    hits = search(sequences, folder / "bigg_proteins.dmnd", program=program, limit_s=limit_s)
    progress(2, 4, "Looking up their functions")
    like = _alike(hits)
    rules = _rules(_complexes(folder / "bigg_gprs.csv.gz"), like, genes)
    progress(3, 4, "Making the draft")
    universe = sbml_universe(folder / f"universe_{TEMPLATES[template].universe}.xml.gz")
    network = _drafted(universe, rules)
    matched = {hit.query for found in like.values() for hit in found}
    return {
        "base": draft(network, source="carveme", template=template, name=name),
        "matched": len(matched),
    }


def _alike(hits: Iterable[ProteinHit]) -> dict[str, list[ProteinHit]]:
    """Return the homologous proteins of each known one, from the best hits of diamond."""
    found: dict[str, list[ProteinHit]] = defaultdict(list)
    for hit in hits:
        if hit.identity >= IDENTITY_AT_LEAST and min(hit.query_covered, hit.target_covered) >= COVERED_AT_LEAST:
            found[hit.target].append(hit)
    return {target: _best(candidates) for target, candidates in found.items()}


def _best(hits: Sequence[ProteinHit]) -> list[ProteinHit]:
    """Return the best hit and those nearly as good; far weaker ones have other functions."""
    top = max(hit.score for hit in hits)
    return [hit for hit in hits if hit.score >= 0.9 * top]


@lru_cache(maxsize=1)
def _complexes(file: Path) -> tuple[_Complex, ...]:
    """Return the protein complexes of reactions, each once."""
    members: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            key = row["reaction"].removeprefix("R_"), row["model"], row["protein"]
            members[key].add(row["gene"].removeprefix("G_"))
    return tuple(
        _Complex(reaction, frozenset(f"{model}.{gene}" for gene in found), found <= _SPONTANEOUS)
        for (reaction, model, _), found in members.items()
    )


def _rules(
    complexes: Iterable[_Complex], like: Mapping[str, Sequence[ProteinHit]], genes: Mapping[str, str]
) -> dict[str, str]:
    """Return the reactions with a complete complex, with their gene rules."""
    isozymes: dict[str, set[frozenset[str]]] = defaultdict(set)
    for item in complexes:
        if item.is_spontaneous:
            isozymes[item.reaction].add(frozenset())
        elif item.proteins <= like.keys():
            isozymes[item.reaction].add(frozenset(genes[like[protein][0].query] for protein in item.proteins))
    return {reaction: any_of(found) for reaction, found in isozymes.items()}


def _drafted(universe: Network, rules: Mapping[str, str]) -> Network:
    """Return the reactions found, biomass and maintenance, and the boundary reactions of their metabolites."""
    names = [name for name in universe.reactions if name in rules]
    names += [name for name in (_MAINTENANCE, universe.objective) if name in universe.reactions and name not in rules]
    touched = {metabolite for name in names for metabolite in universe.reactions[name].coefficients}
    names += [
        name
        for name, item in universe.reactions.items()
        if item.is_boundary and not touched.isdisjoint(item.coefficients)
    ]
    reactions = {name: _ruled(universe.reactions[name], rules.get(name, "")) for name in dict.fromkeys(names)}
    return Network(universe.metabolites, reactions, universe.objective)


def _ruled(reaction: NetworkReaction, rule: str) -> NetworkReaction:
    return NetworkReaction(reaction.name, reaction.coefficients, reaction.low, reaction.high, rule)
