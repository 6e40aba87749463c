"""What becomes of an idempotency key, pure, and the same in Lua: one record a key, and the two steps over it.

A record holds `phase` (`running`, `done` or `lost`), `owner` (the token of the call that does the work), `arguments`
(their hash), `until` (when a running owner counts as dead), `end` (when the record is forgotten), and `outcome` (JSON).
"""

from __future__ import annotations

from typing import Final

from failsoft.framework.state_port import Changed, State, Transition

__all__ = ["CLAIM", "SETTLE", "claim", "settle"]

_LEAST_S: Final = 0.001
"""A record that is read at its very end is kept for a moment: no store takes a time to live of 0."""


def _kept(state: State, now: float, *answer: str | float) -> Changed:
    return Changed(state, list(answer), max(_LEAST_S, state["end"] - now))


def claim(
    state: State | None, now: float, owner: str, arguments: str, lease_s: float, ttl_s: float, may_repeat: int
) -> Changed:
    """Decide on a call with a key; the answer is a verdict, the outcome if there is one, and the seconds of the lease.

    The verdict is `run` (do the work), `done` (here is the outcome), `wait` (somebody does it), `lost` (somebody did,
    and never told), or `conflict` (the key belongs to other arguments).

    Args:
        state: Of the key.
        now: Seconds.
        owner: A token of this call.
        arguments: The hash of its arguments.
        lease_s: How long an owner may be silent before it counts as dead.
        ttl_s: How long the key is remembered.
        may_repeat: 1 if work that may have been done can be done again without harm.
    """
    if state is not None and state["arguments"] != arguments:
        return _kept(state, now, "conflict", "", 0.0)
    is_lost = state is not None and (
        state["phase"] == "lost" or (state["phase"] == "running" and now >= state["until"])
    )
    if state is None or (is_lost and may_repeat):
        ours: State = {"phase": "running", "owner": owner, "arguments": arguments, "outcome": ""}
        return _kept({**ours, "until": now + lease_s, "end": now + ttl_s}, now, "run", "", 0.0)
    if is_lost:
        return _kept({**state, "phase": "lost"}, now, "lost", "", 0.0)
    if state["phase"] == "done":
        return _kept(state, now, "done", state["outcome"], 0.0)
    return _kept(state, now, "wait", "", state["until"] - now)


def settle(
    state: State | None, now: float, owner: str, arguments: str, phase: str, outcome: str, lease_s: float, ttl_s: float
) -> Changed:
    """Take note of what the owner has to say; the answer is 1, or 0 if the key is somebody else's by now.

    Args:
        state: Of the key.
        now: Seconds.
        owner: As claimed.
        arguments: As claimed.
        phase: `running` renews the lease, `done` keeps the outcome, `lost` gives up, `free` forgets the key.
        outcome: JSON.
        lease_s: As claimed.
        ttl_s: As claimed; it begins anew.
    """
    if state is not None and state["owner"] != owner:
        return Changed(state, 0, max(_LEAST_S, state["end"] - now))
    if phase == "free":
        return Changed(None, 1, _LEAST_S)
    ours: State = {"phase": phase, "owner": owner, "arguments": arguments, "outcome": outcome}
    return Changed({**ours, "until": now + lease_s, "end": now + ttl_s}, 1, ttl_s)


CLAIM = Transition(
    "idempotency.claim",
    claim,
    """
    local owner, hash, lease_s, ttl_s, may_repeat = unpack(arguments)
    local function kept(verdict, outcome, left)
        return state, {verdict, outcome, left}, math.max(0.001, state['end'] - now)
    end
    if state and state.arguments ~= hash then return kept('conflict', '', 0) end
    local is_lost = state and (state.phase == 'lost' or (state.phase == 'running' and now >= state['until']))
    if not state or (is_lost and may_repeat == 1) then
        state = {phase = 'running', owner = owner, arguments = hash, outcome = ''}
        state['until'], state['end'] = now + lease_s, now + ttl_s
        return kept('run', '', 0)
    end
    if is_lost then
        state.phase = 'lost'
        return kept('lost', '', 0)
    end
    if state.phase == 'done' then return kept('done', state.outcome, 0) end
    return kept('wait', '', state['until'] - now)
    """,
)

SETTLE = Transition(
    "idempotency.settle",
    settle,
    """
    local owner, hash, phase, outcome, lease_s, ttl_s = unpack(arguments)
    if state and state.owner ~= owner then return state, 0, math.max(0.001, state['end'] - now) end
    if phase == 'free' then return nil, 1, 0.001 end
    state = {phase = phase, owner = owner, arguments = hash, outcome = outcome}
    state['until'], state['end'] = now + lease_s, now + ttl_s
    return state, 1, ttl_s
    """,
)
