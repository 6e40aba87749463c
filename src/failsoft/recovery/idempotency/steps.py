"""Steps of a keyed call: how it is claimed, and what its owner reports.

A record holds `phase`, `owner` (the token of the call that does the work), `arguments` (a hash of each), `until` (the
end of the lease), `end` (when the record expires), `effects` (JSON: what `call.effect` has marked) and `outcome`
(JSON). The phases:

- `accepted`: claimed, and the handler has not begun any effect that it marks;
- `running`: claimed for a handler that does not mark its effects, so anything may have happened;
- `effect`: `call.effect` has marked one;
- `done`, `failed`, `unknown`: settled, until the record expires. From `unknown` a later call takes over if a repetition
  is harmless.
"""

from __future__ import annotations

from typing import Final

from failsoft.framework.state.backend import Changed, State

SETTLED: Final = ("done", "failed", "unknown")
_LEAST_S: Final = 0.001
"""The shortest time to live, since no store accepts 0."""


def _kept(state: State, now: float, *answer: str | float) -> Changed:
    return Changed(state, list(answer), max(_LEAST_S, state["end"] - now))


def claim(  # noqa: PLR0913, PLR0917 - the arguments of a script are a list
    state: State | None,
    now: float,
    owner: str,
    arguments: str,
    phase: str,
    may_repeat: int,
    dead: str,
    lease_s: float,
    ttl_s: float,
) -> Changed:
    """Decide on a call with a key; the answer is a verdict, a text, the seconds of the lease, and the owner.

    The verdict is `run` (do the work; the text has the marked effects), `settled` (the text is the outcome), `wait`
    (another call does it), `unknown` (another call began it, and its outcome is lost), or `conflict` (the key belongs
    to other arguments; the text is their hashes).

    Args:
        state: The state of the key.
        now: The time in seconds.
        owner: The token of this call.
        arguments: The hashes of its arguments.
        phase: The phase in which this call begins: `accepted` or `running`.
        may_repeat: 1 if repeating the work is harmless.
        dead: An owner whose process is known to have died; empty if none is.
        lease_s: The length of the lease.
        ttl_s: The time to live of the record.
    """
    if state is not None and state["arguments"] != arguments:
        return _kept(state, now, "conflict", state["arguments"], 0.0, "")
    if state is not None and state["phase"] in {"done", "failed"}:
        return _kept(state, now, "settled", state["outcome"], 0.0, "")
    if state is not None and state["owner"] == owner and state["phase"] in {"accepted", "running", "effect"}:
        return _kept(state, now, "run", state["effects"], 0.0, owner)  # the answer to its first claim was lost
    if state is not None and state["phase"] != "unknown" and now < state["until"] and state["owner"] != dead:
        return _kept(state, now, "wait", "", state["until"] - now, state["owner"])
    if state is not None and state["phase"] in {"running", "unknown"} and not may_repeat:
        return _kept(state, now, "unknown", "", 0.0, "")
    effects = "" if state is None else state["effects"]
    begun = "effect" if effects else phase
    ours: State = {"phase": begun, "owner": owner, "arguments": arguments, "effects": effects, "outcome": ""}
    return _kept({**ours, "until": now + lease_s, "end": now + ttl_s}, now, "run", effects, 0.0, owner)


def settle(
    state: State | None,
    now: float,
    owner: str,
    arguments: str,
    phase: str,
    text: str,
    lease_s: float,
    ttl_s: float,
) -> Changed:
    """Record a report of the owner; the answer is 1, or 0 if the key has another owner or is settled.

    Args:
        state: The state of the key.
        now: The time in seconds.
        owner: As in the claim.
        arguments: As in the claim.
        phase: `accepted` and `running` only renew the lease, `released` ends it, `effect` stores the marked effects,
            `done`, `failed` and `unknown` store the outcome, `free` deletes the record.
        text: The outcome, or all marked effects, as JSON.
        lease_s: As in the claim.
        ttl_s: As in the claim; it starts again.
    """
    if state is not None and (state["owner"] != owner or state["phase"] in SETTLED):
        return Changed(state, 0, max(_LEAST_S, state["end"] - now))
    if phase == "free":
        return Changed(None, 1, _LEAST_S)
    begun = {"phase": phase, "owner": owner, "arguments": arguments, "effects": "", "outcome": ""}
    ours: State = begun if state is None else dict(state)
    if phase == "effect":
        ours.update(phase=phase, effects=text)
    elif phase in SETTLED:
        ours.update(phase=phase, outcome=text)
    until = now if phase == "released" else now + lease_s
    return Changed({**ours, "until": until, "end": now + ttl_s}, 1, ttl_s)
