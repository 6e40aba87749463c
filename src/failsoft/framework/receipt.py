"""`RecoveryReceipt`: what was done in place of failing, told to the caller on every recovered call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["RecoveryReceipt"]


@dataclass(frozen=True, slots=True)
class RecoveryReceipt:
    """What was done in place of failing: the strategy, in words, the runs of the handler, and what was changed."""

    strategy: str
    message: str
    attempts: int
    changed: Mapping[str, Any] = field(default_factory=dict)
    degraded: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form; all five keys are always there, so that nothing is changed in silence."""
        return {
            "strategy": self.strategy,
            "message": self.message,
            "attempts": self.attempts,
            "changed": dict(self.changed),
            "degraded": self.degraded,
        }
