"""Exchanges of a model, by the ModelSEED and BiGG ids of their metabolites."""

from __future__ import annotations

import json
import re
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import cobra

from failsoft.framework.text import enumerated
from failsoft.tools.flux.conditions import Bounds, Conditions, Medium

T = TypeVar("T")
_MODELSEED = re.compile(r"(cpd\d{5})(?:_[a-z]\d*)?")


class Identities:
    """Look-ups between the ids of one metabolite, over a connection to the database. All answers may be empty."""

    def __init__(self, connection: sqlite3.Connection | None) -> None:
        self._connection = connection

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def compounds_of(self, bigg: str) -> tuple[str, ...]:
        """Return the ModelSEED ids of a BiGG id, the usual one first."""
        rows = self._rows("SELECT compounds FROM metabolites WHERE id = ?", bigg)
        return tuple(json.loads(rows[0][0])) if rows else ()

    def is_known(self, bigg: str) -> bool:
        """Return whether this is a BiGG id that the database has."""
        return bool(self._rows("SELECT 1 FROM metabolites WHERE id = ?", bigg))

    def bigg_of(self, compound: str) -> tuple[str, ...]:
        """Return the BiGG ids of a ModelSEED id."""
        aliases = self._facts(compound).get("aliases", {})
        return tuple(aliases.get("BiGG", ()))

    def linked_to(self, compound: str) -> tuple[str, ...]:
        """Return the ModelSEED ids that were merged with this one, on either side."""
        return tuple(self._facts(compound).get("linked", ()))

    def aliased(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the ModelSEED ids of compounds that have one of these ids in another database, such as KEGG."""
        found: list[str] = []
        for name in names:
            rows = self._rows("SELECT number FROM compounds_labels WHERE label = ? AND kind = 1 ORDER BY number", name)
            found += [f"cpd{number:05}" for (number,) in rows]
        return tuple(dict.fromkeys(found))

    def _facts(self, compound: str) -> dict[str, Any]:
        rows = self._rows("SELECT facts FROM compounds WHERE number = ?", int(compound[3:]))
        facts: dict[str, Any] = json.loads(rows[0][0]) if rows else {}
        return facts

    def _rows(self, statement: str, value: str | int) -> list[Any]:
        return [] if self._connection is None else self._connection.execute(statement, (value,)).fetchall()


_PLACE = re.compile(r"(.*?)(?:_([a-z]\d?)|\[([a-z]\d?)\])?", re.DOTALL)
_OUTSIDE = frozenset({"e", "e0", "C_e", "extracellular"})
_LISTED_AT_MOST = 20
_RANKS: Final = ("own and BiGG ids", "usual id", "ids in the tables", "annotated ids", "ids merged with one of these")
"""Kinds of ids of a metabolite; where two exchanges have the same id, that of the earlier kind decides."""
_FOREIGN: Final = ("kegg.compound", "metacyc.compound", "chebi")
"""Annotations that are looked up where a metabolite has neither a ModelSEED nor a known BiGG id."""


@dataclass(frozen=True, slots=True)
class ExchangeReaction:
    """One exchange with the surroundings.

    Args:
        reaction_id: The exchange reaction.
        name: Of the metabolite.
        compound: The id by which a medium names it: of ModelSEED, else of BiGG; empty if there is none.
        is_reversed: Whether a positive flux is uptake, against the convention.
    """

    reaction_id: str
    name: str
    compound: str
    is_reversed: bool

    def described(self, **facts: Any) -> dict[str, Any]:
        """Return it as an answer shows it."""
        compound = {"compound_id": self.compound} if self.compound else {}
        return {"exchange": self.reaction_id, **compound, "name": self.name, **facts}

    def oriented(self, low: float, high: float) -> Bounds:
        """Return bounds of the reaction as bounds by the convention, where uptake is negative, or the reverse."""
        return (-high, -low) if self.is_reversed else (low, high)


@dataclass(frozen=True, slots=True)
class ExchangeIndex:
    """The exchanges of a model.

    Args:
        exchanges: All of them.
        by_compound: The exchange of each id that a medium may use.
        misannotated: The exchanges whose annotation names another metabolite than their BiGG id, with that ModelSEED
            id; the BiGG id decides.
    """

    exchanges: tuple[ExchangeReaction, ...]
    by_compound: Mapping[str, ExchangeReaction]
    misannotated: Mapping[str, str]

    def excluded_by(self, medium: Medium | None) -> frozenset[str]:
        """Return the exchanges that a medium closes by name, `[0, 1000]`: its conditions, no oversight to correct."""
        closed = [name for name, (low, _) in medium.compounds.items() if low == 0] if medium is not None else []
        return frozenset(self.by_compound[name].reaction_id for name in closed if name in self.by_compound)


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of applying a medium.

    Args:
        bounds: Of each exchange reaction.
        unused: Compounds that the model has no exchange for.
        warnings: Sentences on compounds that the model cannot use, or that share an exchange.
    """

    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


_known: weakref.WeakKeyDictionary[cobra.Model, ExchangeIndex] = weakref.WeakKeyDictionary()
_identities = Identities(None)
_path = ""


def use_database(path: str) -> None:
    """Look ids up in this database file from now on; with an empty path, in none.

    If another server has replaced the file meanwhile, the one before stays in use, or none.
    """
    global _identities, _path
    if path == _path:
        return
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) if path else None
    except sqlite3.OperationalError:
        return
    _identities.close()
    _identities, _path = Identities(connection), path
    _known.clear()


