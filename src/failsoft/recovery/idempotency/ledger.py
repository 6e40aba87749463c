"""The ledger of keyed calls: the phases of a record, who may do its work, and what its owner reports.

A record holds `key` (a hash of the key alone, by which an operator finds it), `phase`, `owner` (the token of the call
that does the work), `arguments` (a hash of each), `until` (the end of the lease), `end` (when the record expires),
`effects` (JSON: what `call.effect` has marked) and `outcome` (JSON). `claim` and `report` are its only steps, and pure.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from failsoft.framework.clock import boot_id
from failsoft.framework.errors import IdempotencyInProgress, ToolError
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.state.backend import KEPT, Changed, State
from failsoft.framework.state.records import Records
from failsoft.recovery.idempotency.keys import KeyedHashes
from failsoft.recovery.strategy import run_in_background, shielded

_TRIES = 60
_PAUSE_AT_MOST_S = 10.0


class Phase(StrEnum):
    """What is known of the work of a key."""

    ACCEPTED = "accepted"
    """Claimed, and the handler has not begun any effect that it marks."""
    RUNNING = "running"
    """Claimed for a handler that does not mark its effects, so anything may have happened."""
    EFFECT = "effect"
    """`call.effect` has marked one."""
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """Settled without an outcome. A later call takes over if a repetition is harmless."""


SETTLED: Final = (Phase.DONE, Phase.FAILED, Phase.UNKNOWN)
"""Final until the record expires: no report changes them."""


class OwnerReport(StrEnum):
    """What the owner of a record reports."""

    RENEW = "renew"
    """It is still at work; the lease starts again."""
    MARK = "mark"
    """An effect begins or is complete."""
    RELEASE = "release"
    """It ended without an outcome; the next call checks the marked effects."""
    FREE = "free"
    """It changed nothing, or a repetition is harmless: the record is deleted."""
    WITHDRAW = "withdraw"
    """It takes its claim back: freed, unless an earlier call has marked effects, which the next call checks."""
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Verdict(StrEnum):
    """The answer to a claim."""

    RUN = "run"
    """Do the work; the text has the marked effects."""
    SETTLED = "settled"
    """The text is the outcome."""
    WAIT = "wait"
    """Another call does the work."""
    UNKNOWN = "unknown"
    """Another call began the work, and its outcome is lost, or it cannot be told whether its arguments are the same."""
    CONFLICT = "conflict"
    """The key belongs to other arguments; the text has their hashes."""


class Claimed(NamedTuple):
    """A verdict with its text; for `WAIT` with the rest of the lease in seconds, and its owner."""

    verdict: Verdict
    text: str = ""
    lease_s: float = 0.0
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Claimant:
    """A call that claims a key.

    Args:
        token: Distinguishes it from others with the same key, see `new_owner`.
        arguments: The hashes of its arguments.
        begins: The phase in which it begins: `ACCEPTED` or `RUNNING`.
        lease_s: The length of its lease, in seconds.
        ttl_s: How long the record is kept once it is settled, in seconds.
        key_id: The hash of the key as the caller sent it.
    """

    token: str
    arguments: KeyedHashes
    begins: Phase
    lease_s: float
    ttl_s: float
    key_id: str = ""

    @property
    def held_s(self) -> float:
        """How long the record is kept until it is settled, in seconds; every report starts it again."""
        return max(self.ttl_s, 2 * self.lease_s)

    def record(self, now: float, effects: str) -> State:
        """Return a new record of this call with the effects that were marked, as JSON."""
        phase = Phase.EFFECT if effects else self.begins
        held = {
            "key": self.key_id,
            "phase": phase,
            "owner": self.token,
            "arguments": self.arguments.text,
            "effects": effects,
        }
        return {**held, "outcome": "", "until": now + self.lease_s, "end": now + self.held_s}


def claim(  # noqa: PLR0911 - one return a verdict
    state: State | None,
    now: float,
    ours: Claimant,
    may_repeat: bool,  # noqa: FBT001 - the arguments of a step have positions
    dead: str,
) -> Changed:
    """Decide on a call with a key; the answer is a `Claimed`. A step.

    Args:
        state: The record.
        now: The time in seconds.
        ours: The call.
        may_repeat: Whether repeating the work is harmless.
        dead: An owner whose process is known to have died; empty if none is.
    """
    if state is None:
        return Changed(ours.record(now, ""), Claimed(Verdict.RUN), ours.held_s)
    phase, effects = state["phase"], state["effects"]
    is_same = ours.arguments.is_same(state["arguments"])
    if not is_same:
        verdict = Verdict.UNKNOWN if is_same is None else Verdict.CONFLICT
        return Changed(KEPT, Claimed(verdict, state["arguments"]))
    if phase in {Phase.DONE, Phase.FAILED}:
        return Changed(KEPT, Claimed(Verdict.SETTLED, state["outcome"]))
    if phase != Phase.UNKNOWN and state["owner"] == ours.token:
        return Changed(KEPT, Claimed(Verdict.RUN, effects))  # the answer to its first claim was lost
    if phase != Phase.UNKNOWN and now < state["until"] and state["owner"] != dead:
        return Changed(KEPT, Claimed(Verdict.WAIT, "", state["until"] - now, state["owner"]))
    if phase not in {Phase.ACCEPTED, Phase.EFFECT} and not may_repeat:
        return Changed(KEPT, Claimed(Verdict.UNKNOWN))
    return Changed(ours.record(now, effects), Claimed(Verdict.RUN, effects), ours.held_s)


def report(
    state: State | None, now: float, ours: Claimant, said: OwnerReport, effects: str, outcome: str = ""
) -> Changed:
    """Record what the owner reports; the answer is whether the key is still its own, and not settled. A step.

    A record that the store has lost meanwhile is made again of what its owner knows.

    Args:
        state: The record.
        now: The time in seconds.
        ours: The call.
        said: What it reports.
        effects: All effects that it has marked, as JSON; empty if there are none.
        outcome: The outcome as JSON, if there is one.
    """
    if state is not None and (state["owner"] != ours.token or state["phase"] in SETTLED):
        return Changed(KEPT, answer=False)
    if said == OwnerReport.WITHDRAW:
        said = OwnerReport.RELEASE if state is not None and state["effects"] else OwnerReport.FREE
    if said == OwnerReport.FREE:
        return Changed(None, answer=True)
    held = ours.record(now, effects)
    if state is not None and said != OwnerReport.MARK:
        held.update(phase=state["phase"], effects=state["effects"])
    if said == OwnerReport.RELEASE:
        held["until"] = now
    elif said not in {OwnerReport.RENEW, OwnerReport.MARK}:
        held.update(phase=Phase(said), outcome=outcome, end=now + ours.ttl_s)
        return Changed(held, answer=True, ttl_s=ours.ttl_s)
    return Changed(held, answer=True, ttl_s=ours.held_s)


class KeyRecord:
    """Implements `CallRecord`: the record of one call, in its store.

    Args:
        records: The store.
        key: The key of the record.
        ours: The call.
        effects: The effects marked by an earlier call with the same key, as JSON; empty if there are none.
    """

    def __init__(self, records: Records, key: str, ours: Claimant, effects: str = "") -> None:
        self._records = records
        self._key = key
        self._ours = ours
        self._is_over = False
        self.effects: dict[str, Any] = json.loads(effects) if effects else {}

    async def report(self, said: OwnerReport, outcome: str = "", effects: dict[str, Any] | None = None) -> bool:
        """Report; return whether this call still owns the record. A renewal after the end of the call does nothing.

        Raises:
            STATE_UNAVAILABLE: The store does not answer.
        """
        if said == OwnerReport.RENEW and self._is_over:  # it would make a record again that was just freed
            return True
        marked = self.effects if effects is None else effects
        facts = (self._ours, said, json.dumps(marked) if marked else "", outcome)
        is_ours: bool = await self._records.change(report, self._key, *facts, is_free=True)
        return is_ours

    async def mark(self, name: str, **done: Any) -> None:
        """See `CallRecord`."""
        marked = {**self.effects, name: json_safe(done)}
        is_done = bool(done)
        try:
            is_ours = await shielded(self.report(OwnerReport.MARK, effects=marked))
        except ToolError:
            if not is_done:
                raise
            logger.warning("The value of the effect '{}' was not stored; after a crash its probe is asked", name)
            is_ours = True
        if not is_ours and not is_done:
            raise IdempotencyInProgress(effect="none")
        self.effects = marked

    def unmark(self, name: str) -> None:
        """See `CallRecord`."""
        self.effects = {marked: done for marked, done in self.effects.items() if marked != name}

    async def keep(self, said: OwnerReport, outcome: str = "") -> None:
        """Report the end despite cancellation; if the store is lost, retry in the background."""
        self._is_over = True
        try:
            if self._records.is_local:
                await self.report(said, outcome)
            else:
                await shielded(self.report(said, outcome))
        except ToolError as lost:
            logger.error("The outcome of a keyed call could not be stored ({}): trying again", lost.operator_hint)
            run_in_background(self.keep_trying(said, outcome))

    async def keep_trying(self, said: OwnerReport, outcome: str = "") -> None:
        """Report the end once the store is back."""
        pause_s = 0.1
        for _ in range(_TRIES):
            await asyncio.sleep(pause_s)
            pause_s = min(_PAUSE_AT_MOST_S, 2 * pause_s)
            try:
                await self.report(said, outcome)
            except ToolError:  # still lost
                continue
            return
        logger.error("The outcome of a keyed call was not stored: repetitions cannot replay it")


class Lease:
    """A heartbeat that renews the lease of a record while the call runs.

    Args:
        every_s: How often, in seconds.
        renew: Renews it once.
    """

    def __init__(self, every_s: float, renew: Callable[[], Any]) -> None:
        self._loop = asyncio.get_running_loop()
        self._every_s = every_s
        self._renew = renew
        self._timer = self._loop.call_later(every_s, self._due)

    def end(self) -> None:
        """Stop renewing."""
        self._timer.cancel()

    def _due(self) -> None:
        run_in_background(self._once())
        self._timer = self._loop.call_later(self._every_s, self._due)

    async def _once(self) -> None:
        try:
            await self._renew()
        except ToolError:  # the next renewal may succeed before the lease ends
            return


def is_readable(effects: str) -> bool:
    """Return whether the effects that an earlier call marked can be read; an empty text is none."""
    try:
        return not effects or isinstance(json.loads(effects), dict)
    except (ValueError, RecursionError):
        return False


def new_owner(pid: int | None = None) -> str:
    """Return a random token for a new call, with its process: this one, or a child of it."""
    process = _process(os.getpid()) if pid is None else _process.__wrapped__(pid)  # ids of children are used again
    return f"{os.urandom(8).hex()}@{process}"


def is_dead(owner: str) -> bool:
    """Return whether the process of an owner ran on this machine and has ended; False if that is unknown.

    Repetitions on the same machine then need not wait until the lease of a killed process expires.
    """
    place, _, process = owner.partition("@")[2].rpartition("/")
    pid, _, started = process.partition("-")
    if not place or place != _machine() or not pid.isdecimal():
        return False
    return started != "" and _started(int(pid)) not in {None, started}


@functools.lru_cache(maxsize=4)
def _process(pid: int) -> str:
    machine = _machine()
    started = machine and _started(pid)
    return f"{machine}/{pid}-{started}" if started else ""


@functools.cache
def _machine() -> str:
    """Return an id of the current boot and process namespace; empty where unknown."""
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # not Linux: only the lease counts
        return ""
    return f"{boot_id()}:{namespace}".replace("/", "").replace("@", "") if boot_id() else ""


def _started(pid: int) -> str | None:
    """Return the start time of a process, since process ids are reused; empty if it has ended, None if unknown."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:  # not only where there is none: too many files are open, or it is another user's
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return ""
        except (OSError, OverflowError):
            return None
        return None
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in {"Z", "X"} else fields[19]
