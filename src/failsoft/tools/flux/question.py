"""What is asked of a model: on which medium, for which objective, and how much of the answer is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from failsoft.framework.errors import NextStep

__all__ = ["Question"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked of a model.

    Args:
        model_id: The model's id, for the errors.
        media_id: The medium's id; None for the bounds that the model has of its own.
        compounds: The medium: bounds by ModelSEED id.
        objective: The reaction to maximize; None for the model's own.
        threshold: Fluxes of at most that size are left out.
        limit: Fluxes that are returned, the largest first.
    """

    model_id: str
    media_id: str | None = None
    compounds: Mapping[str, tuple[float, float]] | None = None
    objective: str | None = None
    threshold: float = 1e-6
    limit: int = 100

    def again(self, **changed: Any) -> NextStep:
        """Return the same call with something changed."""
        given = {"model_id": self.model_id, "media_id": self.media_id, "objective": self.objective, **changed}
        return NextStep("run_fba", {name: value for name, value in given.items() if value is not None})
