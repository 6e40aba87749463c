"""From an error and its call to what the caller is told: effect, retry, next step, and a message that mends.

The rules are the contract's (section 3). Measured on agents: "wait before retrying" makes them give up, "call X again
in 2 seconds" does not; a step that does not exist on this server is worse than none.
"""

from __future__ import annotations

import math
import os
import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic_core import to_json

from failsoft.framework.clock import utc_timestamp
from failsoft.framework.context import CallContext
from failsoft.framework.errors import (
    DocumentNotFound,
    Effect,
    NextStep,
    ResultTooLarge,
    RetryWhen,
    ToolError,
    UnknownTool,
)
from failsoft.framework.failure import Failure, RetryAdvice
from failsoft.framework.governance import governance_of
from failsoft.framework.json_safe import json_safe
from failsoft.framework.next_step import next_step
from failsoft.framework.normalize.rules import text_of, type_name
from failsoft.framework.redaction import redact, redact_paths, redact_text, withhold_contents
from failsoft.framework.stop_reason import StopReason
from failsoft.framework.text import bounded
from failsoft.framework.violations import Violation

__all__ = ["explain"]

_DEFAULT_WAIT_S = 2.0
_WAIT_AT_MOST_S = 31_536_000.0
"""A year: what is further away is as good as never, and no text for a person."""
_MESSAGE_AT_MOST = 1_000
_TEXT_AT_MOST = 2_000
_SUGGESTIONS_AT_MOST = 8
_VIOLATIONS_AT_MOST = 200
_SPELLED_OUT = 80
_CHANGES_AT_MOST = 5

_ABOUT_KEYS = {
    "IDEMPOTENCY_KEY_INVALID": "Send a UUID as the key, or none, and",
    "IDEMPOTENCY_CONFLICT": "Send a new idempotency key and",
    "IDEMPOTENCY_IN_PROGRESS": "Keep the idempotency key and the arguments, and",
    "IDEMPOTENCY_OUTCOME_UNKNOWN": "Look whether the work was done; if it was not, send a new idempotency key and",
    "PREFLIGHT_FAILED": "Mend what the end of the output shows, and",
}
"""What mends the calls whose arguments are as they should be."""

_ECHOING = frozenset({"pydantic", "pydantic_core", "sqlalchemy"})
"""Packages whose exceptions print the values that were passed to them."""

_ADVICE: dict[RetryWhen, RetryAdvice] = {"after_fix": RetryAdvice("after_fix"), "never": RetryAdvice("never")}
_WHO = {
    "operator": "The operator of this server has to mend it",
    "author": "The author of this tool has to mend it",
    "person": "A person has to decide or grant this",
    "framework": "The operator of this server has to look into it",
    "caller": "Use another tool of this server",
}


def explain(error: ToolError, call: CallContext, *, error_id: str | None = None) -> Failure:
    """Return the failure of this call with everything its caller may know; under an id of its own, or a given one."""
    bound, scope, settings = call.bound, call.scope, call.bound.settings
    rejected = call.attempt == 0
    effect = _effect(error, call)
    retry = _retry(error, call, effect)
    step = next_step(error, call, retry)
    error_id = error_id or os.urandom(8).hex()
    detail = settings.detail_level
    violations = error.violations[:_VIOLATIONS_AT_MOST]
    own = _own_words(error)
    faults = [text for item in violations for text in (str(item.message), str(item.path))]
    texts = [*own, *faults]
    if detail == "minimal":
        texts = _without_paths(texts, call)
    message, *texts = _clean([f"{texts[0]} {_guidance(error, call, effect, retry, step, error_id)}", *texts[1:]])
    return Failure(
        message=message,
        code=error.code,
        category=error.category,
        tool=bound.tool_name,
        operation=bound.name,
        retry=retry,
        effect=effect,
        error_id=error_id,
        timestamp=utc_timestamp(),
        exception=error,
        stop_reason=call.stop_reason or _stop_reason(error, call),
        suggestions=tuple(texts[: len(own) - 1]),
        next_step=step,
        violations=violations if texts[len(own) - 1 :] == faults else _told(violations, texts[len(own) - 1 :]),
        details=redact(withhold_contents(json_safe(error.all_details()))) or None if detail != "minimal" else None,
        cause=_cause(error) if detail == "full" else None,
        stack_trace=_stack(error) if settings.debug_stack else None,
        request_id=scope.request_id,
        session_id=scope.session_id,
        principal=scope.principal,
        governance=governance_of(error, call.governance, scope.session_id, scope.meta),
        rejected=rejected,
        about=_about(error, call),
    )


