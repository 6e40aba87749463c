"""Composes the second part of a failure message: effect, candidates, and what to do."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from pydantic_core import to_json

from failsoft.framework.call.call import Call
from failsoft.framework.errors import Effect, NextStep, ToolError, UnknownTool
from failsoft.framework.errors.violations import Violation
from failsoft.framework.pipeline.next_step import Proposal
from failsoft.framework.pipeline.verdict import DEFAULT_WAIT_S
from failsoft.framework.text import named, quoted

__all__ = ["EFFECTS", "advice", "closest"]

EFFECTS: dict[Effect, str] = {
    "none": "Nothing was changed",
    "applied": "Something was changed",
    "unknown": "It is unknown whether anything was changed",
}
_SPELLED_OUT = 40
"""Characters of arguments as JSON that a sentence holds; `next_step` has them in any case."""
_CANDIDATE_AT_MOST = 80
_CANDIDATES_AT_MOST = 3
_NAMED_AT_MOST = 3
_WHO = {
    "operator": "The operator of this server has to fix this",
    "author": "The author of this tool has to fix this",
    "person": "A person has to decide or grant this",
    "framework": "The operator of this server has to look into this",
    "caller": "Repeating the call does not help",
}


def advice(error: ToolError, call: Call, proposal: Proposal, error_id: str) -> str:
    """Return the effect, if there may be one, and what to do; empty if there is nothing to add."""
    effect, retry, step = proposal.effect, proposal.retry, proposal.step
    left = "" if effect == "none" else EFFECTS[effect]
    if proposal.forbids_repeat:
        return f"{left}, so do not repeat the call. {_look(step, call, error_id)}"
    if retry.when == "after_delay":
        key = " with the same idempotency key" if left and call.idempotency_key is not None else ""
        again = f"call `{call.operation}` again{key} in {_duration(retry.after_seconds)}."
        return f"{left}; {again}" if left else f"To go on, {again}"
    what = _after_fix(error, call, step, error_id) if retry.when == "after_fix" else _never(error, call, step, error_id)
    return f"{left}. {what}".rstrip() if left else what


def _look(step: NextStep | None, call: Call, error_id: str) -> str:
    """Return how to find out what a call has done that must not be repeated."""
    if step is None:
        return f"A person has to look (error id {error_id})."
    bound = call.toolbox.find(step.tool)
    return f"Call {_call(step)} to see the state." if bound and bound.read_only else f"Call {_call(step)}."


def closest(candidates: Sequence[str], said: str) -> str:
    """Return the candidates that the first part does not name yet: `Closest: "guide/intro.mdx".`."""
    if not candidates:
        return ""
    near = [item for item in candidates[:_CANDIDATES_AT_MOST] if not _is_named(item, said)]
    return f"Closest: {', '.join(quoted(item, _CANDIDATE_AT_MOST) for item in near)}." if near else ""


def _is_named(item: str, said: str) -> bool:
    """Return whether a text names it, and not something longer: `Dunes` does not name `Dune`, nor `a/b.md` `b.md`."""
    return item in said and re.search(rf"(?<![\w/.-]){re.escape(item)}(?!\.?[\w/-])", said) is not None


def _never(error: ToolError, call: Call, step: NextStep | None, error_id: str) -> str:
    if step is not None:
        return f"Call {_call(step)} instead."
    if isinstance(error, UnknownTool):
        meant = error.violations[0].suggestion if error.violations else None
        return f"Did you mean `{meant}`?" if meant else f"The tools are: {', '.join(call.toolbox.names[:10])}."
    if error.actor == "caller" and error.category == "permission_denied":
        return ""  # what is allowed is in the message
    if error.actor == "person" and "person has to" in error.message.lower():
        return f"The error id is {error_id}."
    return f"{_WHO.get(error.actor, _WHO['author'])} (error id {error_id})."


def _after_fix(error: ToolError, call: Call, step: NextStep | None, error_id: str) -> str:
    if step is not None and error.category == "unsupported" and step.tool != call.operation:
        return f"Call {_call(step)} instead."
    if step is not None:
        bound = call.toolbox.find(step.tool)
        changes_the_state = step.tool != call.operation and bound is not None and not bound.read_only
        return f"Call {_call(step)}, then `{call.operation}` again." if changes_the_state else f"Call {_call(step)}."
    if error.actor == "person":
        return f"A person has to renew the access (error id {error_id}), then call `{call.operation}` again."
    if error.violations and error.violations[0].line is not None:
        return f"Correct the file, then call `{call.operation}` again."
    if error.violations:
        return f"{_changes(error.violations, error.message)} and call `{call.operation}` again."
    return f"{error.remedy} call `{call.operation}` again." if error.remedy else ""


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


def _call(step: NextStep) -> str:
    """Return a step in words: the tool, and its arguments as JSON if they are short."""
    if not step.arguments:
        return f"`{step.tool}`"
    arguments = to_json(step.arguments).decode()
    if len(arguments) > _SPELLED_OUT or "`" in arguments or not arguments.isprintable():
        return f"`{step.tool}` as in `next_step`"
    return f"`{step.tool}` with {arguments}"


def _duration(seconds: float | None) -> str:
    """Return a wait in plain digits, rounded up: `1e+06 seconds` is read as one."""
    wait = DEFAULT_WAIT_S if seconds is None else seconds
    shown = str(math.ceil(wait)) if wait >= 1 or wait == 0 else f"{wait:.3f}".rstrip("0")
    return f"{shown} second{'' if shown == '1' else 's'}"
