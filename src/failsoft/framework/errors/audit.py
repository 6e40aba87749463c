"""The errors of the audit trail: what a call answers when its own failure could not be put on record."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors.base import Public
from failsoft.framework.errors.categories import StorageError, Unavailable

__all__ = ["AuditLockFailed", "AuditLogFailed"]


class AuditLogFailed(StorageError):
    """What happened could not be written to the audit log.

    Raised when: the disk is full, read-only or broken, or the log is damaged. `original_code` and `original_effect` say
    what the call itself came to; without a code it had succeeded.
    Caller: do not repeat the call; tell the person you work for, with the error id.
    Operator: mend what the reason names; `failsoft audit verify PATH` looks through the log. After a failed sync the
    server has to be started again.
    Example:
        >>> code_of(AuditLogFailed(reason="the disk is full", original_code="DOC_NOT_FOUND", original_effect="none"))
        'AUDIT_LOG_FAILED'
    """

    reason: Public[str] = "unknown"
    original_code: Public[str | None] = None
    original_effect: Public[str | None] = None
    code: ClassVar[str] = "AUDIT_LOG_FAILED"
    message: str = "The audit log could not be written: {reason}."
    since: ClassVar[str] = "0.1.0"
    critical: ClassVar[bool] = True


class AuditLockFailed(Unavailable):
    """Another process held the audit log for too long.

    Raised when: the lock on the log was not free within the time that a call waits. `original_code` and
    `original_effect` say what the call itself came to; without a code it had succeeded.
    Caller: call again after the wait that the answer gives, if it says so.
    Operator: find out which process holds the log open; writers hold it for microseconds.
    Example:
        >>> code_of(AuditLockFailed(original_code="DOC_NOT_FOUND", original_effect="none"))
        'AUDIT_LOCK_FAILED'
    """

    reason: Public[str] = "another process holds it"
    original_code: Public[str | None] = None
    original_effect: Public[str | None] = None
    code: ClassVar[str] = "AUDIT_LOCK_FAILED"
    message: str = "The audit log could not be locked: {reason}."
    since: ClassVar[str] = "0.1.0"