def _about(error: ToolError, call: CallContext) -> Mapping[str, Any] | None:
    """Return the toolset's own facts on the failure, redacted; none if its author's code breaks over it."""
    try:
        facts = call.toolset.failure_facts(error, call)
    except Exception as broken:  # noqa: BLE001 - the failure itself has to be told in any case
        call.logger.opt(exception=broken).warning("A toolset's failure_facts failed")
        return None
    return redact(json_safe(dict(facts))) if facts else None


def _effect(error: ToolError, call: CallContext) -> Effect:
    """Return whether the failed call changed anything; `unknown` is said wherever nobody can know."""
    if call.read_only or call.attempt == 0:
        return "none"
    return call.worst_effect(error)


def _stop_reason(error: ToolError, call: CallContext) -> StopReason:
    """Return why nothing was run again, where no strategy was asked."""
    if call.attempt == 0:
        return "rejected"
    return "no_strategy" if error.retry == "after_delay" else "not_transient"


def _retry(error: ToolError, call: CallContext, effect: Effect) -> RetryAdvice:
    """Return the class's advice; `never` in its place where a repeat could do the work twice."""
    asks_for_the_same = error.retry == "after_delay" or isinstance(error, ResultTooLarge)
    if asks_for_the_same and effect != "none" and not call.idempotent:
        return _ADVICE["never"]
    if error.retry != "after_delay":
        return _ADVICE.get(error.retry) or RetryAdvice(error.retry)
    wait: Any = error.retry_after_seconds
    makes_sense = isinstance(wait, (int, float)) and wait >= 0  # NaN is not
    return RetryAdvice("after_delay", round(float(min(wait, _WAIT_AT_MOST_S)), 3) if makes_sense else _DEFAULT_WAIT_S)


def _guidance(
    error: ToolError, call: CallContext, effect: Effect, retry: RetryAdvice, step: NextStep | None, error_id: str
) -> str:
    """Return the one sentence that says what to do."""
    if retry.when == "after_delay":
        return f"To go on, call `{call.operation}` again in {_duration(retry.after_seconds)}."
    if retry.when != error.retry:
        done = "The change was made" if effect == "applied" else "It is not known whether anything was changed"
        look = f"call {_call(step)} to see the state" if step else f"a person has to look (error id {error_id})"
        return f"{done}, so do not repeat it: {look}."
    if retry.when == "after_fix":
        return _after_fix(error, call, step, error_id)
    if step is not None:
        return f"Call {_call(step)} instead."
    if isinstance(error, UnknownTool):
        closest = error.violations[0].suggestion if error.violations else None
        return f"Did you mean `{closest}`?" if closest else f"The tools are: {', '.join(call.toolbox.names[:10])}."
    return f"{_WHO.get(error.actor, _WHO['author'])} (error id {error_id})."


def _after_fix(error: ToolError, call: CallContext, step: NextStep | None, error_id: str) -> str:
    if step is not None:
        again = step.tool == call.operation
        return f"Call {_call(step)}." if again else f"Call {_call(step)}, then `{call.operation}` again."
    if error.actor == "person":
        return f"A person has to renew the access (error id {error_id}), then call `{call.operation}` again."
    if error.violations:
        return f"{_changes(error.violations)} and call `{call.operation}` again."
    if error.code in _ABOUT_KEYS:
        return f"{_ABOUT_KEYS[error.code]} call `{call.operation}` again."
    return f"Change the arguments and call `{call.operation}` again."


