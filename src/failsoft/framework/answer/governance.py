"""The governance facts of a call: role, session, workspace, plan.

A toolset with sessions sets `call.governance = Governance(...)`, an error may have its own, and a caller gives the
phase and the plan in `_meta["dev.failsoft/context"]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from failsoft.framework.safe.redaction import redact_text
from failsoft.framework.text import bounded

__all__ = ["CONTEXT_KEY", "UNGOVERNED", "Governance", "governance_of"]

CONTEXT_KEY = "dev.failsoft/context"
_FROM_CALLERS = ("phase_id", "plan_hash")


@dataclass(frozen=True, slots=True, kw_only=True)
class Governance:
    """The facts that seed 001 requires with every failure; None if unknown.

    Args:
        role: The role of the session.
        session_id: The session.
        workspace_root: The absolute path of its workspace.
        invariant_id: The invariant that was violated.
        phase_id: The phase of execution, as the caller named it.
        plan_hash: The SHA-256 of the approved plan.
    """

    role: str | None = None
    session_id: str | None = None
    workspace_root: str | None = None
    invariant_id: str | None = None
    phase_id: str | None = None
    plan_hash: str | None = None

    @classmethod
    def from_mapping(cls, facts: Mapping[str, Any]) -> Self:
        """Read the facts from a mapping, bounded and redacted; values that are not text and other keys are ignored."""
        return cls(**{name: _text(facts.get(name)) for name in NAMES})

    def over(self, other: Governance) -> Governance:
        """Return these facts, with missing ones taken from the other."""
        mine = {name: getattr(self, name) for name in NAMES}
        return Governance(**{name: getattr(other, name) if value is None else value for name, value in mine.items()})

    def to_dict(self) -> dict[str, str | None]:
        """Return all six facts by name."""
        return {name: getattr(self, name) for name in NAMES}


NAMES = tuple(field.name for field in fields(Governance))
UNGOVERNED = Governance()
"""The call belongs to no session."""


def governance_of(error: object, said: object, session_id: str | None, meta: Mapping[str, Any]) -> Governance:
    """Return the facts for one failure: those of the error take precedence over the call's, then the caller's.

    Args:
        error: The error, which may have `governance` or an `invariant_id`.
        said: The toolset's `Governance` of the call; any other value is ignored.
        session_id: The session as the transport knows it.
        meta: The request's `_meta`.
    """
    own = getattr(error, "governance", None)
    invariant = getattr(error, "invariant_id", None)
    sent = meta.get(CONTEXT_KEY) if meta else None
    if own is None and said is None and invariant is None and session_id is None and sent is None:
        return UNGOVERNED
    caller = {name: sent.get(name) for name in _FROM_CALLERS} if isinstance(sent, Mapping) else {}
    found = Governance.from_mapping({**caller, "invariant_id": invariant, "session_id": session_id})
    for better in (said, own):
        if isinstance(better, Governance):
            found = better.over(found)
    return found


def _text(value: Any) -> str | None:
    return redact_text(bounded(value)) if isinstance(value, str) and value else None
