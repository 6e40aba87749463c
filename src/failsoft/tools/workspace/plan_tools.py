"""Tools for plans: submit, check, approve, withdraw, list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.call.runtime import Runtime
from failsoft.tools.files import Files
from failsoft.tools.workspace.arguments import (
    LintedFiles,
    PlanBody,
    PlanFiles,
    PlanHash,
    PlanIntent,
    PlanLimit,
    PlanPhases,
    PlanTitle,
    SessionId,
    WaivedRules,
)
from failsoft.tools.workspace.files.walking import files_below
from failsoft.tools.workspace.plans.copies import mark_withdrawn, write_copy
from failsoft.tools.workspace.plans.linting import PlanCheck, lint
from failsoft.tools.workspace.plans.plan import Plan
from failsoft.tools.workspace.plans.plans import PlanDraft, Plans
from failsoft.tools.workspace.policies import load_policies, rules_of
from failsoft.tools.workspace.results import PlanFacts, PlanList, WithdrawnPlan
from failsoft.tools.workspace.session_tools import SessionTools
from failsoft.tools.workspace.sessions.sessions import Session
from failsoft.tools.workspace.settings import WorkspaceSettings


class PlanTools(SessionTools):
    """Plans: one author submits what is to be written, another approves it."""

    powers = {  # noqa: RUF012 - extended by subclasses, never changed
        **SessionTools.powers,
        "submit_plan": "plan",
        "withdraw_plan": "plan",
        "lint_plan": "read",
        "list_plans": "read",
        "approve_plan": "approve",
    }

    def __init__(
        self,
        root: Path | Sequence[Path] | None = None,
        *,
        runtime: Runtime | None = None,
        settings: WorkspaceSettings | None = None,
        state_folder: Path | None = None,
    ) -> None:
        super().__init__(root, runtime=runtime, settings=settings, state_folder=state_folder)
        self._policies = load_policies(self.settings.policies)
        self._plans = Plans(
            self._records,
            lifetime_s=self.settings.plan_s,
            process=self._process,
            rules=rules_of(self._policies),
        )

    @operation(destructive=False, idempotent=True, open_world=False, title="Submit a plan")
    async def submit_plan(
        self,
        call: Call,
        title: PlanTitle,
        files: PlanFiles,
        body: PlanBody = "",
        intent: PlanIntent = "",
        phases: PlanPhases = (),  # type: ignore[assignment]  # a list that is never changed
        waive: WaivedRules = (),  # type: ignore[assignment]  # the same
        session_id: SessionId = None,
    ) -> PlanFacts:
        """Submit what is to be written, and where. Its files may be written once another author has approved it."""
        session = await self._session(call, session_id)
        draft = PlanDraft(title=title, files=files, body=body, intent=intent, phases=phases, waive=waive)
        plan = await self._plans.submit(session, draft)
        call.audit(files=len(plan.files), waive=list(plan.waive))
        return await self._recorded(call, session, plan)

    @operation(read_only=True, open_world=False, title="Check the files of a plan")
    async def lint_plan(self, call: Call, files: LintedFiles, session_id: SessionId = None) -> PlanCheck:
        """Check the paths and globs of a plan before it is submitted: what matches nothing, overlaps or is too wide."""
        session = await self._session(call, session_id)
        roots = self._on_disk.beneath(session.workspace_root)

        def check() -> PlanCheck:
            names, complete = files_below(roots)
            return lint(files, names, complete=complete)

        return await self.runtime.threads.run(check)

    @operation(destructive=False, idempotent=True, open_world=False, title="Approve a plan")
    async def approve_plan(self, call: Call, plan_hash: PlanHash, session_id: SessionId = None) -> PlanFacts:
        """Approve a plan of another author, so that its files may be written. Read its files and body first."""
        session = await self._session(call, session_id)
        # A call from Python has no principal either, but is not served.
        is_anonymous = call.principal is None and call.scope.toolbox is not None
        plan = await self._plans.approve(session, plan_hash, is_anonymous=is_anonymous)
        return await self._recorded(call, session, plan)

    @operation(destructive=True, open_world=False, title="Withdraw a plan")
    async def withdraw_plan(self, call: Call, plan_hash: PlanHash, session_id: SessionId = None) -> WithdrawnPlan:
        """Remove a plan and its approval: writes under it are refused. To use it again, submit it again."""
        session = await self._session(call, session_id)
        plan = await self._plans.withdraw(session, plan_hash)
        self._note(call, session, plan)
        files = self._copies(session)
        failed = await self.runtime.threads.run(lambda: mark_withdrawn(files, plan))
        if failed:
            call.warn(f"The plan is withdrawn, but its copy in the workspace still shows it ({failed}).")
        return {"plan_hash": plan.plan_hash, "title": plan.title, "withdrawn": True}

    @operation(read_only=True, open_world=False, title="List the plans")
    async def list_plans(self, call: Call, limit: PlanLimit = 20, session_id: SessionId = None) -> PlanList:
        """Return the plans of the workspace, the newest first, and whether they are approved."""
        session = await self._session(call, session_id)
        plans = await self._plans.all(session.workspace_root)
        author = self._plans.author_of(session)
        return {"plans": [plan.shown_to(author) for plan in plans[:limit]], "total": len(plans)}

    async def _recorded(self, call: Call, session: Session, plan: Plan) -> PlanFacts:
        """Return the facts of a plan, once they are in the audit entry and in the copy for people."""
        self._note(call, session, plan)
        files = self._copies(session)
        failed = await self.runtime.threads.run(lambda: write_copy(files, plan))
        if failed:
            call.warn(f"The plan is kept, but its copy in the workspace could not be written ({failed}).")
        return plan.shown_to(self._plans.author_of(session))

    def _note(self, call: Call, session: Session, plan: Plan) -> None:
        call.governance = replace(session.governance, plan_hash=plan.plan_hash)
        call.audit(plan_hash=plan.plan_hash)

    def _copies(self, session: Session) -> Files:
        """Return the files of a workspace with its closed folder, in which copies of plans are kept."""
        return Files(self._served.beneath(session.workspace_root), state_folder=self._state_folder)
