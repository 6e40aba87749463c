"""The record of a job, and the steps that change it: opened, taken by a runner, told of, asked to end, ended.

Every step is pure and runs atomically in the state store (`Records.change`). A job is `working` until one of its
runners ends it; it ends once, and nothing changes it afterwards. Which runner may do the work is decided by the lease
here; whether work that was begun may be done again is decided by the ledger (`failsoft.recovery.idempotency.ledger`),
never by an engine.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final, Self

from failsoft.framework.state.backend import KEPT, Changed, State

LEASE_S: Final = 10.0
"""How long a runner may be silent before its job is given to another, in seconds."""
OPEN_S: Final = 7 * 86_400.0
"""How long the record of a job that has not ended is kept after its last news, in seconds."""
JOB_PREFIX, RESULT_PREFIX, SAME_PREFIX = "job:", "jobresult:", "jobsame:"
"""The kinds of records: of a job, of its answer, and of the id of the job that was begun last with a key, or with the
same arguments."""
_TAG_DIGITS = 8


class JobState(StrEnum):
    """What is known of a job; the names are those of the protocol's tasks."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED: Final = frozenset({JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job, as its record has it. Texts and numbers only, so that a store can hold it as it is.

    Args:
        id: Unguessable; its first 8 digits are a hash of the principal, by which the jobs of one caller are found.
        operation: The MCP name of the tool that was called.
        arguments: The validated arguments, as JSON.
        principal: The caller; empty if not authenticated (`is_anonymous`).
        is_anonymous: Whether the caller was not authenticated.
        key: The idempotency key of the call; empty without one.
        consent: What a person has consented to, see `consent_to`; empty without a question.
        request_id: The id of the request that began it.
        traceparent: The W3C trace context of that request.
        created_at: When it was begun, in UTC as ISO 8601.
        changed_at: When its state, status or progress last changed.
        state: See `JobState`.
        status: The latest message of `call.report_progress`, or why it ended.
        done: The latest progress; below 0 without any.
        total: What the progress leads to; below 0 if unknown.
        is_cancelled: Whether somebody asked for its end.
        owner: The token of the runner that does the work, see `new_owner`; empty while it waits for one.
        until: When the lease of the owner ends, on the clock of the store, in seconds.
        runs: How many runners have taken it.
        deaths: How many of them have not given it back, and were replaced.
    """

    id: str
    operation: str
    arguments: str
    principal: str = ""
    is_anonymous: bool = False
    key: str = ""
    consent: str = ""
    request_id: str = ""
    traceparent: str = ""
    created_at: str = ""
    changed_at: str = ""
    state: str = JobState.WORKING
    status: str = ""
    done: float = -1.0
    total: float = -1.0
    is_cancelled: bool = False
    owner: str = ""
    until: float = 0.0
    runs: int = 0
    deaths: int = 0

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the job of a record; keys of later versions are ignored."""
        return cls(**{name: state[name] for name in _NAMES if name in state})

    def to_state(self) -> State:
        """Return what is stored."""
        return {name: getattr(self, name) for name in _NAMES}

    @property
    def has_ended(self) -> bool:
        """Whether its state is final."""
        return self.state in ENDED

    @property
    def progress(self) -> tuple[float, float | None, str | None]:
        """The arguments of `call.report_progress` that say the same."""
        return self.done, self.total if self.total >= 0 else None, self.status or None

    @property
    def caller(self) -> str | None:
        """The principal, as calls have it."""
        return None if self.is_anonymous else self.principal

    @property
    def params(self) -> dict[str, Any]:
        """The arguments."""
        read: dict[str, Any] = json.loads(self.arguments)
        return read


_NAMES = tuple(item.name for item in fields(Job))


def new_job_id(principal: str | None) -> str:
    """Return an id with 128 random bits behind the hash of the principal."""
    return f"{tag_of(principal)}{os.urandom(16).hex()}"


def tag_of(principal: str | None) -> str:
    """Return the hash of a principal that its job ids begin with."""
    named = "" if principal is None else f"p{principal}"
    return hashlib.sha256(named.encode(errors="replace")).hexdigest()[:_TAG_DIGITS]


def opened(state: State | None, _now: float, job: State) -> Changed:
    """Store a new job, unless there is one with its id; the answer is the job that is there. A step."""
    if state is not None:
        return Changed(KEPT, state)
    return Changed(job, job, OPEN_S)


