"""Builds audit entries of calls, without arguments, contents or secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failsoft.framework.answer.governance import Governance, governance_of
from failsoft.framework.audit.sealing import canonical
from failsoft.framework.call.principals import redact_principal
from failsoft.framework.clock import utc_timestamp
from failsoft.framework.ids import new_id
from failsoft.framework.normalize.reasons import normalized_cause, plain_text
from failsoft.framework.safe.brief import brief
from failsoft.framework.safe.redaction import redact_text
from failsoft.framework.text import bounded

if TYPE_CHECKING:
    from failsoft.framework.answer.failure import Failure
    from failsoft.framework.call.call import Call

__all__ = ["of_cancelled", "of_failure", "of_success"]

_ID_AT_MOST = 200
_VIOLATIONS_AT_MOST = 20
_MESSAGE_AT_MOST = 500
_PART_AT_MOST = 4_096
"""Bytes of each part that can grow; a larger one is left out, and the entry says so."""
_GROWING = ("cause", "details", "facts", "violations")


def of_failure(call: Call, failure: Failure) -> dict[str, Any]:
    """Return the facts of a failed call, as in the response to its caller.

    Invalid arguments are listed with name and kind of fault only, because messages may quote values.
    """
    error = failure.exception
    return _entry(
        call,
        failure.governance,
        event="failure",
        error_id=failure.error_id,
        timestamp=failure.timestamp,
        code=failure.code,
        error_code=error.code_in("system_error"),
        category=failure.category,
        effect=failure.effect,
        message=None if failure.violations else plain_text(bounded(error.message, _MESSAGE_AT_MOST)),
        cause=normalized_cause(error.__cause__),
        details=brief(details) if (details := error.all_details()) else None,
        violations=[
            redact_text(bounded(f"{item.path}: {item.reason}")) for item in failure.violations[:_VIOLATIONS_AT_MOST]
        ],
    )


def of_success(call: Call) -> dict[str, Any]:
    """Return the facts of a call that has changed something."""
    return _done(call, "success", "applied")


def of_cancelled(call: Call) -> dict[str, Any]:
    """Return the facts of a call that was cancelled while its handler ran; its effect is unknown."""
    return _done(call, "cancelled", "unknown")


def _done(call: Call, event: str, effect: str) -> dict[str, Any]:
    governance = governance_of(None, call.governance, call.scope.session_id, call.scope.meta)
    return _entry(
        call,
        governance,
        event=event,
        error_id=new_id(),
        timestamp=utc_timestamp(),
        code=None,
        error_code=None,
        effect=effect,
        cause=None,
    )


def _entry(call: Call, governance: Governance, **facts: Any) -> dict[str, Any]:
    """Return the entry: the keys of seed 001 are always present and may be null, other keys only with a value."""
    seed = {**governance.to_dict(), "tool_name": call.operation}
    always = {name: facts.pop(name) for name in ("code", "error_code", "cause")}
    others = {
        **facts,
        "tool": call.tool,
        "operation": call.operation,
        "principal": None if call.principal is None else redact_principal(bounded(call.principal, _ID_AT_MOST)),
        "request_id": _bounded_id(call.request_id),
        "facts": brief(call.audit_facts) if call.audit_facts else None,
    }
    present = {name: value for name, value in others.items() if value not in (None, "", [], {})}
    return _within_limit({**seed, **always, **present})


def _within_limit(entry: dict[str, Any]) -> dict[str, Any]:
    for name in _GROWING:
        if entry.get(name) is not None and len(canonical({name: entry[name]})) > _PART_AT_MOST:
            entry[name] = None if name == "cause" else "<left out>"
            entry["is_cut"] = True
    return entry


def _bounded_id(value: str | None) -> str | None:
    return None if value is None else redact_text(bounded(str(value), _ID_AT_MOST))
