"""The maths of a circuit breaker, pure, and the same maths in Lua: the state of one circuit, and every step over it.

A state holds `name` (closed, open, half_open), `era` (how often the name has changed: what was let through in another
era says nothing about this one), `until` (an open circuit: when a probe may go; a half-open one: when its probe counts
as lost), `probe` (whose probe is under way), `held` (1: a person decided on the name), and `window`: four numbers for
each slot of the window, its number, calls, failures and slow calls, the oldest slot first.
"""

from __future__ import annotations

import math
from typing import Any, Final

from failsoft.framework.state_port import Changed, State, Transition

__all__ = ["ADMIT", "FORCE", "PEEK", "REPORT", "SLOTS", "admit", "force", "peek", "report"]

SLOTS: Final = 10
"""Parts of the window; outcomes leave it one part at a time."""
_DAY_S: Final = 86_400.0
_YEAR_S: Final = 365 * _DAY_S


def _fresh(era: int) -> State:
    return {"name": "closed", "era": era, "until": 0.0, "probe": "", "held": 0, "window": []}


def _kept_s(state: State, window_s: float, open_s: float) -> float:
    if state["held"]:
        return _YEAR_S
    return 2.0 * window_s + 60.0 if state["name"] == "closed" else open_s + _DAY_S


def _count(state: State, at: float, now: float, seen: tuple[int, int, int], window_s: float) -> tuple[int, int, int]:
    """Add what was seen at a time to the window, drop what has left it, and return its sums."""
    span = window_s / SLOTS
    slot, oldest = math.floor(at / span), math.floor(now / span) - SLOTS
    kept: list[Any] = []
    for start in range(0, len(state["window"]), 4):
        if state["window"][start] > oldest:
            kept += state["window"][start : start + 4]
    if kept and kept[-4] >= slot:
        for place in range(3):
            kept[place - 3] += seen[place]
    elif slot > oldest and seen != (0, 0, 0):
        kept += [slot, *seen]
    state["window"] = kept
    return sum(kept[1::4]), sum(kept[2::4]), sum(kept[3::4])


def admit(
    state: State | None,
    now: float,
    token: str,
    lease_s: float,
    calls: int,
    window_s: float,
    open_s: float,
) -> Changed:
    """Decide on one call; the answer is a verdict (`go`, `probe`, `wait`), the name, the era, and the wait in seconds.

    Args:
        state: Of the circuit.
        now: Seconds.
        token: What the caller is known by if its call becomes the probe.
        lease_s: How long a probe may take before it counts as lost with its process.
        calls: Quick successes that were not reported yet.
        window_s: See `CircuitOptions`.
        open_s: See `CircuitOptions`.
    """
    state = _fresh(0) if state is None else dict(state)
    answer: tuple[str, float]
    if state["name"] == "closed":
        if calls:
            _count(state, now, now, (calls, 0, 0), window_s)
        answer = ("go", 0.0)
    elif state["held"]:
        answer = ("wait", open_s)
    elif now < state["until"]:
        # How long a probe takes nobody knows; a second is soon enough to ask again.
        wait_s = state["until"] - now
        answer = ("wait", wait_s if state["name"] == "open" else min(wait_s, 1.0))
    else:
        if state["name"] == "open":
            state["era"] += 1
        state.update(name="half_open", probe=token, until=now + lease_s)
        answer = ("probe", 0.0)
    return Changed(state, [answer[0], state["name"], state["era"], answer[1]], _kept_s(state, window_s, open_s))


def report(  # noqa: PLR0913, PLR0917 - as above
    state: State | None,
    now: float,
    token: str,
    era: int,
    at: float,
    calls: int,
    failed: int,
    slow: int,
    failure_ratio: float,
    min_calls: int,
    window_s: float,
    open_s: float,
) -> Changed:
    """Take note of how calls ended; the answer is the name, the era, the wait, and the window's sums if it opened.

    Args:
        state: Of the circuit.
        now: Seconds.
        token: The probe's, or nothing.
        era: In which the calls were let through.
        at: When they ended; 0 is now.
        calls: How many; none at all gives a probe's place back without a verdict.
        failed: How many of them failed.
        slow: How many of them were slow.
        failure_ratio: See `CircuitOptions`.
        min_calls: See `CircuitOptions`.
        window_s: See `CircuitOptions`.
        open_s: See `CircuitOptions`.
    """
    state = _fresh(era) if state is None else dict(state)
    sums = (0, 0, 0)
    if state["held"] or state["era"] != era:
        pass  # a person decided, or the calls were let through before the last change
    elif state["name"] == "closed":
        sums = _count(state, at or now, now, (calls, failed, slow), window_s)
        is_enough = sums[0] >= min_calls and max(sums[1], sums[2]) >= failure_ratio * sums[0]
        if failed + slow > 0 and is_enough:
            state = _fresh(era + 1) | {"name": "open", "until": now + open_s}
    elif state["name"] == "half_open" and token and state["probe"] == token:
        if calls == 0:
            state.update(probe="", until=now)
        elif failed + slow > 0:
            sums = (calls, failed, slow)
            state = _fresh(era + 1) | {"name": "open", "until": now + open_s}
        else:
            state = _fresh(era + 1)
    wait_s = max(0.0, state["until"] - now) if state["name"] == "open" else 0.0
    return Changed(state, [state["name"], state["era"], wait_s, *sums], _kept_s(state, window_s, open_s))