def taken(state: State | None, now: float, owner: str, dead: str, at: str) -> Changed:
    """Let a runner have a job; the answer is the job, or None if it has ended or another runner has it. A step.

    Args:
        state: The record.
        now: The time in seconds.
        owner: The token of the runner.
        dead: The token of a runner whose process is known to have died; empty if none is.
        at: The time for people.
    """
    if state is None or state["state"] in ENDED:
        return Changed(KEPT, None)
    held = state["owner"]
    if held and held not in (owner, dead) and now < state["until"]:
        return Changed(KEPT, None)
    counts = {"runs": state["runs"] + 1, "deaths": state["deaths"] + (held not in ("", owner))}
    kept = {**state, **counts, "owner": owner, "until": now + LEASE_S, "changed_at": at}
    return Changed(kept, kept, OPEN_S)


def told(state: State | None, now: float, owner: str, facts: State) -> Changed:
    """Renew the lease of a runner with what it reports; the answer is the job, or None if it is no longer its own.

    The answer says whether somebody asked for the end of the job (`is_cancelled`). A step.

    Args:
        state: The record.
        now: The time in seconds.
        owner: The token of the runner.
        facts: Of `status`, `done`, `total` and `changed_at` what is new; empty if nothing is.
    """
    if state is None or state["owner"] != owner or state["state"] in ENDED:
        return Changed(KEPT, None)
    kept = {**state, **facts, "until": now + LEASE_S}
    return Changed(kept, kept, OPEN_S)


def released(state: State | None, now: float, owner: str) -> Changed:
    """Give a job back, so that the next runner takes it at once; the answer is whether it was its own. A step."""
    if state is None or state["owner"] != owner or state["state"] in ENDED:
        return Changed(KEPT, answer=False)
    return Changed({**state, "owner": "", "until": now}, answer=True, ttl_s=OPEN_S)


def cancelled(state: State | None, _now: float, at: str, keep_s: float) -> Changed:
    """Ask for the end of a job; the answer is the job, or None. A step.

    One that no runner has taken yet ends here; a runner learns of it with its next report (`told`).

    Args:
        state: The record.
        _now: The time in seconds.
        at: The time for people.
        keep_s: How long an ended job is kept, in seconds.
    """
    if state is None or state["state"] in ENDED or state["is_cancelled"]:
        return Changed(KEPT, state)
    kept = {**state, "is_cancelled": True, "changed_at": at}
    if state["runs"] == 0:
        kept = {**kept, "state": str(JobState.CANCELLED), "status": "cancelled before it began; nothing was changed"}
        return Changed(kept, kept, keep_s)
    return Changed(kept, kept, OPEN_S)


def ended(state: State | None, _now: float, owner: str, facts: State, keep_s: float) -> Changed:
    """End a job; the answer is the job, or None if it has ended before or has another owner. A step.

    Args:
        state: The record.
        _now: The time in seconds.
        owner: The token of the runner.
        facts: `state`, `status` and `changed_at`.
        keep_s: How long an ended job is kept, in seconds.
    """
    if state is None or state["owner"] != owner or state["state"] in ENDED:
        return Changed(KEPT, None)
    kept = {**state, **facts, "owner": "", "until": 0.0}
    return Changed(kept, kept, keep_s)


def answered(_state: State | None, _now: float, answer: State, keep_s: float) -> Changed:
    """Store an answer. A step, for those that count against no quota."""
    return Changed(answer, answer=True, ttl_s=keep_s)


def same(
    state: State | None,
    _now: float,
    job_id: str,
    hashes: str,
    keep_s: float,
    is_replaced: bool,  # noqa: FBT001 - the arguments of a step have positions
) -> Changed:
    """Note the job of a key, or of equal calls; the answer is what was noted before, or None. A step.

    Args:
        state: What was noted.
        _now: The time in seconds.
        job_id: The id of the job that is begun.
        hashes: The hashes of its arguments; empty where the key of the record has them.
        keep_s: How long this is kept, in seconds.
        is_replaced: Whether the new job takes the place of an earlier one.
    """
    if state is not None and not is_replaced:
        return Changed(KEPT, state)
    return Changed({"id": job_id, "arguments": hashes}, state, OPEN_S + keep_s)
