"""Plans: what may be written, who wrote that down, and who else approved it. They live in the state store.

A plan is what its hash was made of, and never changes. It has a key of its own, its approval another, and both are put
only where there is none: of two calls at once the first one counts, and nothing is lost. The two lists of a workspace,
of all plans and of the approved ones, are changed in one atomic step each, and before what they list is put: a plan is
never in force without being listed.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import uuid4

from failsoft.framework.audit.sealing import canonical
from failsoft.framework.clock import utc_timestamp
from failsoft.framework.context import LOCAL_PRINCIPAL, CallContext
from failsoft.framework.errors import NextStep, ToolError
from failsoft.framework.governance import CONTEXT_KEY
from failsoft.framework.state_port import StateStore
from failsoft.framework.violations import summarize
from failsoft.tools.workspace.invariants import AUTHOR_IS_NOT_APPROVER, PLAN_IS_ITS_HASH, violated
from failsoft.tools.workspace.plan_errors import (
    PlanEnforcementFailed,
    PlanNotApproved,
    PlanNotFound,
    PlanScopeViolation,
)
from failsoft.tools.workspace.plan_index import LIST
from failsoft.tools.workspace.plan_scope import covers, faults_of, normal
from failsoft.tools.workspace.results import PlanFacts
from failsoft.tools.workspace.session_errors import UnauthorizedAction
from failsoft.tools.workspace.sessions import Session

__all__ = ["Plan", "Plans", "author_of", "named_by", "refusing", "scope_of"]

PLANS_AT_MOST = 200
"""Plans that are listed for one workspace; of more the newest."""
_SHOWN_AT_MOST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One plan.

    Args:
        plan_hash: SHA-256 of title, files, body and workspace.
        title: What it is about.
        files: The paths and globs that may be written, sorted.
        body: The plan itself, as text.
        workspace_root: The folder that it is for.
        author: Who submitted it first, as `author_of` says.
        role: The role in which they did.
        submitted_at: When they did.
        nonce: Of this submission: an approval does not outlive the plan that it was given to.
        approver: Who approved it; None if nobody did.
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
    approver: str | None = None

    def told_to(self, session: Session) -> PlanFacts:
        """Return what this session may know of it: not who, but whether it was the session's own."""
        return {
            "plan_hash": self.plan_hash,
            "title": self.title,
            "files": list(self.files),
            "body": self.body,
            "approved": self.approver is not None,
            "own": self.author == author_of(session),
            "role": self.role,
            "submitted_at": self.submitted_at,
        }


def author_of(session: Session) -> str:
    """Return whose plan it is that this session submits: the principal's, and without one the session's own.

    A session is named by the hash of its id: whoever reads the store cannot use it.
    """
    if session.principal is not None and session.principal != LOCAL_PRINCIPAL:
        return f"principal {session.principal}"
    return f"session {hashlib.sha256(session.session_id.encode()).hexdigest()}"


def named_by(call: CallContext, plan_hash: str | None) -> str | None:
    """Return the plan that a call names, as an argument or else in its `_meta`; None if it names none."""
    told = call.scope.meta.get(CONTEXT_KEY)
    if plan_hash is not None or not isinstance(told, Mapping) or told.get("plan_hash") is None:
        return plan_hash
    return str(told["plan_hash"])


def scope_of(plans: Sequence[Plan], found: Callable[[Plan], None], session: Session) -> Callable[[str, str], None]:
    """Return the guard of a write: it lets through what one of the plans covers, by name and by where that leads.

    Args:
        plans: Those that are in force for the write.
        found: Is told the plan that covers it.
        session: Whose write it is.
    """

    def guard(path: str, real_path: str) -> None:
        for plan in plans:
            if covers(plan.files, path) and covers(plan.files, real_path):
                found(plan)
                return
        patterns = list(dict.fromkeys(pattern for plan in plans for pattern in plan.files))
        more = f", and {len(patterns) - _SHOWN_AT_MOST} more" if len(patterns) > _SHOWN_AT_MOST else ""
        raise PlanScopeViolation(
            path=path,
            suggestions=[f"Covered are: {', '.join(patterns[:_SHOWN_AT_MOST])}{more}"],
            next_step=_look(session),
            effect="none",
        )

    return guard


def refusing(error: ToolError) -> Callable[[str, str], None]:
    """Return the guard of a write that has no plan to go by: a path that no plan could cover is told before that."""

    def guard(path: str, real_path: str) -> None:  # noqa: ARG001 - a guard is given both
        raise error

    return guard