def force(state: State | None, now: float, name: str, held: int, window_s: float, open_s: float) -> Changed:  # noqa: ARG001 - as above
    """Give a circuit this name and an empty window, to be held (1) or not; the answer is the name and the era."""
    era = 0 if state is None else state["era"]
    forced = _fresh(era + 1) | {"name": name, "held": held}
    return Changed(forced, [name, era + 1], _kept_s(forced, window_s, open_s))


def peek(state: State | None, now: float, window_s: float, open_s: float) -> Changed:
    """Answer with the name, the era, the wait in seconds, and the window's calls, failures and slow calls."""
    state = _fresh(0) if state is None else dict(state)
    sums = _count(state, now, now, (0, 0, 0), window_s)
    wait_s = max(0.0, state["until"] - now) if state["name"] == "open" else 0.0
    return Changed(state, [state["name"], state["era"], wait_s, *sums], _kept_s(state, window_s, open_s))


_SHARED = """
    local SLOTS, DAY_S = 10, 86400
    local function fresh(era)
        return {name = 'closed', era = era, ['until'] = 0, probe = '', held = 0, window = {}}
    end
    local function kept_s(window_s, open_s)
        if state.held == 1 then return 365 * DAY_S end
        if state.name == 'closed' then return 2 * window_s + 60 end
        return open_s + DAY_S
    end
    local function count(at, calls, failed, slow, window_s)
        local span = window_s / SLOTS
        local slot, oldest = math.floor(at / span), math.floor(now / span) - SLOTS
        local kept = {}
        for start = 1, #state.window, 4 do
            if state.window[start] > oldest then
                for place = start, start + 3 do kept[#kept + 1] = state.window[place] end
            end
        end
        local last = #kept - 3
        if #kept > 0 and kept[last] >= slot then
            kept[last + 1] = kept[last + 1] + calls
            kept[last + 2] = kept[last + 2] + failed
            kept[last + 3] = kept[last + 3] + slow
        elseif slot > oldest and calls + failed + slow > 0 then
            for _, number in ipairs({slot, calls, failed, slow}) do kept[#kept + 1] = number end
        end
        state.window = kept
        local sums = {0, 0, 0}
        for start = 1, #kept, 4 do
            for place = 1, 3 do sums[place] = sums[place] + kept[start + place] end
        end
        return sums
    end
    local function wait_s()
        return state.name == 'open' and math.max(0, state['until'] - now) or 0
    end
"""
_OR_FRESH = "state = state or fresh(0)"

ADMIT = Transition(
    "circuit.admit",
    admit,
    _SHARED
    + _OR_FRESH
    + """
    local token, lease_s, calls, window_s, open_s = unpack(arguments)
    local verdict, wait = 'go', 0
    if state.name == 'closed' then
        if calls > 0 then count(now, calls, 0, 0, window_s) end
    elseif state.held == 1 then
        verdict, wait = 'wait', open_s
    elseif now < state['until'] then
        verdict, wait = 'wait', state['until'] - now
        if state.name ~= 'open' then wait = math.min(wait, 1) end
    else
        if state.name == 'open' then state.era = state.era + 1 end
        state.name, state.probe, state['until'] = 'half_open', token, now + lease_s
        verdict = 'probe'
    end
    return state, {verdict, state.name, state.era, wait}, kept_s(window_s, open_s)
    """,
)

REPORT = Transition(
    "circuit.report",
    report,
    _SHARED
    + """
    local token, era, at, calls, failed, slow, failure_ratio, min_calls, window_s, open_s = unpack(arguments)
    state = state or fresh(era)
    local sums = {0, 0, 0}
    local function opened()
        state = fresh(era + 1)
        state.name, state['until'] = 'open', now + open_s
    end
    if state.held == 1 or state.era ~= era then
        sums = {0, 0, 0}
    elseif state.name == 'closed' then
        sums = count(at ~= 0 and at or now, calls, failed, slow, window_s)
        local enough = sums[1] >= min_calls and math.max(sums[2], sums[3]) >= failure_ratio * sums[1]
        if failed + slow > 0 and enough then opened() end
    elseif state.name == 'half_open' and token ~= '' and state.probe == token then
        if calls == 0 then
            state.probe, state['until'] = '', now
        elseif failed + slow > 0 then
            sums = {calls, failed, slow}
            opened()
        else
            state = fresh(era + 1)
        end
    end
    return state, {state.name, state.era, wait_s(), unpack(sums)}, kept_s(window_s, open_s)
    """,
)

FORCE = Transition(
    "circuit.force",
    force,
    _SHARED
    + _OR_FRESH
    + """
    local name, held, window_s, open_s = unpack(arguments)
    local era = state.era + 1
    state = fresh(era)
    state.name, state.held = name, held
    return state, {name, era}, kept_s(window_s, open_s)
    """,
)

PEEK = Transition(
    "circuit.peek",
    peek,
    _SHARED
    + _OR_FRESH
    + """
    local window_s, open_s = unpack(arguments)
    local sums = count(now, 0, 0, 0, window_s)
    return state, {state.name, state.era, wait_s(), unpack(sums)}, kept_s(window_s, open_s)
    """,
)
