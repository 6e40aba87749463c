"""What sessions may do with the plans of their workspaces: submit, approve, use and withdraw them."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from failsoft.framework.errors.violations import summarize
from failsoft.framework.safe.principals import LOCAL_PRINCIPAL
from failsoft.framework.text import quoted
from failsoft.tools.workspace.errors import PlanEnforcementFailed, PlanNotApproved, PlanNotFound, UnauthorizedAction
from failsoft.tools.workspace.invariants import AUTHOR_IS_NOT_APPROVER, violated
from failsoft.tools.workspace.plans.register import (
    PLANS_AT_MOST,
    PLANS_PER_AUTHOR,
    PREFIX_AT_LEAST,
    UNKNOWN,
    Plan,
    PlanRegister,
    hash_of,
)
from failsoft.tools.workspace.plans.scope import Guard, faults_of, list_step, normal, plan_guard, refusal_guard
from failsoft.tools.workspace.sessions import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDraft:
    """What a session submits as a plan; see `Plan`."""

    title: str
    files: Sequence[str]
    body: str = ""
    waive: Sequence[str] = ()


class Plans:
    """What sessions may do with the plans of their workspaces.

    Args:
        register: The plans.
        is_bound: Whether the server is bound to one role, which is then the author also for unknown callers.
        rules: The policy rules that a plan may waive; None where they are not all known.
    """

    def __init__(self, register: PlanRegister, *, is_bound: bool = False, rules: frozenset[str] | None = None) -> None:
        self._register = register
        self._is_bound = is_bound
        self._rules = rules

    def author_of(self, session: Session) -> str:
        """Return the author of what a session submits or approves.

        The authenticated principal; else the role of a local client, or of a server that is bound to it: a client may
        begin as many sessions, and start as many servers, as it likes. Any other caller is its session, under the hash
        of its id, so that the store reveals no usable id.
        """
        if session.principal not in {None, LOCAL_PRINCIPAL}:
            return f"principal {session.principal}"
        if self._is_bound or session.principal == LOCAL_PRINCIPAL:
            return f"role:{session.role}"
        return f"{UNKNOWN} {hashlib.sha256(session.session_id.encode()).hexdigest()}"

    async def submit(self, session: Session, draft: PlanDraft) -> Plan:
        """Store a plan, and return it; a plan that is stored already keeps its author and approval.

        Raises:
            PLAN_ENFORCEMENT_FAILED: Its files are invalid, it waives unknown rules, or there are too many plans.
        """
        faults = faults_of(draft.files, draft.waive, self._rules)
        if faults:
            raise PlanEnforcementFailed(message=summarize(faults), violations=faults, effect="none")
        waived = {"waive": sorted(set(draft.waive))} if draft.waive else {}
        files = sorted({normal(pattern) for pattern in draft.files})
        facts = {"title": draft.title, "files": files, "body": draft.body, "workspace_root": session.workspace_root}
        content = {**facts, **waived}
        author = self.author_of(session)
        outcome = await self._register.add(content, author=author, role=session.role, principal=session.principal)
        if outcome != "done":
            whose = "Callers without a token have" if author.startswith(f"{UNKNOWN} ") else "You have"
            held = f"{whose} {PLANS_PER_AUTHOR}" if outcome == "author" else f"The workspace has {PLANS_AT_MOST}"
            message = f"{held} plans, the most that are kept; nothing was submitted. Withdraw one first."
            raise PlanEnforcementFailed(message=message, next_step=list_step(session), effect="none")
        return await self.find(session, hash_of(content))

    async def approve(
        self, session: Session, plan_hash: str, *, approver: str | None = None, is_anonymous: bool = False
    ) -> Plan:
        """Approve a plan, and return it. It may be approved already.

        Args:
            session: The session that approves.
            plan_hash: The plan.
            approver: Who approves it; by default the session.
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
                message="Plans cannot be approved here: this server does not authenticate its callers.",
                operator_hint="give each caller a token in FAILSOFT_AUTH_TOKENS",
                effect="none",
            )
        outcome = await self._register.approve(session.workspace_root, plan_hash, approver or self.author_of(session))
        if outcome == "own":
            raise _refused(session, "approve", f"You submitted this plan. {_others(plan, session)}")
        return await self.find(session, plan_hash)

    async def withdraw(self, session: Session, plan_hash: str) -> Plan:
        """Remove a plan with its approval, and return it as it was.

        Raises:
            PLAN_NOT_FOUND: There is none with this hash.
            UNAUTHORIZED_ACTION: The caller neither submitted nor approved it.
            INVARIANT_VIOLATION: The stored plan does not match its hash.
        """
        plan = await self.find(session, plan_hash)
        outcome = await self._register.remove(session.workspace_root, plan_hash, self.author_of(session))
        if outcome == "others":
            raise _refused(session, "withdraw", "Only the author or the approver of a plan withdraws it.")
        return plan

    async def find(self, session: Session, plan_hash: str) -> Plan:
        """Return a plan of the session's workspace.

        Raises:
            PLAN_NOT_FOUND: There is none with this hash.
            INVARIANT_VIOLATION: The stored plan does not match its hash.
        """
        plan = await self._register.find(session.workspace_root, plan_hash)
        if plan is None:
            raise await self._not_found(session, plan_hash)
        return plan

    async def page(self, session: Session, limit: int, cursor: str | None) -> tuple[list[Plan], int, str | None]:
        """Return plans of the session's workspace, the newest first; how many there are; and the next cursor.

        Args:
            session: The session that asks.
            limit: How many at most.
            cursor: The cursor of the page before; None for the first one.
        """
        entries = await self._register.entries(session.workspace_root)
        after = None if cursor is None else (float(cursor.partition("-")[0]), cursor.partition("-")[2])
        rest = [entry for entry in entries if after is None or (entry[1]["clock"], entry[0]) < after]
        following = f"{rest[limit - 1][1]['clock']!r}-{rest[limit - 1][0]}" if len(rest) > limit else None
        return await self._register.read(session.workspace_root, rest[:limit]), len(entries), following

    async def guard(self, session: Session, named: str | None, on_plan: Callable[[Plan], None]) -> Guard:
        """Return the guard of a write, which refuses what no approved plan covers.

        Args:
            session: The session that writes.
            named: The plan that the call names; None for any approved one.
            on_plan: Called with the plan that the call names, and with the one that covers the write.

        Raises:
            INVARIANT_VIOLATION: A plan does not match its hash, or was approved by its author.
        """
        entries = await self._register.entries(session.workspace_root)
        wanted = [one for one in entries if (one[1]["approver"] is not None if named is None else one[0] == named)]
        plans = await self._register.read(session.workspace_root, wanted)
        if named is not None and not plans:
            return refusal_guard(await self._not_found(session, named))
        for plan in plans if named is not None else ():
            on_plan(plan)
        approved = [plan for plan in plans if plan.approver is not None]
        if any(plan.approver == plan.author for plan in approved):
            raise violated(AUTHOR_IS_NOT_APPROVER)
        if approved:
            return plan_guard(approved, on_plan, session)
        said = "no approved plan covers it" if named is None else "its plan is not approved"
        said = f"{said}. One session submits a plan, another author or a person approves it."
        return refusal_guard(PlanNotApproved(message=said, next_step=list_step(session), effect="none"))

    async def _not_found(self, session: Session, plan_hash: str) -> PlanNotFound:
        known = await self._register.entries(session.workspace_root) if len(plan_hash) >= PREFIX_AT_LEAST else []
        return PlanNotFound(
            message=f"No plan {quoted(plan_hash, 100)} in this workspace; `list_plans` gives full hashes.",
            suggestions=[one for one, _ in known if one.startswith(plan_hash.lower())][:3],
            next_step=list_step(session),
            effect="none",
        )


def _refused(session: Session, action: str, message: str) -> UnauthorizedAction:
    step = list_step(session)
    return UnauthorizedAction(role=session.role, action=action, message=message, next_step=step, effect="none")


def _others(plan: Plan, session: Session) -> str:
    """Return who may approve a plan of this session."""
    if session.principal != LOCAL_PRINCIPAL:
        return "Another author has to approve it."
    command = f"failsoft plans approve {plan.plan_hash} --root {shlex.quote(plan.workspace_root)}"
    return f"Another author has to approve it, or a person in a terminal: `{command}`."
