"""What a store of keys has to do: read one, swap it for another, find several; and how it fails."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from failsoft.framework.errors.vocabulary import PicklableError

State: TypeAlias = dict[str, Any]
"""The state of one key: names to JSON values. Nobody changes one; a step makes another."""
StoreFault: TypeAlias = Literal["lost", "read_only", "full", "busy", "denied", "loading", "damaged"]
"""Why a state store cannot be used."""

NOTHING = ""
"""The version of a key without a value."""
KEPT = object()
"""The value of a step that changes nothing."""
UNREADABLE = object()
"""In place of a value that is damaged, or not from failsoft: it can be forgotten, and nothing else."""
WRONG_SHAPE = (LookupError, TypeError, ValueError, AttributeError)
"""What reading a value of another shape raises."""
LEAST_BYTES = 256
"""What a record counts at least, since every store adds its own to it."""
_TIMED = "f5"
"""The mark of versions that say when they were written: those of earlier releases are random digits."""
_VERSION = re.compile(rf"([0-9a-f]{{8}}){_TIMED}[0-9a-f]{{8}}")
_SKEW_S, _AGE_AT_MOST_S = 60.0, 400 * 86_400.0
"""Ages of a write that are believed, in seconds: from that much in the future, for clocks that differ, to a year."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The result of a step: the new value, the answer, and the time to live in seconds.

    None deletes the value. Nothing is written, and the time to live stays, for `KEPT` and for the very dict that the
    step was given.
    """

    state: Any
    answer: Any
    ttl_s: float = 0.0

    def is_new(self, value: Any) -> bool:
        """Return whether there is something to be written in place of a value."""
        return not (self.state is KEPT or (self.state is value and (value is None or type(value) is dict)))


Step: TypeAlias = Callable[..., Changed]
"""`step(value or None, now_s, *arguments) -> Changed`: pure, since it runs again where another writer was faster."""


class Held(NamedTuple):
    """What a store holds under a key.

    Args:
        version: The token of the write that made it; empty if there is nothing.
        value: A JSON value; None if there is nothing, `UNREADABLE` if it cannot be read.
    """

    version: str
    value: Any


class Account(NamedTuple):
    """Whose quota a record counts against; principal and scope are hashed.

    Args:
        owner: The hash.
        quota_bytes: The keys and values of an owner together, as JSON, in bytes; each counts `LEAST_BYTES` at least.
    """

    owner: str
    quota_bytes: int


class Write(NamedTuple):
    """A value to be swapped in.

    Args:
        version: A token that no other write has, see `new_version`: a repeat after a lost reply finds it and knows that
            it was done.
        value: A JSON value; None deletes the key.
        ttl_s: The time to live, in seconds.
        account: Whose quota the record counts against; None for state that counts against none.
        may_grow: Whether a record that is there may grow beyond the quota: what was begun can be ended.
    """

    version: str
    value: Any
    ttl_s: float
    account: Account | None = None
    may_grow: bool = True


@dataclass(frozen=True, slots=True)
class Record:
    """One record.

    Args:
        key: Its key.
        value: A JSON value.
        expires_in_s: Its remaining time to live, in seconds.
        age_s: How long ago it was last written, in seconds; None if its version does not say.
    """

    key: str
    value: Any
    expires_in_s: float
    age_s: float | None = None


class StoreLost(PicklableError):
    """A store did not answer, or refused to.

    Args:
        reason: What is wrong, in a clause, never an address.
        fault: The kind of fault; `damaged` is the only one that lasts until an operator has repaired the store.
        may_be_written: Whether a write may have arrived, or arrive later, though its answer did not.
    """

    def __init__(self, reason: str, *, fault: StoreFault = "lost", may_be_written: bool = False) -> None:
        super().__init__(reason)
        self.fault: StoreFault = fault
        self.may_be_written = may_be_written


class WriteRefused(StoreLost):
    """A store answered that it takes no writes; it may still be read."""


class UnreadableValue(StoreLost):
    """A value in a store that otherwise works is damaged, or not from failsoft."""


class QuotaReached(Exception):
    """A record was not stored because the quota of its owner is used up."""


class Backend(Protocol):
    """A store of keys. An operation that fails or takes too long raises `StoreLost`."""

    is_local: bool
    """Whether only this process sees the keys, so that they end with it."""
    is_of_machine: bool
    """Whether only processes of this machine see them."""
    default_root: str
    """Separates the records of toolsets without folders; empty if an operator separates stores by prefix."""

    def clock(self) -> float:
        """Return the store's time in seconds by its last answer; it is passed to steps as `now`."""

    async def read(self, key: str) -> Held:
        """Return what is under a key; possible as long as the store can be read, whether or not it takes writes."""

    async def swap(self, key: str, version: str, write: Write) -> Held | None:
        """Write a value if the key still has this version; return None, or what is there instead.

        Raises:
            QuotaReached: The quota has no space for it; nothing was changed.
            StoreLost: `may_be_written` says whether it may be done nevertheless.
        """

    async def find(self, prefix: str) -> Sequence[Record]:
        """Return the records whose keys have this prefix, sorted by key; those that cannot be read are left out."""

    async def fullest(self) -> int:
        """Return the most bytes that one owner's quota counts; expired records may be among them for a while."""

    async def ping(self) -> None:
        """Check that the store answers."""

    async def close(self) -> None:
        """Release files and connections; the next operation reopens them."""


def new_version(now: float) -> str:
    """Return a token for a write: 18 hex digits, of which the first 8 are its time in seconds, and the next 2 a mark.

    Args:
        now: The store's time in seconds.
    """
    return f"{int(now) & 0xFFFFFFFF:08x}{_TIMED}{os.urandom(4).hex()}"


def age_of(version: str, now: float) -> float | None:
    """Return how long ago the write of a version was, in seconds; None if the token does not say.

    Args:
        version: The token of a write.
        now: The store's time in seconds.
    """
    timed = _VERSION.fullmatch(version)
    age_s = -math.inf if timed is None else now - int(timed[1], 16)
    return max(0.0, age_s) if -_SKEW_S <= age_s <= _AGE_AT_MOST_S else None


def size_of(key: str, text: str) -> int:
    """Return what a record counts against a quota, in bytes.

    Args:
        key: Its key.
        text: Its value as JSON.
    """
    return max(LEAST_BYTES, len(key) + len(text))
