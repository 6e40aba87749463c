"""`RecoveryReceipt`: how a call was recovered, sent with every recovered result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class RecoveryReceipt:
    """How a failing call was recovered: strategy, description, number of attempts, and changed arguments."""

    strategy: str
    message: str
    attempts: int
    changed: Mapping[str, Any] = field(default_factory=dict)
    degraded: bool = False
    rule: str = ""
    """Which of the strategy's rules applied, where it has several."""

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form, without what is empty or false."""
        wire: dict[str, Any] = {"strategy": self.strategy, "message": self.message, "attempts": self.attempts}
        if self.changed:
            wire["changed"] = dict(self.changed)
        if self.degraded:
            wire["degraded"] = True
        if self.rule:
            wire["rule"] = self.rule
        return wire
