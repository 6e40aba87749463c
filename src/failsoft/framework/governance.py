"""Under whose rules a call runs: role, session, workspace, and the plan it belongs to.

A toolset with sessions says it of a call (`call.governance = Governance(...)`), an error may say it of itself, and a
caller names the phase and the plan in `_meta["dev.failsoft/context"]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from failsoft.framework.redaction import redact_text
from failsoft.framework.text import bounded

__all__ = ["CONTEXT_KEY", "UNGOVERNED", "Governance", "governance_of"]

CONTEXT_KEY = "dev.failsoft/context"
_FROM_CALLERS = ("phase_id", "plan_hash")


@dataclass(frozen=True, slots=True, kw_only=True)
class Governance:
    """The facts that seed 001 wants with every failure; None where there is nothing to say.

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
        """Return what a mapping says: texts, bounded and without secrets; other values and other names are ignored."""
        return cls(**{name: _text(facts.get(name)) for name in NAMES})

    def over(self, other: Governance) -> Governance:
        """Return these facts, and those of the other where there are none."""
        mine = {name: getattr(self, name) for name in NAMES}
        return Governance(**{name: getattr(other, name) if value is None else value for name, value in mine.items()})

    def to_dict(self) -> dict[str, str | None]:
        """Return all six facts by name."""
        return {name: getattr(self, name) for name in NAMES}


NAMES = tuple(field.name for field in fields(Governance))
UNGOVERNED = Governance()
"""Nothing is known: the call belongs to no session."""


def governance_of(error: object, said: object, session_id: str | None, meta: Mapping[str, Any]) -> Governance:
    """Return the facts for one failure: the error's own first, then what was said of the call, then the caller's.

    Args:
        error: The error, which may have `governance` or an `invariant_id`.
        said: What the toolset said of the call, a `Governance`; anything else counts as nothing.
        session_id: The session as the transport knows it.
        meta: The request's `_meta`.
    """
    own = getattr(error, "governance", None)
    invariant = getattr(error, "invariant_id", None)
    told = meta.get(CONTEXT_KEY) if meta else None
    if own is None and said is None and invariant is None and session_id is None and told is None:
        return UNGOVERNED
    caller = {name: told.get(name) for name in _FROM_CALLERS} if isinstance(told, Mapping) else {}
    found = Governance.from_mapping({**caller, "invariant_id": invariant, "session_id": session_id})
    for better in (said, own):
        if isinstance(better, Governance):
            found = better.over(found)
    return found


def _text(value: Any) -> str | None:
    return redact_text(bounded(value)) if isinstance(value, str) and value else None
