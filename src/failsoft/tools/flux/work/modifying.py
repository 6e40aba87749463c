"""Check the changes of a model and make them steps of its recipe; reactions by equation, or by id from a universe."""

from __future__ import annotations

import logging
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

import cobra
import cobra.io
from cobra.core import gene

from failsoft.framework.errors import InvalidParameter
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import enumerated, quoted
from failsoft.tools.flux.conditions import OPEN, bounds_from_json
from failsoft.tools.flux.database.entries import similar_ids
from failsoft.tools.flux.store import Recipe, Step
from failsoft.tools.flux.work.exchanges import by_place, ids_of, split_place
from failsoft.tools.flux.work.facts import describe
from failsoft.tools.flux.work.making import gene_ids, model_of, unknown_ids
from failsoft.tools.flux.work.network import Network, NetworkMetabolite, NetworkReaction, is_biomass, universe_from

logging.getLogger(gene.__name__).setLevel(logging.CRITICAL)  # it logs the callers' gene rules
_LISTED_AT_MOST = 20
_SMALLEST, _LARGEST = 1e-9, 1e9
"""Coefficients that the solver can tell from 0 and from infinity."""
_WORD = re.compile(r"[^\s()&|]+")
"""A gene id, or an operator, of a gene rule."""
_OPERATORS: Final = {"and", "or", "AND", "OR"}
_SEED_TERM = re.compile(r"\(([0-9.eE+-]+)\) (cpd\d{5})\[(\d)\]")
_SEED_PLACES: Final = {"0": "c", "1": "e", "2": "p"}
_SEED_DIRECTIONS: Final = {">": (0.0, OPEN), "<": (-OPEN, 0.0)}


def change_model(
    recipe: Recipe, changes: Mapping[str, Any], entries: Mapping[str, Any], universe: Mapping[str, str]
) -> dict[str, Any]:
    """Return the steps that change a model, and facts about the result.

    Args:
        recipe: The model.
        changes: The arguments of `modify_model` that were given.
        entries: What the database knows of the ModelSEED reactions that are added by id.
        universe: Where other reactions are looked up by id, as for `gapfill`.

    Raises:
        INVALID_PARAM: With every fault: ids that the model does not have, with the closest ones; ids that it has
            already; equations and gene rules that cannot be read.
    """
    model = model_of(recipe)
    removed = set(changes.get("remove_reactions", ()))
    new = _Additions(model, removed)
    for index, item in enumerate(changes.get("add_metabolites", ())):
        new.add_metabolite(f"add_metabolites.{index}", item)
    known = universe_from(universe) if universe else None
    for index, item in enumerate(changes.get("add_reactions", ())):
        new.add_reaction(f"add_reactions.{index}", item, entries.get(item["id"]), known)
    violations = [*_unknown(model, changes, new), *new.violations]
    if violations:
        raise InvalidParameter.from_violations(violations)
    others = {name: changes[name] for name in ("knock_out_genes", "bounds", "objective") if name in changes}
    steps: list[Step] = []
    if new.is_empty:
        others = {**({"remove_reactions": changes["remove_reactions"]} if removed else {}), **others}
    else:
        steps += [{"kind": "modify", "remove_reactions": changes["remove_reactions"]}] if removed else []
        steps.append({"kind": "add", "source": "modify_model", **new.content()})
    if others:
        steps.append({"kind": "modify", **others})
    for step in steps:
        recipe = recipe.then(step)
    described = describe(recipe)
    return {"steps": steps, "facts": described["facts"], "warnings": [*new.warnings(), *described["warnings"]]}


def _unknown(model: cobra.Model, changes: Mapping[str, Any], new: _Additions) -> Iterator[Violation]:
    """Yield each id that neither the model nor what is added has, and each that the same call removes."""
    yield from unknown_ids("remove_reactions", changes.get("remove_reactions", ()), model.reactions, "reaction")
    genes = gene_ids(model, changes.get("knock_out_genes", ()))
    yield from (
        item for item in unknown_ids("knock_out_genes", genes, model.genes, "gene") if item.received not in new.genes
    )
    objective = [changes["objective"]] if "objective" in changes else []
    for parameter, given in (("bounds", changes.get("bounds", {})), ("objective", objective)):
        for item in unknown_ids(parameter, given, model.reactions, "reaction"):
            if item.received not in new.reaction_ids:
                yield item
        for name in given:
            if name in new.removed and name not in new.reaction_ids:
                path = parameter if parameter == "objective" else f"{parameter}.{name}"
                yield Violation(path=path, reason="value", message=f'"{name}" is removed by the same call')


