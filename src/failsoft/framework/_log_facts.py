"""The facts of a line in the log: named, bounded, redacted. Never arguments, contents or secrets."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from failsoft.framework.json_safe import json_safe
from failsoft.framework.redaction import redact, redact_text, withhold_contents
from failsoft.framework.text import bounded

if TYPE_CHECKING:
    from failsoft.framework.context import CallContext
    from failsoft.framework.errors.base import ToolError
    from failsoft.framework.failure import Failure

__all__ = ["brief", "failure_facts", "finished_facts", "recovery_facts", "stack_of"]

_DETAILS_AT_MOST = 1_000
"""Values that are looked at."""
_ITEMS_AT_MOST = 20
_DEPTH = 5
_ID_AT_MOST = 200
_FRAMES_AT_MOST = 30
_STACK_AT_MOST = 20_000
"""Characters of a stack that are kept, from its end."""


def failure_facts(call: CallContext, failure: Failure, duration_s: float) -> dict[str, Any]:
    """Return the facts of a failed call; the stack only of a crash, the text of the cause otherwise."""
    error = failure.exception
    facts = {
        # The error's own sentence: what the caller is told besides may quote the arguments in a next step.
        "message": redact_text(bounded(str(error.message))),
        **_call_facts(call, duration_s),
        "code": failure.code,
        "category": failure.category,
        "error_type": error.error_type,
        "numeric_code": error.numeric_code,
        "effect": failure.effect,
        "recoverable": failure.recoverable,
        "recovered": False,
        "error_id": failure.error_id,
        "details": brief(error.all_details()),
        "violations": [redact_text(bounded(f"{item.path}: {item.reason}")) for item in error.violations][
            :_ITEMS_AT_MOST
        ],
        "operator_hint": redact_text(bounded(error.operator_hint)),
    }
    if failure.is_crash:
        facts["stack_trace"] = stack_of(error)
    else:
        facts["cause"] = _cause(error)
    return _told(facts)


def finished_facts(call: CallContext, duration_s: float) -> dict[str, Any]:
    """Return the facts of a call that was answered with a value."""
    facts = {**_call_facts(call, duration_s), "attempts": call.attempt}
    receipt = call.receipt
    if receipt is not None:
        facts["recovered"] = True
        facts["strategy"] = receipt.strategy
        facts["degraded"] = receipt.degraded
        facts["recovery"] = redact_text(bounded(receipt.message))
    if call.warnings:
        facts["warnings"] = brief(call.warnings)
    return _told(facts)


def recovery_facts(call: CallContext, strategy: str, result: str) -> dict[str, Any]:
    """Return the facts of one recovery strategy at work."""
    code = call.error.code if call.error is not None else None
    return _told({**_call_facts(call), "code": code, "strategy": strategy, "result": result})


def brief(value: Any) -> Any:
    """Return a value as a small JSON tree that may be logged: no secrets, no contents, cut where it is long."""
    return _cut(withhold_contents(redact(json_safe(value, max_items=_DETAILS_AT_MOST))), _DEPTH)


def stack_of(error: BaseException) -> str:
    """Return the stack of an exception and its causes, the innermost frames, without secrets.

    The frames are limited: a `RecursionError` has a thousand, and formatting them takes the event loop's time.
    """
    frames = traceback.format_exception(type(error), error, error.__traceback__, limit=-_FRAMES_AT_MOST)
    return redact_text("".join(frames)[-_STACK_AT_MOST:])


def _call_facts(call: CallContext, duration_s: float | None = None) -> dict[str, Any]:
    settings = call.bound.settings
    return {
        "service": settings.service_name,
        "environment": settings.environment,
        "tool": call.tool,
        "operation": call.operation,
        "request_id": _bounded_id(call.request_id),
        "session_id": _bounded_id(call.session_id),
        "user": _bounded_id(call.principal),
        "duration_ms": None if duration_s is None else round(duration_s * 1000, 3),
    }


def _bounded_id(value: str | None) -> str | None:
    return None if value is None else bounded(str(value), _ID_AT_MOST)


def _cause(error: ToolError) -> str:
    cause = error.__cause__
    if cause is None:
        return ""
    text = "".join(traceback.format_exception_only(type(cause), cause))
    return redact_text(bounded(text.strip()))


def _cut(tree: Any, depth: int) -> Any:
    if isinstance(tree, str):
        return bounded(tree)
    if isinstance(tree, Mapping):
        if depth == 0:
            return f"<{len(tree)} entries>"
        return {bounded(name): _cut(item, depth - 1) for name, item in list(tree.items())[:_ITEMS_AT_MOST]}
    if isinstance(tree, list):
        if depth == 0 or len(tree) > _ITEMS_AT_MOST:
            return f"<{len(tree)} items>"
        return [_cut(item, depth - 1) for item in tree]
    return tree


def _told(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that say something."""
    return {name: value for name, value in facts.items() if value is not None and value not in ("", [], {})}
