"""Build models from drafts, and add the reactions of recipe steps."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import cobra

from failsoft.tools.flux.work.networks.network import Network


def draft(network: Network, *, source: str, template: str, name: str = "") -> dict[str, Any]:
    """Return the base of a recipe that keeps a whole network.

    Args:
        network: What was built; only metabolites that its reactions use are kept.
        source: Which data it was built from: `carveme`, `modelseed-template` or `modelseedpy`.
        template: The name of the template.
        name: What the caller calls the model.
    """
    return {
        "kind": "draft",
        "source": source,
        "template": template,
        "name": name,
        "packed": packed(
            {
                "metabolites": network.used_by(network.reactions),
                "reactions": {identifier: item.to_json() for identifier, item in network.reactions.items()},
                "objective": network.objective,
            }
        ),
    }


def packed(content: Mapping[str, Any]) -> str:
    """Return JSON as a short text: a draft of a whole genome is 700 kB otherwise, at every call that uses it."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return base64.b85encode(zlib.compress(text.encode(), level=6)).decode()


def unpacked(text: str) -> dict[str, Any]:
    """Return what `packed` packed."""
    content: dict[str, Any] = json.loads(zlib.decompress(base64.b85decode(text)))
    return content


def added(network: Network, names: Iterable[str], *, source: str) -> dict[str, Any]:
    """Return the step of a recipe that adds reactions of a universe."""
    wanted = list(names)
    return {
        "kind": "add",
        "source": source,
        "metabolites": network.used_by(wanted),
        "reactions": {name: network.reactions[name].to_json() for name in wanted},
    }


def draft_model(base: Mapping[str, Any]) -> cobra.Model:
    """Return the model of a base of the kind `draft`; the name is the caller's own."""
    model = cobra.Model(base["template"] or "draft", name=base["name"])
    model.solver = "glpk"  # the one solver that is always there, so that every replica says the same
    content = unpacked(base["packed"])
    add_reactions(model, content)
    if content["objective"]:
        model.objective = content["objective"]
    return model


def add_reactions(model: cobra.Model, step: Mapping[str, Any]) -> None:
    """Add the reactions of a step of the kind `add`, with the metabolites that the model lacks."""
    known = {item.id: item for item in model.metabolites}
    for name, facts in step["metabolites"].items():
        if name not in known:
            known[name] = _metabolite(name, facts)
    reactions = []
    for name, facts in step["reactions"].items():
        low, high = facts["bounds"]
        reaction = cobra.Reaction(
            name,
            name=facts.get("name", ""),
            lower_bound=-math.inf if low is None else low,
            upper_bound=math.inf if high is None else high,
        )
        reaction.add_metabolites({known[item]: number for item, number in facts["metabolites"].items()})
        reaction.gene_reaction_rule = facts.get("genes", "")
        reactions.append(reaction)
    model.add_reactions(reactions)


def _metabolite(name: str, facts: Mapping[str, Any]) -> cobra.Metabolite:
    made = cobra.Metabolite(
        name,
        formula=facts.get("formula") or None,
        name=facts.get("name", ""),
        charge=facts.get("charge"),
        compartment=facts.get("compartment", ""),
    )
    seeds = facts.get("seed") or ()
    if seeds:
        made.annotation["seed.compound"] = seeds[0] if len(seeds) == 1 else list(seeds)
    return made
