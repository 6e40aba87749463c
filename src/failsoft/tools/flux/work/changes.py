"""The changes that a modeller made to a model: which of them stop an objective, and the call that undoes those."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import cobra

from failsoft.framework.text import enumerated
from failsoft.tools.flux.conditions import Conditions, bounds_from_json, bounds_to_json
from failsoft.tools.flux.store import Recipe, Step
from failsoft.tools.flux.work.exchanges import apply_conditions, exchanges_of
from failsoft.tools.flux.work.making import STEPS, model_of
from failsoft.tools.flux.work.solver import FLUX_NOISE, solve

_SAID: Final = {
    "remove_reactions": "the removal of",
    "knock_out_genes": "the knock-out of",
    "bounds": "the new bounds of",
}
"""Parameters of `modify_model` whose items can be undone one by one."""
_TRIED_ALONE_AT_MOST = 20
_LISTED_AT_MOST = 20
_NAMED_AT_MOST = 5


class Change(NamedTuple):
    """One reaction removed, one gene knocked out, or the bounds of one reaction.

    Args:
        step: Which step of the history made it.
        kind: The parameter of `modify_model`.
        id: The reaction or the gene, as the caller named it.
        is_forced: Whether these bounds demand a flux.
    """

    step: int
    kind: str
    id: str
    is_forced: bool


@dataclass(frozen=True, slots=True)
class Undone:
    """Changes without which the objective carries flux; each of them has to be undone.

    Args:
        changes: With `change` (the parameter of `modify_model`), `id`, and the `reactions` that they stop.
        restored: The arguments of `modify_model` that undo them; None where it cannot.
        is_forced: Whether one of them demands a flux.
    """

    changes: tuple[dict[str, Any], ...]
    restored: dict[str, Any] | None
    is_forced: bool

    def __str__(self) -> str:
        return enumerated([f"{_SAID[item['change']]} {item['id']}" for item in self.changes], _NAMED_AT_MOST)


class History:
    """The changes of a model since it was loaded, built or last gap filled: gap filling answers those before it.

    Args:
        recipe: Of the model.
        conditions: Medium and objective.
    """

    def __init__(self, recipe: Recipe, conditions: Conditions) -> None:
        start = max((index for index, step in enumerate(recipe.steps, start=1) if is_filling(step)), default=0)
        self._before = Recipe(recipe.base, recipe.steps[:start], recipe.digests[: start + 1])
        self._steps = recipe.steps[start:]
        self._conditions = conditions
        self.changes = [change for index, step in enumerate(self._steps) for change in _changes(index, step)][::-1]
        """The latest first."""

    @contextmanager
    def without(self, undone: Collection[Change]) -> Iterator[cobra.Model]:
        """Provide the model without some of its changes, before medium and objective are applied."""
        left_out = frozenset(undone)
        with model_of(self._before) as model:
            for index, step in enumerate(self._steps):
                kept: dict[str, list[str]] = {change.kind: [] for change in _changes(index, step)}
                for change in _changes(index, step):
                    if change not in left_out:
                        kept[change.kind].append(change.id)
                bounds = {"bounds": {item: step["bounds"][item] for item in kept.get("bounds", ())}}
                STEPS[step["kind"]](model, {**step, **kept, **bounds})
            yield model

    def culprits(self, deadline: float) -> Undone | None:
        """Return what to undo so that the objective flows; None if undoing everything does not help.

        A single change is preferred, and one of a reaction or a gene to a condition: an exchange, or a forced flux.

        Args:
            deadline: When to stop searching for fewer, as `time.monotonic()`.
        """
        if not self.changes or not self._flows_without(self.changes):
            return None
        with model_of(self._before) as model:
            exchanges = {exchange.reaction_id for exchange in exchanges_of(model).exchanges}
        candidates = sorted(self.changes, key=lambda change: (change.is_forced, change.id in exchanges))
        for change in candidates[:_TRIED_ALONE_AT_MOST]:
            if time.monotonic() < deadline and self._flows_without([change]):
                return self._undone([change])
        undone = candidates
        untried = [candidates]
        while untried:  # halves of what has to be undone are kept where they can be, the least likely causes first
            part = untried.pop()
            others = [change for change in undone if change not in part]
            if others and time.monotonic() < deadline and self._flows_without(others):
                undone = others
            elif len(part) > 1:
                half = len(part) // 2
                untried += [part[:half], part[half:]]
        return self._undone(undone)

    def _flows_without(self, undone: Collection[Change]) -> bool:
        with self.without(undone) as model:
            apply_conditions(model, self._conditions)
            verdict = solve(model)
            is_met = abs(model.solver.objective.value) > FLUX_NOISE if verdict == "optimal" else verdict == "unbounded"
            return is_met or (verdict == "optimal" and model.objective_direction == "min")

    def _undone(self, undone: Sequence[Change]) -> Undone:
        with self.without(()) as model:
            now = {reaction.id: reaction.bounds for reaction in model.reactions}
        with self.without(undone) as model:
            before = {reaction.id: reaction.bounds for reaction in model.reactions}
            removed = [_as_added(reaction) for reaction in model.reactions if reaction.id not in now]
        bounds = {name: bounds_to_json(*wide) for name, wide in before.items() if now.get(name, wide) != wide}
        stopped = {"reactions": list(bounds)} if len(undone) == 1 and undone[0].kind == "knock_out_genes" else {}
        restored = {"bounds": bounds, "add_reactions": removed}
        return Undone(
            tuple({"change": change.kind, "id": change.id, **stopped} for change in undone[:_LISTED_AT_MOST]),
            {name: given for name, given in restored.items() if given} if len(undone) <= _LISTED_AT_MOST else None,
            any(change.is_forced for change in undone),
        )


def is_filling(step: Step) -> bool:
    """Return whether a step of a recipe is a gap filling: it says for which medium."""
    return "media_id" in step


def _as_added(reaction: cobra.Reaction) -> dict[str, Any]:
    """Return a reaction as `modify_model` adds it."""
    rule = {"gene_rule": reaction.gene_reaction_rule} if reaction.gene_reaction_rule else {}
    equation = reaction.build_reaction_string()
    return {"id": reaction.id, "equation": equation, "bounds": bounds_to_json(*reaction.bounds), **rule}


def _changes(index: int, step: Step) -> Iterator[Change]:
    for kind in _SAID:
        for item in step.get(kind, ()):
            low, high = bounds_from_json(step[kind][item]) if kind == "bounds" else (0.0, 0.0)
            yield Change(index, kind, item, not low <= 0 <= high)