class _Additions:
    """What is added to a model, with the faults of it."""

    def __init__(self, model: cobra.Model, removed: set[str]) -> None:
        self.removed = removed
        self.reaction_ids: set[str] = set()
        self.genes: set[str] = set()
        self.violations: list[Violation] = []
        self._made: list[cobra.Reaction] = []
        self._variables = {item.name for item in model.variables}
        self._model = model
        self._scratch = cobra.Model("added")

    @property
    def is_empty(self) -> bool:
        """Whether nothing is added."""
        return not (self._scratch.metabolites or self.reaction_ids)

    def content(self) -> dict[str, Any]:
        """Return it as a step of the kind `add`."""
        self._scratch.add_reactions(self._made)  # at once: each change of a row of the problem costs its length
        made: dict[str, Any] = cobra.io.model_to_dict(self._scratch)
        for item in made["reactions"]:  # JSON has no infinity; cobra reads it from text
            for end in ("lower_bound", "upper_bound"):
                item[end] = item[end] if math.isfinite(float(item[end])) else str(item[end])
        return {name: made[name] for name in ("metabolites", "reactions", "genes")}

    def add_metabolite(self, path: str, given: Mapping[str, Any]) -> None:
        """Add a metabolite that equations may use."""
        name = given["id"]
        place = given.get("compartment") or split_place(name)[1]
        if name in self._model.metabolites:
            self._fault(path, "the model has this metabolite already", name)
        elif name in self._scratch.metabolites:
            self._fault(path, "is given twice", name)
        elif not place:
            known = tuple(sorted(item for item in self._model.compartments if item))
            self._fault(f"{path}.compartment", "the id does not end with a compartment", None, "missing", known)
        else:
            facts = {"name": given.get("name", ""), "charge": given.get("charge"), "formula": given.get("formula")}
            self._scratch.add_metabolites([cobra.Metabolite(name, compartment=place, **facts)])

    def add_reaction(self, path: str, given: Mapping[str, Any], entry: Any, universe: Network | None) -> None:
        """Add a reaction, by its equation or as an entry of the database or a universe has it."""
        name = given["id"]
        if name in self.reaction_ids:
            self._fault(f"{path}.id", "is given twice", name)
        elif name in self._model.reactions and name not in self.removed:
            message = "the model has this reaction already; remove it by the same call to replace it"
            self._fault(f"{path}.id", message, name)
        variables = {name, cobra.Reaction(name).reverse_id}
        if name not in self._model.reactions and not variables.isdisjoint(self._variables):
            self._fault(f"{path}.id", "COBRApy needs this name for the reverse of another reaction", name)
        self._variables |= variables
        self.reaction_ids.add(name)
        found = self._by_equation(path, given) if "equation" in given else self._by_id(path, name, entry, universe)
        rule = self._rule(path, given.get("gene_rule", ""))
        if found is None or self.violations:
            return
        low, high = bounds_from_json(given["bounds"]) if "bounds" in given else (found.low, found.high)
        made = cobra.Reaction(name, name=found.name, lower_bound=low, upper_bound=high)
        of = self._scratch.metabolites.get_by_id
        made.add_metabolites({of(item): number for item, number in found.coefficients.items()})
        made.gene_reaction_rule = rule
        self._made.append(made)

    def warnings(self) -> list[str]:
        """Return a sentence for each added reaction that makes atoms or charge of nothing, and for new genes."""
        found = []
        for reaction in self._made:
            if len(reaction.metabolites) == 1 or is_biomass(reaction.id):
                continue
            bare = sorted(item.id for item in reaction.metabolites if not item.formula)
            if bare:
                named = enumerated(bare, _LISTED_AT_MOST)
                found.append(f"The mass balance of {reaction.id} is not known: {named} without a formula.")
                continue
            balance = reaction.check_mass_balance()
            if balance:
                atoms = ", ".join(f"{number:+g} {element}" for element, number in sorted(balance.items()))
                found.append(f"{reaction.id} is not balanced: {atoms} from left to right.")
        genes = sorted(item for item in self.genes if item not in self._model.genes)
        if genes:
            found.append(f"Genes that the model did not have: {enumerated(genes, _LISTED_AT_MOST)}.")
        return found

    def _by_equation(self, path: str, given: Mapping[str, Any]) -> NetworkReaction | None:
        """Read an equation in metabolite ids, as COBRApy does, which makes new metabolites of unknown ids."""
        read = cobra.Reaction("read")
        cobra.Model("reading").add_reactions([read])
        try:
            read.build_reaction_from_string(given["equation"], verbose=False)
        except ValueError:
            message = "cannot be read; expected the form a_c + 2 b_c --> c_c, with --> or <-- or <=>"
            self._fault(f"{path}.equation", message, given["equation"], "pattern")
            return None
        coefficients = {item.id: float(number) for item, number in read.metabolites.items()}
        if not coefficients:
            self._fault(f"{path}.equation", "has no metabolite that is made or used up", given["equation"])
        elif not all(_SMALLEST <= abs(number) <= _LARGEST for number in coefficients.values()):
            message = f"has a coefficient that is not between {_SMALLEST:g} and {_LARGEST:g}"
            self._fault(f"{path}.equation", message, given["equation"])
        for name in coefficients:
            if self._use(name) is None:
                closest = similar_ids(name, [item.id for item in self._model.metabolites])
                message = f"neither the model nor add_metabolites has the metabolite {quoted(name, 100)}"
                self._fault(f"{path}.equation", message, name, "reference", closest)
        return NetworkReaction("", coefficients, *read.bounds)

    def _by_id(self, path: str, name: str, entry: Any, universe: Network | None) -> NetworkReaction | None:
        """Find a reaction in the universe by its id or a BiGG id of its entry, else by the equation of the entry."""
        known = universe.reactions if universe is not None else {}
        spelled = (name, *(entry["bigg"] if entry else ()), f"{name}_c", f"{name}_c0")
        match = next((known[item] for item in spelled if item in known), None)
        if match is not None and universe is not None:
            coefficients = {
                self._known_or_new(item, universe.metabolites[item]): number
                for item, number in match.coefficients.items()
            }
            return NetworkReaction(match.name, coefficients, match.low, match.high)
        if entry is None:
            message = f"no reaction {quoted(name, 100)} in the database or the universe; give its equation"
            self._fault(f"{path}.id", message, name, "reference")
            return None
        left, _, right = entry["equation"].partition("=")
        coefficients = {}
        for sign, side in ((-1.0, left), (1.0, right)):
            for number, compound, place in _SEED_TERM.findall(side):
                facts = entry["compounds"].get(compound, {})
                metabolite = NetworkMetabolite(
                    facts.get("name", ""),
                    facts.get("formula", ""),
                    facts.get("charge") or 0,
                    _SEED_PLACES.get(place, "c"),
                )
                item = self._known_or_new(f"{compound}_{metabolite.compartment}", metabolite, seed=compound)
                coefficients[item] = coefficients.get(item, 0.0) + sign * float(number)
        low, high = _SEED_DIRECTIONS.get(entry["reversibility"], (-OPEN, OPEN))
        return NetworkReaction(entry["name"], coefficients, low, high)

    def _known_or_new(self, name: str, facts: NetworkMetabolite, seed: str = "") -> str:
        """Return the id of the model's metabolite that is the same, else add it."""
        if self._use(name) is not None:
            return name
        place = split_place(name)[1] or facts.compartment
        bare = seed or split_place(name)[0]
        for identifier in dict.fromkeys((bare, *facts.seed, *ids_of(bare))):
            own = self._by_place.get((identifier, place))
            if own is not None and self._use(own.id) is not None:
                return str(own.id)
        made = cobra.Metabolite(name, facts.formula or None, facts.name, facts.charge, facts.compartment)
        seeds = [seed] if seed else list(facts.seed)
        if seeds:
            made.annotation["seed.compound"] = seeds
        self._scratch.add_metabolites([made])
        return name

    @cached_property
    def _by_place(self) -> dict[tuple[str, str], cobra.Metabolite]:
        return by_place(self._model.metabolites)

    def _use(self, name: str) -> cobra.Metabolite | None:
        """Return a metabolite of the model or of those that are added."""
        if name in self._model.metabolites and name not in self._scratch.metabolites:
            self._scratch.add_metabolites([self._model.metabolites.get_by_id(name).copy()])
        return self._scratch.metabolites.get_by_id(name) if name in self._scratch.metabolites else None

    def _rule(self, path: str, rule: str) -> str:
        read = gene.GPR()
        with warnings.catch_warnings(), suppress(TypeError, ValueError, RecursionError, NotImplementedError):
            warnings.simplefilter("ignore")  # of a rule that it cannot read COBRApy warns, drops it, or raises
            read = gene.GPR.from_string(rule)
            read.to_string()
        if read.genes != {*_WORD.findall(rule)} - _OPERATORS:
            self._fault(f"{path}.gene_rule", "is not gene ids with and, or and parentheses", rule, "pattern")
        for name, own in zip(sorted(read.genes), gene_ids(self._model, sorted(read.genes)), strict=True):
            if name != own:
                message = f"{quoted(name, 100)} is the name of a gene; a rule takes its id"
                self._fault(f"{path}.gene_rule", message, name, "reference", (own,))
        self.genes |= read.genes
        return rule

    def _fault(
        self, path: str, message: str, received: str | None, reason: Any = "value", allowed: Sequence[str] = ()
    ) -> None:
        found = Violation(path=path, reason=reason, message=message, allowed=tuple(allowed), received=received)
        self.violations.append(found)
