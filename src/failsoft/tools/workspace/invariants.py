"""Invariants of the workspace toolset: what holds of sessions, written files and plans, and when it is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from failsoft.framework.errors import Effect, InvariantViolation


@dataclass(frozen=True, slots=True)
class Invariant:
    """One invariant: its stable id in failures and in the audit log, what holds, and when that is checked."""

    id: str
    holds: str
    checked: str


WORKSPACE_ROOT_UNCHANGED = Invariant(
    "WORKSPACE_ROOT_UNCHANGED",
    "the folder of a session is the one in which it began",
    "before every call of a session, except `end_session` and `write_failure_report`",
)
WRITTEN_IS_ON_DISK = Invariant(
    "WRITTEN_IS_ON_DISK",
    "a written file has the content that was written, unless another process changed it",
    "after every write, while the file is locked",
)
PLAN_IS_ITS_HASH = Invariant(
    "PLAN_IS_ITS_HASH",
    "the content of a plan has the plan's hash",
    "whenever a plan is read from the state store",
)
AUTHOR_IS_NOT_APPROVER = Invariant(
    "AUTHOR_IS_NOT_APPROVER",
    "a plan was not approved by its author",
    "whenever an approved plan is used",
)

INVARIANTS: Mapping[str, Invariant] = MappingProxyType(
    {one.id: one for one in (WORKSPACE_ROOT_UNCHANGED, WRITTEN_IS_ON_DISK, PLAN_IS_ITS_HASH, AUTHOR_IS_NOT_APPROVER)}
)
"""All of them, by id."""


def violated(invariant: Invariant, *, effect: Effect = "none") -> InvariantViolation:
    """Return the error for an invariant that does not hold.

    Args:
        invariant: Which one.
        effect: What the call has left behind so far.
    """
    return InvariantViolation(invariant_id=invariant.id, effect=effect)
