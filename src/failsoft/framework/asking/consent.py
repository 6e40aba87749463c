"""The consent of a person to a call with the arguments that were shown."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from failsoft.framework.answer.response import RecoveryReceipt
from failsoft.framework.asking import ASK_PERSON, Answer
from failsoft.framework.asking.forms import CONFIRM, consent_question
from failsoft.framework.asking.waiting import ask
from failsoft.framework.errors import ApprovalRequired
from failsoft.framework.safe.json_safe import dumps
from failsoft.framework.text import named

Call: TypeAlias = Any
"""A `Call`, whose room stands above this one."""


def consent_to(arguments: Mapping[str, Any]) -> str:
    """Return what a person consents to who lets a call run with these arguments."""
    return dumps(arguments, max_items=sys.maxsize)


async def require_consent(call: Call) -> RecoveryReceipt:
    """Ask the person whether a call may run, and return the receipt of the consent.

    Raises:
        APPROVAL_REQUIRED: The person did not allow it, or cannot be asked; nothing was changed.
        AwaitingAnswer: The answer comes with another request.
    """
    bound = call.bound
    question = consent_question(call.operation, bound.description, call.arguments, bound.arguments.accepted)
    question = replace(question, subject=consent_to(call.arguments))
    return consent_from(call, await ask(call, question))


def consent_from(call: Call, answer: Answer | None) -> RecoveryReceipt:
    """Count the answer to a question for consent, and return its receipt.

    Raises:
        APPROVAL_REQUIRED: The person did not allow it, or cannot be asked; nothing was changed.
    """
    is_given = answer is not None and gives_consent(answer)
    call.bound.metrics.recovery(ASK_PERSON, "skipped" if answer is None else "recovered" if is_given else "failed")
    if not is_given:
        raise _not_allowed(call.operation, answer, call.bound.settings.ask_timeout_s)
    return consent_receipt(call.operation)


def consent_receipt(tool: str) -> RecoveryReceipt:
    """Return the receipt of a consent to a call of a tool."""
    return RecoveryReceipt(ASK_PERSON, f"A person allowed this call of {named(tool)}", 0, {}, rule="confirm")


def gives_consent(answer: Answer) -> bool:
    """Return whether the person accepted the form with its field `confirm` set to true, and nothing else."""
    return answer.action == "accept" and answer.content.get(CONFIRM) is True


def _not_allowed(tool: str, answer: Answer | None, timeout_s: float) -> ApprovalRequired:
    """Return the error of a call that a person did not allow.

    Args:
        tool: The name of the tool.
        answer: What the person did; None if nobody could be asked.
        timeout_s: How long an answer was waited for, in seconds.
    """
    subject, action = named(tool), "unavailable" if answer is None else answer.action
    said = {
        "accept": f"The person who was asked did not allow this call of {subject}.",
        "decline": f"The person who was asked did not allow this call of {subject}.",
        "cancel": f"The person who was asked closed the question about {subject} without an answer.",
        "unanswered": f"No person answered within {timeout_s:g} seconds whether {subject} may run.",
        "unavailable": f"{subject} runs only if a person allows it, and no person can be asked in this call.",
    }
    return ApprovalRequired(message=said[action], details={"asked": action}, effect="none")
