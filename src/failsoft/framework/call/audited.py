"""Records calls in the audit log, without arguments, contents or secrets, and those that end without an answer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from failsoft.framework.answer.failure import Governance, governance_of
from failsoft.framework.asking import AwaitingAnswer
from failsoft.framework.audit.chain import canonical
from failsoft.framework.call.explain import explain
from failsoft.framework.clock import new_id, utc_timestamp
from failsoft.framework.errors import AuditLockFailed, AuditLogFailed, Effect, ToolError
from failsoft.framework.events import AuditEvent
from failsoft.framework.logs import logs
from failsoft.framework.normalize.reasons import normalized_cause, plain_text
from failsoft.framework.safe.author_reports import is_real_cancellation, logger, tell
from failsoft.framework.safe.principals import redact_principal
from failsoft.framework.safe.redaction import brief, secrets_of, without
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import bounded

if TYPE_CHECKING:
    from failsoft.framework.answer.failure import Failure
    from failsoft.framework.audit.trail import AuditLog
    from failsoft.framework.call.call import Call


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
    governance = governance_of(None, call.told.governance, call.scope.session_id, call.scope.meta)
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
        "trace_id": call.scope.trace_id,
        "idempotency_key": call.idempotency_key,
        "facts": brief(call.told.audit_facts) if call.told.audit_facts else None,
    }
    present = {name: value for name, value in others.items() if value not in (None, "", [], {})}
    secrets = secrets_of(call.params) + call.bound.arguments.accepted.secrets_in(call.params)
    return _within_limit(without({**seed, **always, **present}, secrets))


def _within_limit(entry: dict[str, Any]) -> dict[str, Any]:
    for name in _GROWING:
        if entry.get(name) is not None and len(canonical({name: entry[name]})) > _PART_AT_MOST:
            entry[name] = None if name == "cause" else "<left out>"
            entry["is_cut"] = True
    return entry


def _bounded_id(value: str | None) -> str | None:
    return None if value is None else redact_text(bounded(str(value), _ID_AT_MOST))


async def recorded(call: Call, failure: Failure, audit: AuditLog, duration_s: float) -> Failure:
    """Return the failure once its entry is on disk, otherwise AUDIT_LOG_FAILED or AUDIT_LOCK_FAILED.

    That error keeps the code, effect and error id of the failure, which is then only in the ordinary log.
    """
    try:
        await _record(of_failure(call, failure), call, audit)
    except BaseException as error:
        if is_real_cancellation(error):
            raise
        tell(logs.log_failed, call, failure, duration_s)
        said = f"The call failed with {failure.code}"
        refused = _refused(error, said, original_code=failure.code, effect=failure.effect)
        return explain(refused, call, error_id=failure.error_id)
    return failure


async def success_refused(call: Call, audit: AuditLog) -> Failure | None:
    """Write a call that changed something to the audit log; return the failure to answer with if that fails."""
    try:
        await _record(of_success(call), call, audit)
    except BaseException as error:
        if is_real_cancellation(error):
            raise
        return explain(_refused(error, "The call was carried out", original_code=None, effect="applied"), call)
    return None


def note_left(call: Call, raised: BaseException) -> None:
    """Record a call that ends without an answer: as cancelled, or not at all if it runs again once a person answers."""
    if issubclass(type(raised), AwaitingAnswer):
        call.bound.metrics.put_off()
        call.forget_errors()
    else:
        _note_cancelled(call)
        abandoned(call)


def abandoned(call: Call) -> None:
    """Count a call as cancelled: its caller has left before the response was complete."""
    call.bound.metrics.finished("cancelled", time.perf_counter() - call.started_at)
    call.forget_errors()


def _note_cancelled(call: Call) -> None:
    """Write a cancelled call that may have changed something to the audit log, without waiting: nobody waits for it."""
    audit = call.bound.audit
    if not call.bound.governed or audit is None or not call.attempt or call.read_only:
        return
    error = tell(lambda: audit.note(of_cancelled(call)))  # a cancellation has to go on, whatever the log says
    if error is not None:
        logger.opt(exception=error).error("A cancelled call is not in the audit log", operation=call.operation)


async def _record(entry: Mapping[str, Any], call: Call, audit: AuditLog) -> None:
    """Write the entry; publish that it could not be written, or that entries can be written again."""
    was_broken = bool(getattr(audit, "fault", ""))
    try:
        await audit.record(entry)
    except BaseException as error:
        if not is_real_cancellation(error):
            call.bound.events.publish(AuditEvent(ok=False, reason=getattr(error, "reason", type(error).__name__)))
        raise
    if was_broken:
        call.bound.events.publish(AuditEvent(ok=True))


def _refused(error: BaseException, said: str, *, original_code: str | None, effect: Effect) -> ToolError:
    """Return the error of a call that could not be written to the audit log, with its outcome."""
    kind: type[AuditLogFailed | AuditLockFailed] = AuditLogFailed
    reason, verb = "the audit trail itself failed", "written"
    if isinstance(error, (AuditLogFailed, AuditLockFailed)):
        kind, reason = type(error), error.reason
        verb = "locked" if kind is AuditLockFailed else "written"
    refused = kind(
        message=f"{said}, and the audit log could not be {verb}: {reason}.",
        reason=reason,
        original_code=original_code,
        original_effect=effect,
        effect=effect,
    )
    refused.__cause__ = error.__cause__ if isinstance(error, ToolError) else error
    return refused