def with_database(path: str, task: Callable[[], T]) -> T:
    """Return what a task returns that looks ids up in a database file; in none if the path is empty: a task."""
    use_database(path)
    return task()


def exchanges_of(model: cobra.Model) -> ExchangeIndex:
    """Return the exchanges of a model; worked out once for each."""
    found = _known.get(model)
    if found is None:
        found = _known[model] = _index([item for item in model.reactions if _is_exchange(item)])
    return found


def _index(reactions: Sequence[cobra.Reaction]) -> ExchangeIndex:
    """Give each id to one exchange, and each exchange the first id that is its own and that a medium may hold."""
    ids = {reaction: _ids_of(*reaction.metabolites) for reaction in reactions}
    owner: dict[str, cobra.Reaction] = {}
    for rank in range(len(_RANKS)):
        for reaction, (groups, _) in ids.items():
            for item in groups[rank]:
                owner.setdefault(item, reaction)
    exchanges = {}
    for reaction, ((own, *others), _) in ids.items():
        usable = (*(item for group in others for item in group), *(item for item in own if _identities.is_known(item)))
        compound = next((item for item in usable if owner[item] is reaction), "")
        ((metabolite, coefficient),) = reaction.metabolites.items()
        exchanges[reaction] = ExchangeReaction(reaction.id, metabolite.name or metabolite.id, compound, coefficient > 0)
    return ExchangeIndex(
        tuple(exchanges.values()),
        {item: exchanges[reaction] for item, reaction in owner.items()},
        {reaction.id: foreign for reaction, (_, foreign) in ids.items() if foreign},
    )


def _is_exchange(reaction: cobra.Reaction) -> bool:
    if len(reaction.metabolites) != 1 or reaction.id.startswith("EX_"):
        return len(reaction.metabolites) == 1
    (metabolite,) = reaction.metabolites
    return metabolite.compartment in _OUTSIDE and not reaction.id.startswith(("DM_", "SK_", "sink_"))


def apply_conditions(model: cobra.Model, conditions: Conditions) -> Applied:
    """Give a model the objective and the medium that are asked about; call it inside `with model:`."""
    if conditions.objective is not None:
        model.objective = conditions.objective
        model.objective_direction = "max"
    if conditions.maximize is not None:
        model.objective_direction = "max" if conditions.maximize else "min"
    return Applied() if conditions.medium is None else apply_medium(model, conditions.medium)


def apply_medium(model: cobra.Model, medium: Medium) -> Applied:
    """Close every uptake but those of a medium; call it inside `with model:`."""
    applied = bounds_under(model, medium)
    for reaction_id, bounds in applied.bounds.items():
        reaction = model.reactions.get_by_id(reaction_id)
        if reaction.bounds != bounds:  # each assignment costs a change of the linear problem
            reaction.bounds = bounds
    return applied


