"""Errors of idempotency keys."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors.base import Public, Words
from failsoft.framework.errors.categories import Conflict, InvalidArgument

__all__ = ["IdempotencyConflict", "IdempotencyInProgress", "IdempotencyKeyInvalid", "IdempotencyOutcomeUnknown"]


class IdempotencyKeyInvalid(InvalidArgument):
    """The idempotency key of the call is not usable.

    Raised when: `_meta["dev.failsoft/idempotency-key"]` is not a string of 1 to 255 visible ASCII characters.
    Caller: send a key such as a UUID, or none.
    Operator: nothing to do.
    Example:
        >>> code_of(IdempotencyKeyInvalid())
        'IDEMPOTENCY_KEY_INVALID'
    """

    expected: Public[Words] = "a text of 1 to 255 visible ASCII characters"
    code: ClassVar[str] = "IDEMPOTENCY_KEY_INVALID"
    remedy: ClassVar[str] = "Send a UUID as the key, or none, and"
    message: str = "The idempotency key of this call is not usable: it must be {expected}."
    hints: ClassVar[tuple[str, ...]] = ("Send a UUID as the key, or no key at all",)
    since: ClassVar[str] = "0.1.0"


class IdempotencyConflict(Conflict):
    """The idempotency key belongs to a call with other arguments.

    Raised when: a key is sent again within its time to live, by the same caller to the same tool, and the arguments
    are not those that it was first sent with.
    Caller: send a new key for new work; send the first call's arguments to get the first call's outcome.
    Operator: nothing to do.
    Example:
        >>> code_of(IdempotencyConflict())
        'IDEMPOTENCY_CONFLICT'
    """

    code: ClassVar[str] = "IDEMPOTENCY_CONFLICT"
    remedy: ClassVar[str] = "Send a new idempotency key and"
    message: str = "This idempotency key was used before, with other arguments."
    hints: ClassVar[tuple[str, ...]] = ("Send a new idempotency key with every new piece of work",)
    since: ClassVar[str] = "0.1.0"


class IdempotencyInProgress(Conflict):
    """The first call with this idempotency key is still under way.

    Raised when: a call waited for the first one with its key until its own time was nearly up. Nothing was started.
    Caller: make the same call with the same key a little later; it gets the first call's outcome.
    Operator: nothing to do; a higher time-out lets callers wait longer.
    Example:
        >>> code_of(IdempotencyInProgress(effect="unknown"))
        'IDEMPOTENCY_IN_PROGRESS'
    """

    code: ClassVar[str] = "IDEMPOTENCY_IN_PROGRESS"
    remedy: ClassVar[str] = "Keep the idempotency key and the arguments, and"
    message: str = "The first call with this idempotency key is still under way."
    hints: ClassVar[tuple[str, ...]] = ("Make the same call with the same idempotency key to get its outcome",)
    since: ClassVar[str] = "0.1.0"


class IdempotencyOutcomeUnknown(Conflict):
    """The outcome of the first call with this idempotency key is not known.

    Raised when: the first call was cancelled, or its process ended, after its work had begun. The work is not done
    again, since it may have been done.
    Caller: look whether the work was done; if it was not, make the call with a new key.
    Operator: look for what ended the first call: its caller, a restart, a crash.
    Example:
        >>> code_of(IdempotencyOutcomeUnknown(effect="unknown"))
        'IDEMPOTENCY_OUTCOME_UNKNOWN'
    """

    code: ClassVar[str] = "IDEMPOTENCY_OUTCOME_UNKNOWN"
    remedy: ClassVar[str] = "Look whether the work was done; if it was not, send a new idempotency key and"
    message: str = "The first call with this idempotency key never reported its outcome; its work may have been done."
    hints: ClassVar[tuple[str, ...]] = (
        "Look whether the work was done",
        "If it was not, call again with a new idempotency key",
    )
    since: ClassVar[str] = "0.1.0"
