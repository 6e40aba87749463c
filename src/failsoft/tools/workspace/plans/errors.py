"""Errors of plans (seed 001, section 2)."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors import ApprovalRequired, InvalidArgument, NotFound, PermissionDenied, Public

__all__ = ["PlanEnforcementFailed", "PlanNotApproved", "PlanNotFound", "PlanScopeViolation"]


class PlanNotFound(NotFound):
    """There is no plan with this hash in the workspace.

    Raised when: a call names a plan, as `plan_hash` or in `_meta["dev.failsoft/context"]`, that was not submitted for
    this workspace, or that has expired or was withdrawn.
    Caller: use a `plan_hash` that `list_plans` returns.
    Operator: raise `FAILSOFT_WORKSPACE_PLAN_S` if plans expire too soon.
    Example:
        >>> code_of(PlanNotFound())
        'PLAN_NOT_FOUND'
    """

    code: ClassVar[str] = "PLAN_NOT_FOUND"
    message: str = "There is no such plan in this workspace; `list_plans` gives full hashes."
    hints: ClassVar[tuple[str, ...]] = ("Use a plan_hash that list_plans returns",)
    since: ClassVar[str] = "0.1.0"


class PlanNotApproved(ApprovalRequired):
    """A file cannot be written because no plan for it is approved.

    Raised when: the plan that a write names is not approved; or the write names none, and no plan of the workspace is.
    Caller: have another author approve the plan, in a role that may approve; then call again.
    Operator: nothing to do, unless no role has the power `approve` in `FAILSOFT_WORKSPACE_ROLES`.
    Example:
        >>> code_of(PlanNotApproved())
        'PLAN_NOT_APPROVED'
    """

    code: ClassVar[str] = "PLAN_NOT_APPROVED"
    message: str = "Nothing was written: no approved plan covers it. One session submits a plan, another approves it."
    hints: ClassVar[tuple[str, ...]] = ("A plan is approved by another author, in a role that may approve",)
    since: ClassVar[str] = "0.1.0"


class PlanEnforcementFailed(InvalidArgument):
    """The plan cannot be enforced.

    Raised when: a plan names no files, or too many, or one that is absolute, contains `..`, names a folder, or uses
    `**` within a name; or it waives a rule that no policy of this server has.
    Caller: correct every entry that `violations` lists, and submit the plan again.
    Operator: nothing to do.
    Example:
        >>> code_of(PlanEnforcementFailed())
        'PLAN_ENFORCEMENT_FAILED'
    """

    code: ClassVar[str] = "PLAN_ENFORCEMENT_FAILED"
    message: str = "The plan cannot be enforced."
    hints: ClassVar[tuple[str, ...]] = ("Name files relative to the workspace, such as src/app.py or docs/**",)
    since: ClassVar[str] = "0.1.0"


class PlanScopeViolation(PermissionDenied):
    """A write lies outside the plan.

    Raised when: neither the plan that the write names, nor, if it names none, any approved plan of the workspace covers
    the path, or covers where the path leads through links; or the call names a phase that the plan does not have.
    Caller: write only what the plan covers, or have another plan approved.
    Operator: nothing to do.
    Example:
        >>> code_of(PlanScopeViolation(path="src/app.py"))
        'PLAN_SCOPE_VIOLATION'
    """

    path: Public[str]
    code: ClassVar[str] = "PLAN_SCOPE_VIOLATION"
    message: str = "{path} was not written: no approved plan covers it."
    hints: ClassVar[tuple[str, ...]] = ("Names that begin with a dot are covered only where the plan names them so",)
    since: ClassVar[str] = "0.1.0"
