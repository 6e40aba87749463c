"""Writes calls to the audit log: a failure is on disk before the answer is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.diagnostics.telling import logger, tell
from failsoft.framework.errors import AuditLockFailed, AuditLogFailed, Effect, ToolError
from failsoft.framework.observability import logs
from failsoft.framework.pipeline.audit_facts import of_cancelled, of_failure, of_success
from failsoft.framework.pipeline.guidance import explain

if TYPE_CHECKING:
    from failsoft.framework.answer.failure import Failure
    from failsoft.framework.audit.trail import AuditLog
    from failsoft.framework.call.call import Call

__all__ = ["note_cancelled", "recorded", "success_refused"]


async def recorded(call: Call, failure: Failure, audit: AuditLog, duration_s: float) -> Failure:
    """Return the failure once its entry is on disk, otherwise AUDIT_LOG_FAILED or AUDIT_LOCK_FAILED.

    That error keeps the code, effect and error id of the failure, which is then only in the ordinary log.
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


async def success_refused(call: Call, audit: AuditLog) -> Failure | None:
    """Write a call that changed something to the audit log; return the failure to answer with if that fails."""
    try:
        await audit.record(of_success(call))
    except BaseException as error:
        if is_real_cancellation(error):
            raise
        return explain(_refused(error, "The call was carried out", original_code=None, effect="applied"), call)
    return None


def note_cancelled(call: Call, audit: AuditLog) -> None:
    """Write a cancelled call to the audit log without waiting, since its answer is discarded."""
    error = tell(lambda: audit.note(of_cancelled(call)))  # a cancellation has to go on, whatever the log says
    if error is not None:
        logger.opt(exception=error).error("A cancelled call is not in the audit log", operation=call.operation)


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
