"""`Failure`: everything there is to say about one failed call; every wire format renders it and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from failsoft.framework.errors.base import Effect, NextStep, RetryWhen, ToolError
from failsoft.framework.governance import UNGOVERNED, Governance
from failsoft.framework.json_safe import json_safe
from failsoft.framework.record import record
from failsoft.framework.redaction import redact
from failsoft.framework.stop_reason import StopReason
from failsoft.framework.violations import Violation

__all__ = ["Failure", "RetryAdvice"]


@dataclass(frozen=True, slots=True)
class RetryAdvice:
    """Whether and when the caller may repeat the call; `after_seconds` only with `after_delay`."""

    when: RetryWhen
    after_seconds: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form, `{"when": ..., "after_seconds"?: ...}`."""
        if self.after_seconds is None:
            return {"when": self.when}
        return {"when": self.when, "after_seconds": self.after_seconds}


@record
class Failure:
    """One failed call, ready to be told: redacted, bounded, and cut to the level of detail that was set.

    `details`, `cause` and `stack_trace` are None where the environment withholds them. `exception` is the typed error
    itself, for callers in this process.
    """

    message: str
    code: str
    category: str
    tool: str
    operation: str
    retry: RetryAdvice
    effect: Effect
    error_id: str
    timestamp: str
    exception: ToolError
    stop_reason: StopReason = "not_transient"
    suggestions: tuple[str, ...] = ()
    next_step: NextStep | None = None
    violations: tuple[Violation, ...] = ()
    details: Mapping[str, Any] | None = None
    cause: Mapping[str, Any] | None = None
    stack_trace: str | None = None
    request_id: str | None = None
    session_id: str | None = None
    principal: str | None = None
    governance: Governance = UNGOVERNED
    rejected: bool = False
    about: Mapping[str, Any] | None = None
    """What the toolset itself says of where it failed; only some wire formats have a place for it."""
    is_cut: bool = False
    """Whether something was left out because a client would not have accepted all of it."""

    @property
    def public(self) -> dict[str, Any]:
        """The error's public fields, which every environment may see; only some wire formats have a place for them."""
        if self.is_cut:
            return {}
        fields: dict[str, Any] = redact(json_safe(self.exception.public()))
        return fields

    @property
    def recoverable(self) -> bool:
        """Whether the caller may try again, now, later or corrected (the seeds' `retryable` and `recoverable`)."""
        return self.retry.when != "never"

    @property
    def is_crash(self) -> bool:
        """Whether nobody foresaw this failure: the log then keeps the stack."""
        return self.category == "internal"

    def meta(self) -> dict[str, Any]:
        """Return what `_meta["dev.failsoft/error"]` carries on every failure."""
        return {
            "code": self.code,
            "category": self.category,
            "retry": self.retry.to_dict(),
            "effect": self.effect,
            "error_id": self.error_id,
        }
