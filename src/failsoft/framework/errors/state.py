"""Errors of the state store."""

from __future__ import annotations

from failsoft.framework.errors.categories import StorageError, Unavailable

__all__ = ["StateUnavailable", "StateUnusable"]


class StateUnavailable(Unavailable):
    """The state store does not answer, so a call that depends on it was refused.

    Raised when: the store behind `FAILSOFT_STATE_URL` is down, too slow, locked by another process, or a Redis that
    refuses writes (a replica, full), and the call has an idempotency key, or works on sessions, plans or other durable
    records.
    Caller: make the same call again after the wait.
    Operator: see why the store does not answer or refuses; the log names the fault. No record is damaged by it.
    """

    code = "STATE_UNAVAILABLE"
    message = "The state store does not answer, and this call depends on it."
    since = "0.2.0"


class StateUnusable(StorageError):
    """The state store cannot be used until an operator has repaired it.

    Raised when: the store's file is damaged, of a newer version of failsoft, not writable, or its disk is full, and the
    call has an idempotency key, or works on sessions, plans or other durable records. The file is left as it is.
    Caller: do not repeat the call; give the error id to the operator of the server.
    Operator: the log names the file and the fault. Make it writable, free the disk, run the newer version, or move the
    file away: a new one is made, and the records in the old one are then not known.
    """

    code = "STATE_UNUSABLE"
    message = "The state store of this server cannot be used, and this call depends on it."
    since = "0.2.0"
    critical = True
