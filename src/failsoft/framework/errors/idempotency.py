"""Errors of idempotency keys."""

from __future__ import annotations

from failsoft.framework.errors.base import Public, Words
from failsoft.framework.errors.categories import Conflict, InvalidArgument

__all__ = ["IdempotencyConflict", "IdempotencyInProgress", "IdempotencyKeyInvalid", "IdempotencyOutcomeUnknown"]


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
    remedy = "Send a new idempotency key and"
    message = "This idempotency key was used before, with other arguments."
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
    remedy = "Look whether the work was done; if it was not, send a new idempotency key and"
    message = "The first call with this idempotency key never reported its outcome; its work may have been done."
    hints = (
        "Look whether the work was done",
        "If it was not, call again with a new idempotency key",
    )
