"""Structured fields of log lines: bounded and redacted, without arguments, contents or secrets."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from failsoft.framework.diagnostics.tracebacks import author_line, stack_of
from failsoft.framework.safe.brief import ITEMS_AT_MOST, brief
from failsoft.framework.safe.redaction import redact_text
from failsoft.framework.text import bounded

if TYPE_CHECKING:
    from failsoft.framework.answer.failure import Failure
    from failsoft.framework.call.call import Call
    from failsoft.framework.errors.base import ToolError

_ID_AT_MOST = 200


def failure_facts(call: Call, failure: Failure, duration_s: float) -> dict[str, Any]:
    """Return the facts of a failed call; the stack only of a crash, the text of the cause otherwise."""
    error = failure.exception
    facts = {
        # Only the error's message: the next step of the response may quote arguments.
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
            :ITEMS_AT_MOST
        ],
        "operator_hint": redact_text(bounded(error.operator_hint)),
    }
    if failure.is_crash:
        facts["stack_trace"] = stack_of(error)
    else:
        facts["cause"] = _cause(error)
    if error.__cause__ is not None:
        facts["place"] = author_line(error)
    return _without_empty(facts)


def finished_facts(call: Call, duration_s: float) -> dict[str, Any]:
    """Return the facts of a call that returned a value."""
    facts = {**_call_facts(call, duration_s), "attempts": call.attempt}
    receipt = call.receipt
    if receipt is not None:
        facts["recovered"] = True
        facts["strategy"] = receipt.strategy
        facts["degraded"] = receipt.degraded
        facts["recovery"] = redact_text(bounded(receipt.message))
    if call.warnings:
        facts["warnings"] = brief(call.warnings)
    return _without_empty(facts)


def recovery_facts(call: Call, strategy: str, result: str) -> dict[str, Any]:
    """Return the facts of one attempt of a recovery strategy."""
    code = call.error.code if call.error is not None else None
    return _without_empty({**_call_facts(call), "code": code, "strategy": strategy, "result": result})


def _call_facts(call: Call, duration_s: float | None = None) -> dict[str, Any]:
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


def _without_empty(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts without empty ones."""
    return {name: value for name, value in facts.items() if value is not None and value not in ("", [], {})}