class Plans:
    """The plans of a server, by workspace.

    Args:
        store: Where they are kept.
        lifetime_s: Seconds after its submission when a plan has expired.
    """

    def __init__(self, store: StateStore, *, lifetime_s: float) -> None:
        self._store = store
        self._lifetime_s = lifetime_s

    async def submit(self, session: Session, *, title: str, files: Sequence[str], body: str) -> Plan:
        """Keep a plan, and return it; one that is kept already stays its first author's, and approved if it was.

        Raises:
            PLAN_ENFORCEMENT_FAILED: Its files are not what a write could be held to.
        """
        faults = faults_of(files)
        if faults:
            raise PlanEnforcementFailed(message=summarize(faults), violations=faults, effect="none")
        content: dict[str, Any] = {
            "title": title,
            "files": sorted({normal(pattern) for pattern in files}),
            "body": body,
            "workspace_root": session.workspace_root,
        }
        plan_hash = _hash_of(content)
        origin = {"author": author_of(session), "role": session.role, "submitted_at": utc_timestamp()}
        await self._list("all", session.workspace_root, plan_hash)
        key = _key("plan", session.workspace_root, plan_hash)
        await self._store.put(key, {**content, **origin, "nonce": uuid4().hex}, self._lifetime_s, only_if_absent=True)
        return await self.find(session, plan_hash)

    async def approve(self, session: Session, plan_hash: str) -> Plan:
        """Put a plan in force, and return it. It may be in force already.

        Raises:
            PLAN_NOT_FOUND: There is none with this hash.
            UNAUTHORIZED_ACTION: The caller submitted it.
            INVARIANT_VIOLATION: What is kept is not that plan.
        """
        plan = await self.find(session, plan_hash)
        approver = author_of(session)
        if plan.author == approver:
            raise UnauthorizedAction(
                role=session.role,
                action="approve",
                message="You submitted this plan yourself, so somebody else has to approve it.",
                next_step=_look(session),
                effect="none",
            )
        await self._list("approved", session.workspace_root, plan_hash)
        await self._store.put(_approval_key(plan), {"approver": approver}, self._lifetime_s, only_if_absent=True)
        return await self.find(session, plan_hash)

    async def find(self, session: Session, plan_hash: str) -> Plan:
        """Return the plan with this hash, approved or not.

        Raises:
            PLAN_NOT_FOUND: There is none in the session's workspace.
            INVARIANT_VIOLATION: What is kept is not that plan.
        """
        plan = await self._kept(session.workspace_root, plan_hash)
        if plan is None:
            raise PlanNotFound(next_step=_look(session), effect="none")
        return plan

    async def all(self, workspace_root: str) -> list[Plan]:
        """Return the plans of a workspace, the newest first.

        Raises:
            INVARIANT_VIOLATION: One is not what its hash was made of.
        """
        return (await self._listed("all", workspace_root))[::-1]

    async def in_force(self, session: Session, named: str | None, found: Callable[[Plan], None]) -> list[Plan]:
        """Return the approved plans that a write may go by: the one that it names, or all of its workspace.

        Args:
            session: Whose write it is.
            named: The hash of a plan; None if the write names none.
            found: Is told the plan that is named, once it is found.

        Raises:
            PLAN_NOT_FOUND: There is none with this hash.
            PLAN_NOT_APPROVED: It, or any at all, is not approved.
            INVARIANT_VIOLATION: A plan is not what its hash was made of, or was approved by its author.
        """
        if named is None:
            plans = await self._listed("approved", session.workspace_root)
        else:
            plans = [await self.find(session, named)]
            found(plans[0])
        approved = [plan for plan in plans if plan.approver is not None]
        if any(plan.approver == plan.author for plan in approved):
            raise violated(AUTHOR_IS_NOT_APPROVER)
        if not approved:
            raise PlanNotApproved(next_step=_look(session), effect="none")
        return approved

    async def _listed(self, which: str, workspace_root: str) -> list[Plan]:
        hashes = await self._list(which, workspace_root, "")
        plans = await asyncio.gather(*(self._kept(workspace_root, plan_hash) for plan_hash in hashes))
        return [plan for plan in plans if plan is not None]  # a list outlives what has expired

    async def _list(self, which: str, workspace_root: str, plan_hash: str) -> list[str]:
        key = _key(f"plans-{which}", workspace_root)
        hashes: list[str] = await self._store.change(LIST, key, plan_hash, PLANS_AT_MOST, self._lifetime_s)
        return hashes

    async def _kept(self, workspace_root: str, plan_hash: str) -> Plan | None:
        kept = await self._store.get(_key("plan", workspace_root, plan_hash))
        if kept is None:
            return None
        plan = _read(kept, workspace_root, plan_hash)
        approval = await self._store.get(_approval_key(plan))
        if approval is None:
            return plan
        if not isinstance(approval, Mapping) or not isinstance(approval.get("approver"), str):
            raise violated(PLAN_IS_ITS_HASH)
        return _read(kept, workspace_root, plan_hash, approver=approval["approver"])


def _read(kept: Any, workspace_root: str, plan_hash: str, *, approver: str | None = None) -> Plan:
    """Return the plan that a store kept, if it is the one that was submitted.

    Raises:
        INVARIANT_VIOLATION: It is not.
    """
    try:
        plan = Plan(**{**kept, "files": tuple(kept["files"])}, plan_hash=plan_hash, approver=approver)
        told = {name: value for name, value in asdict(plan).items() if name in _HASHED}
        is_whole = plan.workspace_root == workspace_root and _hash_of(told) == plan_hash
        is_whole = is_whole and all(isinstance(getattr(plan, name), str) for name in _ORIGIN)
    except (KeyError, TypeError, ValueError) as error:
        raise violated(PLAN_IS_ITS_HASH) from error
    if not is_whole:
        raise violated(PLAN_IS_ITS_HASH)
    return plan


_HASHED = ("body", "files", "title", "workspace_root")
_ORIGIN = ("author", "nonce", "role", "submitted_at")


def _hash_of(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(content)).hexdigest()


def _look(session: Session) -> NextStep:
    return NextStep("list_plans", {"session_id": session.session_id})


def _approval_key(plan: Plan) -> str:
    return _key("approval", plan.workspace_root, plan.plan_hash, plan.author, plan.nonce)


def _key(kind: str, *names: str) -> str:
    digest = hashlib.sha256("\0".join(names).encode(errors="replace")).hexdigest()
    return f"workspace-{kind}:{digest}"