def bounds_under(model: cobra.Model, medium: Medium) -> Applied:
    """Return the bounds of every exchange on a medium; the model is not changed."""
    index = exchanges_of(model)
    first: dict[str, str] = {}
    warnings: list[str] = []
    unused = tuple(name for name in medium.compounds if name not in index.by_compound)
    if unused:
        named = enumerated(unused, _LISTED_AT_MOST)
        warnings.append(f"The model has no exchange for these compounds of the medium, so it cannot use them: {named}.")
    for compound in medium.compounds:
        if compound not in unused:
            name = index.by_compound[compound].reaction_id
            used = first.setdefault(name, compound)
            if used != compound:
                warnings.append(f"{used} and {compound} are one exchange, {name}: the bounds of {used} are used.")
    bounds = {}
    for exchange in index.exchanges:
        name = exchange.reaction_id
        if name in model.reactions:  # it may be removed for the time being
            _, high = exchange.oriented(*model.reactions.get_by_id(name).bounds)
            given = medium.compounds[first[name]] if name in first else medium.others or (0.0, max(0.0, high))
            bounds[name] = exchange.oriented(*given)
    return Applied(bounds, unused, tuple(warnings))


def ids_of(compound: str) -> tuple[str, ...]:
    """Return the ids that name the same metabolite as this one, itself first."""
    is_modelseed = _MODELSEED.fullmatch(compound) is not None
    others = _identities.bigg_of(compound) if is_modelseed else _identities.compounds_of(compound)[:1]
    return (compound, *others, *(_identities.linked_to(compound) if is_modelseed else ()))


def _ids_of(metabolite: cobra.Metabolite) -> tuple[tuple[tuple[str, ...], ...], str]:
    """Return the ids of a metabolite, grouped as in `_RANKS`, and one that it is annotated with and is another's."""
    bare, _ = split_place(metabolite.id)
    named = _MODELSEED.fullmatch(metabolite.id)
    if named is not None:
        own = named[1]
        return ((own,), (), _identities.bigg_of(own), (), _identities.linked_to(own)), ""
    declared = annotated(metabolite, "bigg.metabolite")
    bigg = tuple(dict.fromkeys((bare, *declared)))
    seeds = sorted(item for item in annotated(metabolite, "seed.compound") if _MODELSEED.fullmatch(item))
    table = list(dict.fromkeys(item for name in bigg for item in _identities.compounds_of(name)))
    if not table and not seeds:
        table = list(_identities.aliased(item for source in _FOREIGN for item in annotated(metabolite, source)))
    others = {item: _identities.bigg_of(item) for item in seeds if item not in table}
    contradicted = tuple(item for item, names in others.items() if declared and names and not set(names) & set(bigg))
    foreign = contradicted[0] if len(contradicted) == len(seeds) and contradicted else ""
    agreed = [item for item in seeds if item not in contradicted]
    merged = [other for item in (*table, *agreed) for other in _identities.linked_to(item)]
    return (bigg, tuple(table[:1] or agreed[:1]), tuple(table), tuple(agreed), tuple(merged)), foreign


def annotated(item: cobra.Metabolite | cobra.Gene, source: str) -> tuple[str, ...]:
    """Return what a metabolite or a gene is annotated with, such as the ids of `seed.compound`."""
    given = item.annotation.get(source) or ()
    return (given,) if isinstance(given, str) else tuple(name for name in given if isinstance(name, str))


def split_place(metabolite_id: str) -> tuple[str, str]:
    """Return the id of a metabolite without its compartment, and that, if it ends with one.

    >>> split_place("atp_c"), split_place("atp[c0]"), split_place("atp")
    (('atp', 'c'), ('atp', 'c0'), ('atp', ''))
    """
    found = _PLACE.fullmatch(metabolite_id)
    return (metabolite_id, "") if found is None else (found[1], found[2] or found[3] or "")


def by_place(metabolites: Iterable[cobra.Metabolite]) -> dict[tuple[str, str], cobra.Metabolite]:
    """Return metabolites by id, of BiGG or ModelSEED, and compartment; an own id counts before annotated ones."""
    own: dict[tuple[str, str], cobra.Metabolite] = {}
    others: dict[tuple[str, str], cobra.Metabolite] = {}
    for item in metabolites:
        bare, place = split_place(item.id)
        own.setdefault((bare, place or item.compartment), item)
        for name in (*annotated(item, "seed.compound"), *annotated(item, "bigg.metabolite")):
            others.setdefault((name, place or item.compartment), item)
    return {**others, **own}
