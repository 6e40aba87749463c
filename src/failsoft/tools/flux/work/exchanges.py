"""Exchanges of a model, by the ModelSEED and BiGG ids of their metabolites."""

from __future__ import annotations

import json
import re
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import cobra

from failsoft.framework.text import enumerated
from failsoft.tools.flux.conditions import Conditions, Medium

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


_OUTSIDE = frozenset({"e", "e0", "C_e", "extracellular"})
_COMPARTMENT = re.compile(r"(_[a-z]\d?|\[[a-z]\d?\])$")
_LISTED_AT_MOST = 20
_RANKS: Final = ("own and BiGG ids", "usual id", "ids in the tables", "annotated ids", "ids merged with one of these")
"""Kinds of ids of a metabolite; where two exchanges have the same id, that of the earlier kind decides."""
_FOREIGN: Final = ("kegg.compound", "metacyc.compound", "chebi")
"""Annotations that are looked up where a metabolite has neither a ModelSEED nor a known BiGG id."""


@dataclass(frozen=True, slots=True)
class Exchange:
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


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The exchanges of a model.

    Args:
        exchanges: All of them.
        by_compound: The exchange of each id that a medium may use.
        misannotated: The exchanges whose annotation names another metabolite than their BiGG id, with that ModelSEED
            id; the BiGG id decides.
    """

    exchanges: tuple[Exchange, ...]
    by_compound: Mapping[str, Exchange]
    misannotated: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of applying a medium.

    Args:
        bounds: Of each exchange reaction.
        unused: Compounds that the model has no exchange for.
        warnings: Sentences on compounds that share an exchange, or have none.
    """

    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Claim:
    """An exchange with its ids, in groups of falling precedence over other exchanges (`_RANKS`)."""

    reaction_id: str
    name: str
    is_reversed: bool
    groups: tuple[tuple[str, ...], ...]
    foreign: str
    """The id of another metabolite, if it is annotated only with such ids."""

    def exchange(self, owner: Mapping[str, str]) -> Exchange:
        """Return the exchange, under the first id that is its own and that a medium may hold."""
        own, *others = self.groups
        ids = (*(item for group in others for item in group), *(item for item in own if _identities.is_known(item)))
        compound = next((item for item in ids if owner[item] == self.reaction_id), "")
        return Exchange(self.reaction_id, self.name, compound, self.is_reversed)


_known: weakref.WeakKeyDictionary[cobra.Model, Surroundings] = weakref.WeakKeyDictionary()
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


def surroundings_of(model: cobra.Model) -> Surroundings:
    """Return the exchanges of a model; worked out once for each."""
    found = _known.get(model)
    if found is None:
        claims = [claim for reaction in model.reactions if (claim := _claim(reaction)) is not None]
        owner: dict[str, str] = {}
        for rank in range(len(_RANKS)):
            for claim in claims:
                for item in claim.groups[rank]:
                    owner.setdefault(item, claim.reaction_id)
        exchanges = {claim.reaction_id: claim.exchange(owner) for claim in claims}
        found = _known[model] = Surroundings(
            tuple(exchanges.values()),
            {item: exchanges[reaction_id] for item, reaction_id in owner.items()},
            {claim.reaction_id: claim.foreign for claim in claims if claim.foreign},
        )
    return found


def pose(model: cobra.Model, conditions: Conditions) -> Applied:
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
    around = surroundings_of(model)
    wanted: dict[str, tuple[float, float]] = {}
    first: dict[str, str] = {}
    unused: list[str] = []
    warnings: list[str] = []
    for compound, given in medium.compounds.items():
        exchange = around.by_compound.get(compound)
        if exchange is None:
            unused.append(compound)
        elif exchange.reaction_id in wanted:
            warnings.append(
                f"{first[exchange.reaction_id]} and {compound} are one exchange of this model, {exchange.reaction_id}: "
                f"the bounds of {first[exchange.reaction_id]} are used."
            )
        else:
            wanted[exchange.reaction_id] = given
            first[exchange.reaction_id] = compound
    bounds = {}
    for exchange in around.exchanges:
        if exchange.reaction_id not in model.reactions:  # removed for the time being
            continue
        low, high = model.reactions.get_by_id(exchange.reaction_id).bounds
        if exchange.is_reversed:
            low, high = -high, -low
        low, high = wanted.get(exchange.reaction_id, medium.others or (0.0, max(0.0, high)))
        bounds[exchange.reaction_id] = (-high, -low) if exchange.is_reversed else (low, high)
    if unused:
        named = enumerated(unused, _LISTED_AT_MOST)
        warnings.append(f"The model has no exchange for these compounds of the medium, so it cannot use them: {named}.")
    return Applied(bounds, tuple(unused), tuple(warnings))


def ids_of(compound: str) -> tuple[str, ...]:
    """Return the ids that name the same metabolite as this one, itself first."""
    is_modelseed = _MODELSEED.fullmatch(compound) is not None
    others = _identities.bigg_of(compound) if is_modelseed else _identities.compounds_of(compound)[:1]
    return (compound, *others, *(_identities.linked_to(compound) if is_modelseed else ()))


def _claim(reaction: cobra.Reaction) -> _Claim | None:
    if len(reaction.metabolites) != 1:
        return None
    (metabolite, coefficient), *_ = reaction.metabolites.items()
    if not reaction.id.startswith("EX_") and (
        metabolite.compartment not in _OUTSIDE or reaction.id.startswith(("DM_", "SK_", "sink_"))
    ):
        return None
    name = metabolite.name or metabolite.id
    return _Claim(reaction.id, name, coefficient > 0, *_ids_of(metabolite))


def _ids_of(metabolite: cobra.Metabolite) -> tuple[tuple[tuple[str, ...], ...], str]:
    """Return the ids of a metabolite, grouped as in `_RANKS`, and one that it is annotated with and is another's."""
    bare = _COMPARTMENT.sub("", metabolite.id)
    named = _MODELSEED.fullmatch(metabolite.id)
    if named is not None:
        own = named[1]
        return ((own,), (), _identities.bigg_of(own), (), _identities.linked_to(own)), ""
    declared = tuple(_listed(metabolite, "bigg.metabolite"))
    bigg = tuple(dict.fromkeys((bare, *declared)))
    annotated = sorted(item for item in _listed(metabolite, "seed.compound") if _MODELSEED.fullmatch(item))
    table = list(dict.fromkeys(item for name in bigg for item in _identities.compounds_of(name)))
    if not table and not annotated:
        table = list(_identities.aliased(item for source in _FOREIGN for item in _listed(metabolite, source)))
    others = {item: _identities.bigg_of(item) for item in annotated if item not in table}
    contradicted = tuple(item for item, names in others.items() if declared and names and not set(names) & set(bigg))
    foreign = contradicted[0] if len(contradicted) == len(annotated) and contradicted else ""
    agreed = [item for item in annotated if item not in contradicted]
    merged = [other for item in (*table, *agreed) for other in _identities.linked_to(item)]
    return (bigg, tuple(table[:1] or agreed[:1]), tuple(table), tuple(agreed), tuple(merged)), foreign


def _listed(metabolite: cobra.Metabolite, source: str) -> Iterator[str]:
    given = metabolite.annotation.get(source, ())
    yield from (given,) if isinstance(given, str) else given
