"""The plans of a server: durable, and shared by the servers of a store.

A plan never changes. Plan and approval are separate records, each written only if absent: of two concurrent calls the
first one wins. Each workspace has a list of all plans and one of the approved plans, since scanning the store is slow.
Lists are updated atomically, before the records that they list: an approved plan is always listed.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import uuid4

from failsoft.framework.audit.chain import canonical
from failsoft.framework.clock import utc_timestamp
from failsoft.framework.errors.violations import summarize
from failsoft.framework.safe.principals import LOCAL_PRINCIPAL
from failsoft.framework.state.records import Records
from failsoft.framework.state.store import changed_names
from failsoft.framework.text import quoted
from failsoft.tools.workspace.errors import PlanEnforcementFailed, PlanNotApproved, PlanNotFound, UnauthorizedAction
from failsoft.tools.workspace.results import PlanFacts
from failsoft.tools.workspace.scope import faults_of, list_step, normal
from failsoft.tools.workspace.sessions.invariants import AUTHOR_IS_NOT_APPROVER, PLAN_IS_ITS_HASH, violated
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


PLANS_AT_MOST = 200
"""Plans that are listed for one workspace; of more the newest."""
_NO_PRINCIPAL = "Plans cannot be approved here: this server does not authenticate its callers."
_PREFIX_AT_LEAST = 6
"""Characters of a hash from which on full hashes are suggested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDraft:
    """What a session submits as a plan; see `Plan`."""

    title: str
    files: Sequence[str]
    body: str = ""
    intent: str = ""
    phases: Sequence[str] = ()
    waive: Sequence[str] = ()


