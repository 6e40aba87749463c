"""Recipes: how a model is made, as JSON, so that workers of all replicas make the same model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

Step: TypeAlias = Mapping[str, Any]
"""A base or a step: a JSON object whose `kind` says who makes it."""

SHIPPED_MODELS = {
    "textbook": "Core metabolism of Escherichia coli, 95 reactions",
    "iJO1366": "Whole genome of Escherichia coli K-12, 2,583 reactions",
    "salmonella": "Whole genome of Salmonella Typhimurium, 3,357 reactions",
}
"""The models that come with cobra, and what they are."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A complete description of a model as a base and steps, in plain JSON.

    Args:
        base: What it begins with: `{"kind": "shipped", "name": ...}` or `{"kind": "draft", ...}`.
        steps: What is then done to it, in order: `{"kind": "modify", ...}`, `{"kind": "add", ...}`.
        digests: One for the base and one after each step, so that a worker finds the longest part that it has made
            already; worked out if left out.
    """

    base: Step
    steps: tuple[Step, ...] = ()
    digests: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if len(self.digests) != len(self.steps) + 1:
            object.__setattr__(self, "digests", _digests(self.base, self.steps))

    @property
    def digest(self) -> str:
        """What names the finished model."""
        return self.digests[-1]

    @classmethod
    def shipped(cls, name: str) -> Self:
        """Return the recipe of a model that comes with cobra."""
        return cls({"kind": "shipped", "name": name})

    def then(self, step: Step) -> Recipe:
        """Return the recipe with one more step."""
        digest = _digest(self.digest, step)
        return Recipe(self.base, (*self.steps, step), (*self.digests, digest))

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {"base": dict(self.base), "steps": [dict(step) for step in self.steps], "digests": list(self.digests)}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """Return the recipe that `to_json` wrote."""
        return cls(kept["base"], tuple(kept["steps"]), tuple(kept.get("digests", ())))


def _digests(base: Step, steps: tuple[Step, ...]) -> tuple[str, ...]:
    found = [_digest("", base)]
    for step in steps:
        found.append(_digest(found[-1], step))
    return tuple(found)


def _digest(before: str, step: Step) -> str:
    text = json.dumps(step, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()
