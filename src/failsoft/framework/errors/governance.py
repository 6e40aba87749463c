"""Errors of governance: the audit log, broken invariants, and servers that do not start."""

from __future__ import annotations

from failsoft.framework.errors.base import Public, Words
from failsoft.framework.errors.categories import ConfigurationError, InternalError, StorageError, Unavailable

__all__ = ["AuditLockFailed", "AuditLogFailed", "BootstrapFailure", "InvariantViolation", "SelfAuditFailure"]


class AuditLogFailed(StorageError):
    """What happened could not be written to the audit log.

    Raised when: the disk is full, read-only or broken, or the log is damaged. `original_code` and `original_effect` say
    what the call itself came to; without a code it had succeeded.
    Caller: do not repeat the call; report the error id to the user.
    Operator: fix what the reason names; `failsoft audit verify PATH` checks the log. After a failed sync the server has
    to be restarted.
    """

    reason: Public[Words] = "unknown"
    original_code: Public[str | None] = None
    original_effect: Public[str | None] = None
    code = "AUDIT_LOG_FAILED"
    message = "The audit log could not be written: {reason}."
    critical = True


class AuditLockFailed(Unavailable):
    """Another process held the audit log for too long.

    Raised when: the lock on the log was not free within the time that a call waits. `original_code` and
    `original_effect` are those of the call itself; without a code it had succeeded.
    Operator: find out which process holds the log open; writers hold it for microseconds.
    """

    reason: Public[Words] = "another process holds it"
    original_code: Public[str | None] = None
    original_effect: Public[str | None] = None
    code = "AUDIT_LOCK_FAILED"
    message = "The audit log could not be locked: {reason}."


class InvariantViolation(InternalError):
    """Something that has to hold at all times did not hold.

    Raised when: a check of a named invariant fails.
    Operator: find the error id in the audit log; the invariant is named there.
    """

    invariant_id: Public[Words]
    code = "INVARIANT_VIOLATION"
    message = "The invariant {invariant_id} does not hold."
    critical = True


class BootstrapFailure(ConfigurationError):
    """A governed toolset could not be set up.

    Raised when: it is made or started, and a setting, a folder, a policy or something else that it needs is missing or
    wrong. The server does not start.
    Caller: nothing to do: no call is answered before it starts.
    Operator: correct what the reason names, and start the server again; `failsoft doctor` shows the same.
    """

    reason: Public[Words]
    code = "BOOTSTRAP_FAILURE"
    message = "The server could not be set up: {reason}."


class SelfAuditFailure(ConfigurationError):
    """A governed server has looked itself over before its first call, and does not pass.

    Raised when: the audit log cannot be written or lacks its key, the catalogue of errors is not whole, a folder cannot
    be opened, or a program of the preflight is not found. The server does not start.
    Caller: nothing to do: no call is answered before it starts.
    Operator: correct everything that is named, and start the server again; `failsoft doctor` shows the same.
    """

    faults: Public[Words]
    code = "SELF_AUDIT_FAILURE"
    message = "The server does not pass its own audit: {faults}."
