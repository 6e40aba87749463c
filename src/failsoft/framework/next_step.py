"""The call that a failure tells its caller to make next: a tool that is served here, with arguments that it accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failsoft.framework.context import CallContext
from failsoft.framework.corrections import corrected
from failsoft.framework.errors import NextStep, ResultTooLarge, ToolError, UnknownTool
from failsoft.framework.failure import RetryAdvice
from failsoft.framework.json_safe import encode
from failsoft.framework.redaction import redact

__all__ = ["next_step"]

_ARGUMENTS_AT_MOST = 2_000
"""Characters of JSON that a next step may carry; a longer call is only named in words."""
_LIMITS = frozenset({"count", "limit", "max_items", "max_results", "page_size", "per_page", "top_k"})
"""Parameters that say how much is wanted."""
_MARGIN = 0.8


def next_step(error: ToolError, call: CallContext, retry: RetryAdvice) -> NextStep | None:
    """Return a step whose tool exists here and whose arguments validate, or None."""
    is_held_back = retry.when != error.retry
    given = error.next_step
    if given is not None and (step := _checked(given.tool, given.arguments, call)) is not None:
        own = call.toolbox.find(step.tool)
        if not is_held_back or (own is not None and own.read_only):
            return step
    if is_held_back:
        return _look_at_the_state(call)
    if retry.when == "after_delay":
        return _checked(call.operation, call.params, call)
    return _mended(error, call, retry)


def _mended(error: ToolError, call: CallContext, retry: RetryAdvice) -> NextStep | None:
    """Return the call as it was probably meant: the tool of the closest name, less at once, arguments corrected."""
    if isinstance(error, ResultTooLarge):
        return _narrowed(error, call)
    if not error.violations:
        return None
    if isinstance(error, UnknownTool):
        return _checked(error.violations[0].suggestion or "", call.params, call)
    if retry.when == "after_fix":
        arguments = corrected(call.params, error.violations)
        return _checked(call.operation, arguments, call) if arguments is not None else None
    return None


def _narrowed(error: ResultTooLarge, call: CallContext) -> NextStep | None:
    """Return the call with a lower limit, if it has one: as much lower as the result was too large, and some more."""
    known = call.bound.input_schema.get("properties", {})
    size: Any = error.size_bytes
    for name in known.keys() & _LIMITS:
        asked = call.arguments.get(name, known[name].get("default"))
        if isinstance(asked, int) and asked > 1 and isinstance(size, int) and size > 0:
            lower = max(1, int(asked * error.limit_bytes / size * _MARGIN))
            return _checked(call.operation, {**call.params, name: lower}, call)
    return None


def _checked(tool: str, arguments: Any, call: CallContext) -> NextStep | None:
    """Return the step if it is executable as it stands: known tool, valid arguments, nothing redacted, not too long."""
    bound = call.toolbox.find(tool)
    if bound is None or not isinstance(arguments, (dict, Mapping)):
        return None
    arguments, text = encode(dict(arguments))
    if len(text) > _ARGUMENTS_AT_MOST or redact(arguments) != arguments:
        return None
    try:
        bound.arguments.validate(arguments)
    except Exception:  # noqa: BLE001 - an author's own validator may raise anything
        return None
    return NextStep(tool, arguments)


def _look_at_the_state(call: CallContext) -> NextStep | None:
    """Return a read-only call that can be made with what this call was given, one about the same things first."""
    best: tuple[tuple[int, bool], NextStep] | None = None
    for bound in call.toolbox:
        if not bound.read_only:
            continue
        known = bound.input_schema.get("properties", {})
        shared = {name: value for name, value in call.params.items() if name in known}
        step = _checked(bound.name, shared, call)
        rank = len(shared), bound.tool is call.bound.tool
        if step is not None and (best is None or rank > best[0]):
            best = (rank, step)
    return best[1] if best else None
