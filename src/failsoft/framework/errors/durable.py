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

    Raised when: a key is sent again within its time to live, by the same caller to the same tool, and the arguments
    are not those that it was first sent with.
    Caller: send a new key for new work; send the first call's arguments to get the first call's outcome.
    """

    code = "IDEMPOTENCY_CONFLICT"
    message = (
        "This idempotency key was used before, with other arguments. Those get its outcome; a new key would "
        "make another call beside it."
    )
    hints = ("Send a new idempotency key with every new piece of work",)


class IdempotencyInProgress(Conflict):
    """The first call with this idempotency key is still under way.

    Raised when: a call waited for the first one with its key until its own time was nearly up. Nothing was started.
    Caller: make the same call with the same key a little later; it gets the first call's outcome.
    Operator: nothing to do; a higher time-out lets callers wait longer.
    """

    code = "IDEMPOTENCY_IN_PROGRESS"
    remedy = "Keep the idempotency key and the arguments, and"
    message = "The first call with this idempotency key is still under way."
    hints = ("Make the same call with the same idempotency key to get its outcome",)


class IdempotencyOutcomeUnknown(Conflict):
    """The outcome of the first call with this idempotency key is not known.

    Raised when: the first call was cancelled, or its process ended, after its work had begun. The work is not done
    again, since it may have been done.
    Caller: look whether the work was done; if it was not, make the call with a new key.
    Operator: look for what ended the first call: its caller, a restart, a crash.
    """

    code = "IDEMPOTENCY_OUTCOME_UNKNOWN"
    remedy = "If the work was not done, send a new idempotency key and"
    message = "The first call with this idempotency key never reported its outcome."
    hints = (
        "Look whether the work was done",
        "If it was not, call again with a new idempotency key",
    )


class StateUnavailable(Unavailable):
    """The state store does not answer, so a call that depends on it was refused.

    Raised when: the store behind `FAILSOFT_STATE_URL` is down, too slow, held by another process, full, not writable,
    loading its data, or refuses access, and the call has an idempotency key, or works on sessions, plans or other
    durable records.
    Caller: make the same call again after the wait.
    Operator: the log (`store_lost`) and `mcp_state_store_unavailable` name the fault. No record is damaged by it.
    """

    code = "STATE_UNAVAILABLE"
    message = "The state store does not answer, and this call depends on it."
    since = "0.2.0"


class StateUnusable(StorageError):
    """The state store cannot be used until an operator has repaired it.

    Raised when: the store's file is damaged, was removed, or is of a newer version of failsoft, and the call has an
    idempotency key, or works on sessions, plans or other durable records. The file is left as it is.
    Caller: do not repeat the call; give the error id to the operator of the server.
    Operator: the log names the file and the fault. Repair it, run the newer version, or move the file away: a new one
    is made, and the records in the old one are then not known.
    """

    code = "STATE_UNUSABLE"
    message = "The state store of this server cannot be used, and this call depends on it."
    since = "0.2.0"
    critical = True


class JobNotFound(NotFound):
    """There is no job with this id that the caller may see.

    Raised when: the id was never given out, the job was another caller's, or it ended so long ago that it is forgotten
    (`FAILSOFT_JOB_KEEP_S`). The three cannot be told apart.
    Caller: list your jobs, and use an id as it was answered.
    """

    code = "JOB_NOT_FOUND"
    message = "You have no job with this id."
    hints = ("Use a job_id as the call that began the job answered it",)


class JobProcessLost(InternalError):
    """Every process that ran the job has ended before the job did.

    Raised when: the handler of a job, or what it uses, ends its process each time: it exits, crashes, or takes more
    memory than the system gives.
    Caller: do not begin the job again; report the error id to the user.
    Operator: look in the log and the system's own for how the processes ended (`oom`, signals).
    """

    deaths: Public[int]
    code = "JOB_PROCESS_LOST"
    message = "Each of the {deaths} processes that ran this job has ended before the job did."
