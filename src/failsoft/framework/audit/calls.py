"""Where calls meet the audit log: a failure is on disk before it goes on its way to the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loguru import logger

from failsoft.framework import logs
from failsoft.framework.audit.facts import of_cancelled, of_failure, of_success
from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.errors import AuditLockFailed, AuditLogFailed, Effect, ToolError
from failsoft.framework.guidance import explain

if TYPE_CHECKING:
    from failsoft.framework.context import CallContext
    from failsoft.framework.failure import Failure
    from failsoft.framework.ports import AuditTrail

__all__ = ["note_cancelled", "recorded", "success_refused"]


async def recorded(call: CallContext, failure: Failure, audit: AuditTrail, duration_s: float) -> Failure:
    """Return the failure once it is on disk, or AUDIT_LOG_FAILED or AUDIT_LOCK_FAILED in its place.

    That keeps the code, the effect and the error id of the failure, which then stands in the ordinary log only.
    """
    try:
        await audit.record(of_failure(call, failure))
    except BaseException as error:
        if is_real_cancellation(error):
            raise
        logs.log_failed(call, failure, duration_s)
        said = f"The call failed with {failure.code}"
        refused = _refused(error, said, original_code=failure.code, effect=failure.effect)
        return explain(refused, call, error_id=failure.error_id)
    return failure


async def success_refused(call: CallContext, audit: AuditTrail) -> Failure | None:
    """Write down that a call has changed something; return the failure to answer with if that cannot be done."""
    try:
        await audit.record(of_success(call))
    except BaseException as error:
        if is_real_cancellation(error):
            raise
        return explain(_refused(error, "The call was carried out", original_code=None, effect="applied"), call)
    return None


def note_cancelled(call: CallContext, audit: AuditTrail) -> None:
    """Have a cancelled call written down; nobody waits for its answer, so nobody waits for this."""
    try:
        audit.note(of_cancelled(call))
    except Exception as error:  # noqa: BLE001 - a cancellation has to go on, whatever the log says
        logger.error("A cancelled call is not in the audit log", reason=str(error), operation=call.operation)


def _refused(error: BaseException, said: str, *, original_code: str | None, effect: Effect) -> ToolError:
    """Return the error of a call that cannot be put on record, with what it came to."""
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
