"""The errors of what outlives a call: the audit log, invariants, starting, idempotency keys, the state store, jobs."""

from __future__ import annotations

from failsoft.framework.errors.categories import (
    ConfigurationError,
    Conflict,
    InternalError,
    InvalidArgument,
    NotFound,
    StorageError,
    Unavailable,
)
from failsoft.framework.errors.vocabulary import Public, Words


class AuditLogFailed(StorageError):
    """The call could not be recorded in the audit log.

    Raised when: the disk is full, read-only or broken, or the log is damaged. `original_code` and `original_effect` are
    those of the call itself; without a code it had succeeded.
    Caller: do not repeat the call; report the error id to the user.
    Operator: fix what the reason names; `failsoft audit verify PATH` checks the log. After a failed fsync, restart the
    server.
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
    Operator: find the process that holds the lock; failsoft's own writers hold it only while they append.
    """

    reason: Public[Words] = "another process holds it"
    original_code: Public[str | None] = None
    original_effect: Public[str | None] = None
    code = "AUDIT_LOCK_FAILED"
    message = "The audit log could not be locked: {reason}."


class InvariantViolation(InternalError):
    """An invariant of the server was violated.

    Raised when: a check of a named invariant fails. In the workspace toolset it locks the session.
    Caller: do not repeat the call; write a failure report if the answer asks for one, and report the error id to the
    user.
    Operator: find the error id in the audit log, which names the invariant.
    """

    invariant_id: Public[Words]
    code = "INVARIANT_VIOLATION"
    message = "The invariant {invariant_id} does not hold."
    critical = True


class BootstrapFailure(ConfigurationError):
    """A governed toolset could not be set up.

    Raised when: a setting, a folder, a policy or something else that the toolset needs is missing or wrong when it is
    created or started. The server does not start.
    Caller: nothing to do: a server that has not started answers no call.
    Operator: correct what the reason names, and start the server again; `failsoft doctor` shows the same.
    """

    reason: Public[Words]
    code = "BOOTSTRAP_FAILURE"
    message = "The server could not be set up: {reason}."


class SelfAuditFailure(ConfigurationError):
    """The start-up check of a governed toolset failed.

    Raised when: the audit log cannot be written or lacks its key, an error class of the catalogue is missing, a folder
    cannot be opened, or a program of the preflight is not found. The server does not start.
    Caller: nothing to do: a server that has not started answers no call.
    Operator: correct everything that is named, and start the server again; `failsoft doctor` shows the same.
    """

    faults: Public[Words]
    code = "SELF_AUDIT_FAILURE"
    message = "The server does not pass its start-up check: {faults}."


class IdempotencyKeyInvalid(InvalidArgument):
    """The idempotency key of the call is not usable.

    Raised when: `_meta["dev.failsoft/idempotency-key"]` is not a string of 1 to 255 visible ASCII characters.
    Caller: send a key such as a UUID, or none.
    """

    expected: Public[Words] = "a text of 1 to 255 visible ASCII characters"
    code = "IDEMPOTENCY_KEY_INVALID"
    remedy = "Send a UUID as the key, or none, and"
    message = "The idempotency key of this call is not usable: it must be {expected}."
    hints = ("Send a UUID as the key, or no key at all",)


class IdempotencyConflict(Conflict):
    """The idempotency key belongs to a call with other arguments.

    Raised when: the same caller sends a key again to the same tool while it is kept, with other arguments.
    Caller: send a new key for new work, or the first call's arguments to get the first call's outcome.
    """

    code = "IDEMPOTENCY_CONFLICT"
    message = (
        "This idempotency key was used before, with other arguments. Nothing was done: the first arguments get the "
        "outcome of that call, and a new key makes another call."
    )
    hints = ("Send a new idempotency key with every new piece of work",)


class IdempotencyInProgress(Conflict):
    """The first call with this idempotency key is still running.

    Raised when: a call waited for the first one with its key until its own time was nearly up, and started nothing
    itself. The effect is that of the first call: not known yet.
    Caller: make the same call with the same key a little later; it gets the first call's outcome.
    Operator: nothing to do; a longer time-out lets callers wait longer.
    """

    code = "IDEMPOTENCY_IN_PROGRESS"
    retry = "after_delay"
    message = "The first call with this idempotency key is still running."
    hints = ("Make the same call with the same idempotency key to get its outcome",)


class IdempotencyOutcomeUnknown(Conflict):
    """The outcome of the first call with this idempotency key is not known.

    Raised when: the first call was cancelled, or its process ended, after its work had begun. The work is not done
    again, since it may have been done.
    Caller: check whether the work was done; if it was not, make the call with a new key.
    Operator: find out what ended the first call: its caller, a restart or a crash.
    """

    code = "IDEMPOTENCY_OUTCOME_UNKNOWN"
    remedy = "If the work was not done, send a new idempotency key and"
    message = "The first call with this idempotency key never reported its outcome."
    hints = (
        "Check whether the work was done",
        "If it was not, call again with a new idempotency key",
    )


class StateUnavailable(Unavailable):
    """The state store does not answer, so a call that depends on it was refused.

    Raised when: the store of `FAILSOFT_STATE_URL` is down, too slow, locked by another process, full, not writable,
    loading its data, or refuses access, and the call has an idempotency key or uses sessions, plans, jobs or other
    durable records.
    Caller: make the same call again after the wait.
    Operator: correct the fault that the log (`store_lost`) and `mcp_state_store_unavailable` name. No record is lost.
    """

    code = "STATE_UNAVAILABLE"
    message = "The state store does not answer, and this call depends on it."


class StateUnusable(StorageError):
    """The state store cannot be used until an operator has repaired it.

    Raised when: the store's file is damaged, was removed, or is of a newer version of failsoft, and the call has an
    idempotency key or uses sessions, plans, jobs or other durable records. The file is left as it is.
    Caller: do not repeat the call; report the error id to the user.
    Operator: repair the file that the log names, or run the newer version. Or move the file away: failsoft creates a
    new one, without the records of the old one.
    """

    code = "STATE_UNUSABLE"
    message = "The state store of this server cannot be used, and this call depends on it."
    critical = True


class JobNotFound(NotFound):
    """There is no job with this id that the caller may see.

    Raised when: there never was such a job, it belongs to another caller, or it has expired (`FAILSOFT_JOB_KEEP_S`
    after its end). The answer is the same in all three cases.
    Caller: use a `job_id` that `list_jobs`, or the call that began the job, returned.
    Operator: raise `FAILSOFT_JOB_KEEP_S` if jobs expire too soon.
    """

    code = "JOB_NOT_FOUND"
    message = "You have no job with this id."
    hints = ("Use a job_id that list_jobs, or the call that began the job, returned",)


class JobProcessLost(InternalError):
    """Every process that ran the job ended before the job did.

    Raised when: the handler of a job, or a library that it uses, ends its process each time: it exits, crashes, or
    needs more memory than there is.
    Caller: do not start the job again; report the error id to the user.
    Operator: the log, and that of the system, say how the processes ended (out of memory, signals).
    """

    deaths: Public[int]
    code = "JOB_PROCESS_LOST"
    message = "Each of the {deaths} processes that ran this job ended before the job did."
