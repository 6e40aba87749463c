"""What has to hold at all times in a workspace: each invariant by its id, and where the code looks whether it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from failsoft.framework.errors import Effect, InvariantViolation

__all__ = [
    "AUTHOR_IS_NOT_APPROVER",
    "INVARIANTS",
    "PLAN_IS_ITS_HASH",
    "WORKSPACE_ROOT_UNCHANGED",
    "WRITTEN_IS_ON_DISK",
    "Invariant",
    "violated",
]


@dataclass(frozen=True, slots=True)
class Invariant:
    """One of them.

    Args:
        id: What failures and the audit log name it by; it never changes.
        holds: What holds.
        checked: When it is looked at.
    """

    id: str
    holds: str
    checked: str


WORKSPACE_ROOT_UNCHANGED = Invariant(
    "WORKSPACE_ROOT_UNCHANGED",
    "the folder of a session is the very folder in which it began",
    "before every call of a session, but for `end_session` and `write_failure_report`",
)
WRITTEN_IS_ON_DISK = Invariant(
    "WRITTEN_IS_ON_DISK",
    "a file that was written holds what was written, unless somebody else has changed it since",
    "after every write, while the file is still locked",
)
PLAN_IS_ITS_HASH = Invariant(
    "PLAN_IS_ITS_HASH",
    "a plan is the one that its hash was made of",
    "whenever a plan is read from the state store",
)
AUTHOR_IS_NOT_APPROVER = Invariant(
    "AUTHOR_IS_NOT_APPROVER",
    "whoever approved a plan is not who submitted it",
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
