"""The error of a broken promise of the system itself."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors.base import Public
from failsoft.framework.errors.categories import InternalError

__all__ = ["InvariantViolation"]


class InvariantViolation(InternalError):
    """Something that has to hold at all times did not hold.

    Raised when: a check of a named invariant fails.
    Caller: do not repeat the call; tell the person you work for, with the error id.
    Operator: find the error id in the audit log; the invariant is named there.
    Example:
        >>> code_of(InvariantViolation(invariant_id="MANDATORY_DIAGNOSTICS"))
        'INVARIANT_VIOLATION'
    """

    invariant_id: Public[str]
    code: ClassVar[str] = "INVARIANT_VIOLATION"
    message: str = "The invariant {invariant_id} does not hold."
    since: ClassVar[str] = "0.1.0"
    critical: ClassVar[bool] = True