def _changes(violations: tuple[Violation, ...]) -> str:
    """Return what to do with the first few faulty parameters: ``Add `path`, correct `limit`, leave out `sort` ``."""
    renamed = [item.suggestion for item in violations[:_CHANGES_AT_MOST] if item.reason == "unexpected"]
    places: dict[str, list[str]] = {}
    for item in violations[:_CHANGES_AT_MOST]:
        if item.reason == "missing" and item.path in renamed:
            continue
        is_superfluous = item.reason == "unexpected" and item.suggestion is None
        verb = "add" if item.reason == "missing" else "leave out" if is_superfluous else "correct"
        path = bounded(item.path, _SPELLED_OUT).replace("`", "'")
        place = f"`{path}`" if path else "the arguments"
        if place not in places.setdefault(verb, []):
            places[verb].append(place)
    text = ", ".join([f"{verb} {', '.join(names)}" for verb, names in places.items()])
    return text[:1].upper() + text[1:]


def _call(step: NextStep) -> str:
    """Return a step in words: the tool, and its arguments as JSON if they are short."""
    if not step.arguments:
        return f"`{step.tool}`"
    arguments = to_json(step.arguments).decode()
    return f"`{step.tool}` with {arguments}" if len(arguments) <= _SPELLED_OUT else f"`{step.tool}`"


def _duration(seconds: float | None) -> str:
    """Return a wait in plain digits, rounded up: `1e+06 seconds` is read as one."""
    wait = _DEFAULT_WAIT_S if seconds is None else seconds
    shown = str(math.ceil(wait)) if wait >= 1 or wait == 0 else f"{wait:.3f}".rstrip("0")
    return f"{shown} second{'' if shown == '1' else 's'}"


def _sentence(text: Any) -> str:
    text = bounded(str(text).strip(), _MESSAGE_AT_MOST)
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _own_words(error: ToolError) -> list[str]:
    """Return the error's sentence, and the class's hints and its own suggestions behind it.

    Other paths are put as a question (seed 004).
    """
    own = error.suggestions
    if isinstance(error, DocumentNotFound):
        own = tuple(f"Did you mean: {candidate}?" for candidate in own)
    suggestions = list(dict.fromkeys(map(str, (*error.rendered_hints(), *own))))
    return [_sentence(error.message), *suggestions[:_SUGGESTIONS_AT_MOST]]


def _told(violations: tuple[Violation, ...], texts: list[str]) -> tuple[Violation, ...]:
    """Return the violations with their messages and their paths as they may be told."""
    pairs = zip(violations, texts[::2], texts[1::2], strict=True)
    return tuple([replace(item, message=message, path=path) for item, message, path in pairs])


def _without_paths(texts: list[str], call: CallContext) -> list[str]:
    """Return the texts without absolute paths, but for those in the folders that the toolset serves."""
    whole = "\n".join(texts)
    if redact_paths(whole) == whole:
        return texts
    try:
        served = [str(root) for root in call.toolset.roots]
    except Exception:  # noqa: BLE001 - an author's property may break; nothing is shown then
        served = []
    return [redact_paths(text, served) for text in texts]


def _clean(texts: list[str]) -> list[str]:
    """Return the texts bounded and without secrets; there is hardly ever anything to clean, so one look tells that."""
    whole = " ".join(texts)
    if len(whole) <= _TEXT_AT_MOST and whole.isascii() and whole.isprintable() and redact_text(whole) == whole:
        return texts
    return [redact_text(bounded(text, _TEXT_AT_MOST)) for text in texts]


def _cause(error: ToolError) -> dict[str, Any] | None:
    """Return the cause as type and text, redacted; only the detail level `full` sends it."""
    cause = error.__cause__
    if cause is None:
        return None
    told: dict[str, Any] = {"type": type_name(cause)}
    if type(cause).__module__.partition(".")[0] in _ECHOING:
        return told
    return {**told, "message": _clean([text_of(cause)])[0]}


def _stack(error: ToolError) -> str:
    try:
        return redact_text("".join(traceback.format_exception(error)))
    except BaseException:  # noqa: BLE001 - an exception may break in every attribute that is read
        return f"The stack of {type_name(error)} cannot be written."