class Plans:
    """The plans of a server, by workspace.

    Args:
        store: The records.
        lifetime_s: Seconds after its submission when a plan expires.
        process: The id of this process if it is bound to one role; it is then the author for all its sessions.
        rules: The policy rules that a plan may waive; None where they are not all known.
    """

    def __init__(
        self, store: Records, *, lifetime_s: float, process: str | None = None, rules: frozenset[str] | None = None
    ) -> None:
        self._store = store
        self._lifetime_s = lifetime_s
        self._process = process
        self._rules = rules

    def author_of(self, session: Session) -> str:
        """Return the author of what a session submits or approves."""
        return author_of(session, self._process)

    async def submit(self, session: Session, draft: PlanDraft) -> Plan:
        """Store a plan, and return it; a plan that is stored already keeps its author and approval.

        Raises:
            PLAN_ENFORCEMENT_FAILED: Its files are invalid, or it waives unknown rules.
        """
        faults = faults_of(draft.files, draft.waive, self._rules)
        if faults:
            raise PlanEnforcementFailed(message=summarize(faults), violations=faults, effect="none")
        content = content_of(
            {
                "title": draft.title,
                "files": sorted({normal(pattern) for pattern in draft.files}),
                "body": draft.body,
                "workspace_root": session.workspace_root,
                "intent": draft.intent,
                "phases": list(dict.fromkeys(draft.phases)),
                "waive": sorted(set(draft.waive)),
            }
        )
        plan_hash = hash_of(content)
        origin = {"author": self.author_of(session), "role": session.role, "submitted_at": utc_timestamp()}
        kept = {**content, **origin, "nonce": uuid4().hex, "clock": self._store.clock()}
        await self._listed("all", session.workspace_root, plan_hash)
        await self._put(session, _plan_key(session.workspace_root, plan_hash), kept)
        return await self.find(session, plan_hash)

    async def approve(self, session: Session, plan_hash: str, *, is_anonymous: bool = False) -> Plan:
        """Approve a plan, and return it. It may be approved already.

        Args:
            session: The session that approves.
            plan_hash: The plan.
            is_anonymous: Whether the caller cannot be identified, as over HTTP without tokens.

        Raises:
            PLAN_NOT_FOUND: There is none with this hash.
            UNAUTHORIZED_ACTION: The caller submitted it, or is anonymous.
            INVARIANT_VIOLATION: The stored plan does not match its hash.
        """
        plan = await self.find(session, plan_hash)
        if is_anonymous:
            raise UnauthorizedAction(
                role=session.role,
                action="approve",
                message=_NO_PRINCIPAL,
                operator_hint="give each caller a token in FAILSOFT_AUTH_TOKENS",
                effect="none",
            )
        approver = self.author_of(session)
        if plan.author == approver:
            raise UnauthorizedAction(
                role=session.role,
                action="approve",
                message="You submitted this plan, so another author has to approve it.",
                next_step=list_step(session),
                effect="none",
            )
        await self._listed("approved", session.workspace_root, plan_hash)
        await self._put(session, _approval_key(plan), {"approver": approver})
        return await self.find(session, plan_hash)

    async def withdraw(self, session: Session, plan_hash: str) -> Plan:
        """Remove a plan with its approval, and return it as it was.

        Raises:
            PLAN_NOT_FOUND: There is none with this hash.
            INVARIANT_VIOLATION: The stored plan does not match its hash.
        """
        plan = await self.find(session, plan_hash)
        await self._store.delete(_plan_key(session.workspace_root, plan_hash))
        await self._store.delete(_approval_key(plan))
        return plan

    async def find(self, session: Session, plan_hash: str) -> Plan:
        """Return the plan with this hash, approved or not.

        Raises:
            PLAN_NOT_FOUND: There is none in the session's workspace.
            INVARIANT_VIOLATION: The stored plan does not match its hash.
        """
        plan = await self._kept(session.workspace_root, plan_hash)
        if plan is None:
            raise await self._not_found(session, plan_hash)
        return plan

    async def all(self, workspace_root: str) -> list[Plan]:
        """Return the plans of a workspace, the newest 200 of them first.

        Raises:
            INVARIANT_VIOLATION: A plan does not match its hash.
        """
        return await self._all("all", workspace_root)

    async def approved(self, session: Session, named: str | None, found: Callable[[Plan], None]) -> list[Plan]:
        """Return the approved plans that may cover a write: the one that it names, or all of its workspace.

        Args:
            session: The session that writes.
            named: The hash of a plan; None if the write names none.
            found: Called with the named plan.

        Raises:
            PLAN_NOT_FOUND: There is none with this hash.
            PLAN_NOT_APPROVED: The named plan is not approved, or no plan is.
            INVARIANT_VIOLATION: A plan does not match its hash, or was approved by its author.
        """
        if named is None:
            plans = await self._all("approved", session.workspace_root)
        else:
            plans = [await self.find(session, named)]
            found(plans[0])
        approved = [plan for plan in plans if plan.approver is not None]
        if any(plan.approver == plan.author for plan in approved):
            raise violated(AUTHOR_IS_NOT_APPROVER)
        if not approved:
            said = "no approved plan covers it" if named is None else "its plan is not approved"
            advice = "One session submits a plan, another approves it."
            raise PlanNotApproved(message=f"{said}. {advice}", next_step=list_step(session), effect="none")
        return approved

    async def _not_found(self, session: Session, plan_hash: str) -> PlanNotFound:
        hashes = await self._listed("all", session.workspace_root) if len(plan_hash) >= _PREFIX_AT_LEAST else []
        return PlanNotFound(
            message=f"No plan {quoted(plan_hash, 100)} in this workspace; `list_plans` gives full hashes.",
            suggestions=[one for one in hashes if one.startswith(plan_hash.lower())][:3],
            next_step=list_step(session),
            effect="none",
        )

    async def _all(self, which: str, workspace_root: str) -> list[Plan]:
        hashes = await self._listed(which, workspace_root)
        found = await asyncio.gather(*(self._kept(workspace_root, plan_hash) for plan_hash in hashes))
        plans = [plan for plan in found if plan is not None]  # a list outlives what has expired or was withdrawn
        return sorted(plans, key=lambda plan: plan.clock, reverse=True)

    async def _listed(self, which: str, workspace_root: str, plan_hash: str = "") -> list[str]:
        """Return the hashes of a list, with this one added to it."""
        key = _prefix(f"plans-{which}", workspace_root)
        hashes: list[str] = await self._store.change(
            changed_names, key, plan_hash, "", PLANS_AT_MOST, self._lifetime_s, is_free=True
        )
        return hashes

    async def _kept(self, workspace_root: str, plan_hash: str) -> Plan | None:
        key = _plan_key(workspace_root, plan_hash)
        plan = await self._store.get(key, lambda kept: read_plan(kept, workspace_root, plan_hash))
        if plan is None:
            return None
        return _approved(plan, await self._store.get(_approval_key(plan)))

    async def _put(self, session: Session, key: str, value: Mapping[str, Any]) -> None:
        await self._store.put(key, value, self._lifetime_s, only_if_absent=True, principal=session.principal)


def _approved(plan: Plan, approval: Any) -> Plan:
    """Return a plan with its approval, if it has one.

    Raises:
        INVARIANT_VIOLATION: The record is not an approval.
    """
    if approval is None:
        return plan
    if not isinstance(approval, Mapping) or not isinstance(approval.get("approver"), str):
        raise violated(PLAN_IS_ITS_HASH)
    return replace(plan, approver=approval["approver"])


def _prefix(kind: str, workspace_root: str) -> str:
    return f"{kind}:{hashlib.sha256(workspace_root.encode(errors='replace')).hexdigest()}:"


def _plan_key(workspace_root: str, plan_hash: str) -> str:
    return f"{_prefix('plan', workspace_root)}{plan_hash}"


def _approval_key(plan: Plan) -> str:
    """Return the key of an approval, which is valid for one submission."""
    return f"{_prefix('approval', plan.workspace_root)}{plan.plan_hash}:{plan.nonce}"
