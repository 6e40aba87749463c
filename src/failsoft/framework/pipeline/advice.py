"""Composes the second part of a failure message: effect, wait, and what to do, but for the call in `next_step`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from failsoft.framework.answer.failure import EFFECTS
from failsoft.framework.call.call import Call
from failsoft.framework.errors import NextStep, ToolError, UnknownTool
from failsoft.framework.errors.violations import Violation
from failsoft.framework.pipeline.next_step import Proposal
from failsoft.framework.text import is_named, named, quoted

_CANDIDATE_AT_MOST = 80
_CANDIDATES_AT_MOST = 3
_NAMED_AT_MOST = 3
_WHO = {
    "operator": "The operator of this server has to fix this",
    "author": "The author of this tool has to fix this",
    "person": "A person has to decide or grant this",
    "framework": "The operator of this server has to look into this",
}
_SAME_KEY = "The same call with the same key is safe"


class Advice(NamedTuple):
    """What to do about a failure.

    Args:
        remedy: Who has to act, or what to change; empty if the next step or the wait says it.
        said: What the message says after what failed: the effect, the wait, and the remedy.
        is_for_person: Whether a person has to act, who needs the error id.
    """

    remedy: str = ""
    said: str = ""
    is_for_person: bool = False


def advise(error: ToolError, call: Call, proposal: Proposal, error_id: str) -> Advice:
    """Return the effect, if there may be one, and what to do; empty if there is nothing to add."""
    effect, retry, step = proposal.effect, proposal.retry, proposal.step
    left = "" if effect == "none" else EFFECTS[effect]
    if retry.when == "after_delay":
        again = f"call `{call.operation}` again in {retry.wait_in_words}."
        if left and not call.idempotent:
            return Advice(f"{_SAME_KEY}.", f"{left}. {_SAME_KEY}: {again}")
        return Advice("", f"{left}; {again}" if left else f"To go on, {again}")
    if proposal.forbids_repeat:
        left = f"{left}, so do not repeat the call"
        who = _WHO.get(error.actor, "A person has to look")
        is_look = step is not None and step.tool == call.bound.verify_with
        remedy, is_for_person = ("Check the state first." if is_look else "", False) if step else (f"{who}.", True)
    elif retry.when == "after_fix":
        remedy, is_for_person = _after_fix(error, call, step)
    else:
        remedy, is_for_person = _never(error, call, step)
    if left and retry.when == "after_fix" and not call.idempotent:
        remedy = f"{_SAME_KEY}. {remedy}".rstrip()
    told = _with_id(remedy, error_id) if is_for_person else remedy
    return Advice(remedy, f"{left}. {told}".rstrip() if left else told, is_for_person)


def _with_id(remedy: str, error_id: str) -> str:
    """Return the remedy with the id by which a person finds the failure."""
    if not remedy:
        return f"The error id is {error_id}."
    first, mark, rest = remedy.partition(",")
    return f"{first} (error id {error_id}){mark}{rest}" if mark else f"{remedy[:-1]} (error id {error_id})."


def near_or_listed(candidates: Sequence[str], headline: str, *, are_near: bool) -> str:
    """Return the candidates that the headline does not name yet: `Closest: "guide/intro.mdx".`."""
    if not candidates:
        return ""
    unnamed = [item for item in candidates[:_CANDIDATES_AT_MOST] if not is_named(item, headline)]
    title = "Closest" if are_near else "Candidates"
    return f"{title}: {', '.join(quoted(item, _CANDIDATE_AT_MOST) for item in unnamed)}." if unnamed else ""


def _never(error: ToolError, call: Call, step: NextStep | None) -> tuple[str, bool]:
    if isinstance(error, UnknownTool):
        meant = error.violations[0].suggestion if error.violations else None
        listed = f"The tools are: {', '.join(call.toolbox.names[:10])}."
        return (f"Did you mean `{meant}`?" if meant else listed), False
    if step is not None:
        return "", False
    if error.actor == "caller":  # where a permission is missing, the message says what is allowed
        return ("" if error.category == "permission_denied" else "Repeating the call does not help."), False
    if error.actor == "person" and "person has to" in error.message.lower():
        return "", True
    return f"{_WHO.get(error.actor, _WHO['author'])}.", True


def _after_fix(error: ToolError, call: Call, step: NextStep | None) -> tuple[str, bool]:
    if step is not None:
        bound = call.toolbox.find(step.tool)
        is_prepared = step.tool != call.operation and bound is not None and not bound.read_only
        is_other = error.category == "unsupported"
        return (f"After the next step, call `{call.operation}` again." if is_prepared and not is_other else ""), False
    if error.actor == "person":
        return f"A person has to renew the access, then call `{call.operation}` again.", True
    if error.violations and error.violations[0].line is not None:
        return f"Correct the file, then call `{call.operation}` again.", False
    if error.violations:
        return f"{_changes(error.violations, error.message)} and call `{call.operation}` again.", False
    return (f"{error.remedy} call `{call.operation}` again." if error.remedy else ""), False


def _changes(violations: Sequence[Violation], said: str) -> str:
    """Return how to fix the faults: `Add it`, `Correct them`; with names if the first part does not have them."""
    if len(violations) > 1:
        names = [named(item.path) for item in violations if item.path] if len(violations) <= _NAMED_AT_MOST else []
        unnamed = [name for name in dict.fromkeys(names) if name not in said]
        return f"Correct {', '.join(unnamed)}" if unnamed else "Correct them"
    (fault,) = violations
    verb = "Add" if fault.reason == "missing" else "Correct"
    if fault.path and (name := named(fault.path)) not in said:
        return f"{verb} {name}"
    return f"{verb} it"
