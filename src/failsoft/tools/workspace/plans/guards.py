"""Guards of writes: the plan that a call names, and whether an approved plan covers a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from failsoft.framework.answer.failure import CONTEXT_KEY
from failsoft.framework.call.call import Call
from failsoft.framework.errors import NextStep, ToolError
from failsoft.framework.text import enumerated, quoted
from failsoft.tools.workspace.errors import PlanNotApproved, PlanScopeViolation
from failsoft.tools.workspace.plans.plan import Plan
from failsoft.tools.workspace.plans.scope import covers
from failsoft.tools.workspace.sessions.sessions import Session

_SHOWN_AT_MOST = 10


def plan_of(call: Call, plan_hash: str | None) -> str | None:
    """Return the plan that a call names, as an argument or else in its `_meta`; None if it names none."""
    return plan_hash if plan_hash is not None else _in_meta(call, "plan_hash")


def phase_of(call: Call) -> str | None:
    """Return the phase that a call names in its `_meta`; None if it names none."""
    return _in_meta(call, "phase_id")


def list_step(session: Session) -> NextStep:
    """Return the call that lists the plans of a session's workspace."""
    return NextStep("list_plans", {"session_id": session.session_id})


def within(
    plans: Sequence[Plan], found: Callable[[Plan], None], session: Session, phase: str | None
) -> Callable[[str, str], None]:
    """Return the guard that allows paths which a plan covers, both as named and without links.

    Of several plans that cover a path, one that waives rules takes precedence.

    Args:
        plans: The approved plans that may cover the write.
        found: Called with the plan that covers the path.
        session: The session that writes.
        phase: The phase that the call names, if any.
    """
    fitting = [plan for plan in plans if not (phase and plan.phases) or phase in plan.phases]
    ordered = sorted(fitting, key=lambda plan: not plan.waive)

    def guard(path: str, real_path: str) -> None:
        for plan in ordered:
            if covers(plan.files, path) and covers(plan.files, real_path):
                found(plan)
                return
        raise PlanScopeViolation(
            path=path,
            message=_not_covered(path, fitting or plans, None if fitting else phase),
            next_step=list_step(session),
            effect="none",
        )

    return guard


def refusing(error: ToolError) -> Callable[[str, str], None]:
    """Return the guard of a write without a plan: it raises this error, after the faults of the path."""

    def guard(path: str, real_path: str) -> None:  # noqa: ARG001 - a guard is given both
        if isinstance(error, PlanNotApproved):
            error.message = f"{quoted(path)} was not written: {error.message}"
        raise error

    return guard


def _not_covered(path: str, plans: Sequence[Plan], phase: str | None) -> str:
    if phase is not None:
        phases = list(dict.fromkeys(name for plan in plans for name in plan.phases))
        listed = ", ".join(map(quoted, phases[:_SHOWN_AT_MOST]))
        return f"{quoted(path)} was not written: no approved plan has the phase {quoted(phase)}; phases: {listed}."
    patterns = list(dict.fromkeys(pattern for plan in plans for pattern in plan.files))
    listed = enumerated(patterns, _SHOWN_AT_MOST, write=quoted)
    return f"{quoted(path)} was not written: no approved plan covers it. Covered: {listed}."


def _in_meta(call: Call, name: str) -> str | None:
    facts = call.scope.meta.get(CONTEXT_KEY)
    if not isinstance(facts, Mapping) or facts.get(name) is None:
        return None
    return str(facts[name])
