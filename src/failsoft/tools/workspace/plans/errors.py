"""Errors of plans (seed 001, section 2)."""

from __future__ import annotations

from failsoft.framework.errors import ApprovalRequired, InvalidArgument, NotFound, PermissionDenied, Public


class PlanNotFound(NotFound):
    """There is no plan with this hash in the workspace.

    Raised when: a call names a plan, as `plan_hash` or in `_meta["dev.failsoft/context"]`, that was not submitted for
    this workspace, or that has expired or was withdrawn.
    Caller: use a `plan_hash` that `list_plans` returns.
    Operator: raise `FAILSOFT_WORKSPACE_PLAN_S` if plans expire too soon.
    """

    code = "PLAN_NOT_FOUND"
    message = "There is no such plan in this workspace; `list_plans` gives full hashes."
    hints = ("Use a plan_hash that list_plans returns",)


class PlanNotApproved(ApprovalRequired):
    """A file cannot be written because no plan for it is approved.

    Raised when: the plan that a write names is not approved; or the write names none, and no plan of the workspace is.
    Caller: have another author approve the plan, in a role that may approve; then call again.
    Operator: nothing to do, unless no role has the power `approve` in `FAILSOFT_WORKSPACE_ROLES`.
    """

    code = "PLAN_NOT_APPROVED"
    message = "Nothing was written: no approved plan covers it. One session submits a plan, another approves it."
    hints = ("A plan is approved by another author, in a role that may approve",)


class PlanEnforcementFailed(InvalidArgument):
    """The plan cannot be enforced.

    Raised when: a plan names no files, or too many, or one that is absolute, contains `..`, names a folder, or uses
    `**` within a name; or it waives a rule that no policy of this server has.
    Caller: correct every entry that `violations` lists, and submit the plan again.
    """

    code = "PLAN_ENFORCEMENT_FAILED"
    message = "The plan cannot be enforced."
    hints = ("Name files relative to the workspace, such as src/app.py or docs/**",)


class PlanScopeViolation(PermissionDenied):
    """A write lies outside the plan.

    Raised when: neither the plan that the write names, nor, if it names none, any approved plan of the workspace covers
    the path, or covers where the path leads through links; or the call names a phase that the plan does not have.
    Caller: write only what the plan covers, or have another plan approved.
    Operator: nothing to do.
    """

    path: Public[str]
    code = "PLAN_SCOPE_VIOLATION"
    message = "{path} was not written: no approved plan covers it."
    hints = ("Names that begin with a dot are covered only where the plan names them so",)
