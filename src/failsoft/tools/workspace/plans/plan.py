"""A plan: its content, hash, author and approver."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from failsoft.framework.audit.chain import canonical
from failsoft.framework.safe.principals import LOCAL_PRINCIPAL
from failsoft.tools.workspace.results import PlanFacts
from failsoft.tools.workspace.sessions.invariants import PLAN_IS_ITS_HASH, violated
from failsoft.tools.workspace.sessions.sessions import Session

_HASHED = ("body", "files", "title", "workspace_root")
_HASHED_IF_GIVEN = ("intent", "phases", "waive")
"""Hashed only where they are not empty, so that plans without them keep their hash."""
_ORIGIN = ("author", "nonce", "role", "submitted_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One plan.

    Args:
        plan_hash: SHA-256 of its content and its workspace.
        title: Its title.
        files: The paths and globs that may be written, sorted.
        body: Its text.
        workspace_root: The folder that it is for.
        author: Who submitted it first, as `author_of` says.
        role: The role of the author.
        submitted_at: When it was submitted, UTC.
        nonce: The id of this submission; an approval is valid for one submission only.
        clock: When it was submitted, in seconds on the store's clock: finer, for the order of plans.
        intent: The purpose of the plan.
        phases: The phases that its writes may name; empty where any will do.
        waive: The policy rules that do not apply to its writes.
        approver: Who approved it; None before that.
    """

    plan_hash: str
    title: str
    files: tuple[str, ...]
    body: str
    workspace_root: str
    author: str
    role: str
    submitted_at: str
    nonce: str
    clock: float
    intent: str = ""
    phases: tuple[str, ...] = ()
    waive: tuple[str, ...] = ()
    approver: str | None = None

    def shown_to(self, author: str) -> PlanFacts:
        """Return the facts for a session: not who submitted it, but whether the session's author did."""
        return {
            "plan_hash": self.plan_hash,
            "title": self.title,
            "files": list(self.files),
            "body": self.body,
            "intent": self.intent,
            "phases": list(self.phases),
            "waive": list(self.waive),
            "approved": self.approver is not None,
            "own": self.author == author,
            "role": self.role,
            "submitted_at": self.submitted_at,
        }


def author_of(session: Session, process: str | None = None) -> str:
    """Return the author of what a session submits or approves.

    The authenticated principal, else the process where it is bound to a role, else the session itself, under the hash
    of its id, so that the store reveals no usable id.

    Args:
        session: The session.
        process: The id of a process that is bound to one role; None for one that is not.
    """
    if session.principal is not None and session.principal != LOCAL_PRINCIPAL:
        return f"principal {session.principal}"
    if process is not None:
        return f"process {process}"
    return f"session {hashlib.sha256(session.session_id.encode()).hexdigest()}"


def content_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hashed part of a plan's facts."""
    given = {name: facts[name] for name in _HASHED_IF_GIVEN if facts.get(name)}
    return {**{name: facts[name] for name in _HASHED}, **given}


def hash_of(content: Mapping[str, Any]) -> str:
    """Return the hash of a plan's content: of its canonical JSON."""
    return hashlib.sha256(canonical(content)).hexdigest()


def read_plan(kept: Any, workspace_root: str, plan_hash: str) -> Plan:
    """Return a plan from the store, if its hash matches.

    Raises:
        INVARIANT_VIOLATION: It does not.
    """
    try:
        lists = {name: tuple(kept.get(name, ())) for name in ("files", "phases", "waive")}
        # A record that names an approver has a fact too many.
        plan = Plan(**{**kept, **lists}, plan_hash=plan_hash, approver=None)
        is_whole = plan.workspace_root == workspace_root and hash_of(content_of(asdict(plan))) == plan_hash
        is_whole = is_whole and all(isinstance(getattr(plan, name), str) for name in _ORIGIN)
        is_whole = is_whole and isinstance(plan.clock, (int, float))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise violated(PLAN_IS_ITS_HASH) from error
    if not is_whole:
        raise violated(PLAN_IS_ITS_HASH)
    return plan
