"""The approval of a plan by the person who uses the only client of a server: the question, and who has approved."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from failsoft.framework.asking import Question
from failsoft.framework.asking.consent import consent_from
from failsoft.framework.asking.forms import CONFIRM
from failsoft.framework.asking.waiting import ask
from failsoft.framework.call.call import Call
from failsoft.framework.call.effects import NOT_DONE
from failsoft.framework.text import quoted
from failsoft.tools.workspace.plans.plans import Plans
from failsoft.tools.workspace.plans.register import Plan
from failsoft.tools.workspace.sessions import Session

PERSON = "person"
"""The approver of what a person approves who was asked through the client; no author has this name."""
_SHOWN_AT_MOST = 6_000
"""Characters of a question; nobody is asked about a plan whose files do not fit, as they could not see all of them."""
_LINE_AT_MOST = 1_000
_BODY_AT_MOST = 1_500


async def approve(call: Call, plans: Plans, session: Session, plan_hash: str, *, asks: bool) -> Plan:
    """Approve a plan for a session, once, and return it.

    Args:
        call: The call.
        plans: The plans of the session's workspace.
        session: The session that approves.
        plan_hash: The plan.
        asks: Whether the person behind the client decides, where they can be asked.

    Raises:
        PLAN_NOT_FOUND: There is none with this hash.
        APPROVAL_REQUIRED: The person was asked and did not approve it.
        UNAUTHORIZED_ACTION: The caller submitted it, or is anonymous.
        AwaitingAnswer: The answer of the person comes with another request.
    """
    plan = await plans.find(session, plan_hash)
    is_asked = asks and plan.approver is None
    approver = PERSON if is_asked and await _approved_by_person(call, plan) else None
    # A call from Python has no principal either, but is not served.
    is_anonymous = call.principal is None and call.scope.toolbox is not None

    async def run() -> str | None:
        done = await plans.approve(session, plan_hash, approver=approver, is_anonymous=is_anonymous)
        return done.approver

    async def probe() -> Any:
        return (await plans.find(session, plan_hash)).approver or NOT_DONE

    await call.effect("approval", run=run, probe=probe)
    return await plans.find(session, plan_hash)


async def _approved_by_person(call: Call, plan: Plan) -> bool:
    """Return whether the person behind the client approves a plan; False if they cannot be asked.

    Raises:
        APPROVAL_REQUIRED: They were asked and did not approve it.
        AwaitingAnswer: The answer comes with another request.
    """
    question = question_of(plan)
    answer = None if question is None else await ask(call, question)
    if answer is None:
        return False
    call.recovered(replace(consent_from(call, answer), attempts=call.attempt))
    return True


def question_of(plan: Plan) -> Question | None:
    """Return the question whether a plan is approved; None if what it allows cannot be shown whole and as it is."""
    places = {place: quoted(place, _LINE_AT_MOST) for place in (plan.workspace_root, *plan.files)}
    if any(json.loads(shown, strict=False) != place for place, shown in places.items()):
        return None
    more = len(plan.body) > _BODY_AT_MOST
    lines = [
        "May this client write these files? An agent has submitted this plan:",
        f"Title: {quoted(plan.title)}",
        f"Folder: {places[plan.workspace_root]}",
        *(f"- {places[pattern]}" for pattern in plan.files),
        *([f"Rules that do not apply: {', '.join(map(quoted, plan.waive))}"] if plan.waive else ()),
        *([f"Text: {quoted(plan.body, _BODY_AT_MOST)}"] if plan.body else ()),
        *([f"The text has {len(plan.body):,} characters in all; `failsoft plans list` shows them."] if more else ()),
        f"Submitted as {quoted(plan.role)}, {plan.submitted_at}; hash {plan.plan_hash}",
    ]
    message = "\n".join(lines)
    if len(message) > _SHOWN_AT_MOST:
        return None
    field = {"type": "boolean", "title": "Approve", "description": "Approve the plan: its files may be written."}
    return Question(message, {"type": "object", "properties": {CONFIRM: field}, "required": [CONFIRM]}, "confirm")
