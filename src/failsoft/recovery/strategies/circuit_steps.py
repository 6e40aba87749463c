"""Steps of a circuit breaker: its window, the Wilson bound, and how long it breaks.

A state holds `name` (closed, open, half_open), `since` (when it got that name), `era` (incremented with each change of
`name`; results of calls admitted in another era are ignored), `until` (open: when a probe is allowed; half-open: when
the probe counts as lost), `break_s` (the current open time, doubled with each failed probe), `probe` (the token of the
running probe), `lease_s` (the time that it has), `held` (who has forced it, or empty), `untold` (the name before a
change that no server has announced), and `window`: four numbers for each slot, its number, calls, failures and slow
calls, the oldest slot first.

Steps answer with the name before a change that is to be announced, so that of all processes only one announces it.
"""

from __future__ import annotations

import math
from typing import Any, Final

from failsoft.framework.state.backend import KEPT, Changed, State

SLOTS: Final = 10
"""Parts of the window; outcomes leave it one part at a time."""
HELD_WAIT_S: Final = 60.0
"""The wait that callers are told while an operator holds a circuit open: nobody knows how long that takes."""
_RECENT_CALLS: Final = 20
_RECENT_Z: Final = 3.3
"""The newest slots with that many calls can open the circuit as well, at that z-score. Under dense traffic the earlier
successes of the window would otherwise delay the opening by half its length, while the queue of the service grows."""
_DAY_S: Final = 86_400.0
_YEAR_S: Final = 365 * _DAY_S


def _fresh(era: int, now: float) -> State:
    state = {"name": "closed", "since": now, "era": era, "until": 0.0, "break_s": 0.0, "probe": "", "held": ""}
    return {**state, "untold": "", "window": []}


def _kept_s(state: State, window_s: float, open_s: float) -> float:
    if state["held"]:
        return _YEAR_S
    return 2.0 * window_s + 60.0 if state["name"] == "closed" else open_s + _DAY_S


def _count(state: State, at: float, now: float, seen: tuple[int, int, int], window_s: float) -> tuple[int, int, int]:
    """Add counts at a time to the window, drop expired slots, and return the sums."""
    span = window_s / SLOTS
    slot, oldest = math.floor(at / span), math.floor(now / span) - SLOTS
    kept: list[Any] = []
    for start in range(0, len(state["window"]), 4):
        if oldest < state["window"][start] <= oldest + 2 * SLOTS:  # later ones are of a shorter window, before a reload
            kept += state["window"][start : start + 4]
    if kept and kept[-4] >= slot:
        for index in range(3):
            kept[index - 3] += seen[index]
    elif slot > oldest and seen != (0, 0, 0):
        kept += [slot, *seen]
    state["window"] = kept
    return sum(kept[1::4]), sum(kept[2::4]), sum(kept[3::4])


def _lower_bound(failed: int, calls: int, z: float) -> float:
    """Return the lower bound of the failure rate: the lower end of Wilson's score interval.

    It is 1 if all calls failed, however few: `min_calls` sets the minimum.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
    """
    if failed >= calls:
        return 1.0
    rate, square = failed / calls, z * z
    spread = z * math.sqrt((rate * (1.0 - rate) + square / (4.0 * calls)) / calls)
    return (rate + square / (2.0 * calls) - spread) / (1.0 + square / calls)


def _recent(window: list[Any], least: int) -> tuple[int, int, int]:
    """Return the sums of the fewest newest slots that have that many calls; of all slots if there are fewer."""
    calls = failed = slow = 0
    for start in range(len(window) - 4, -1, -4):
        calls, failed, slow = calls + window[start + 1], failed + window[start + 2], slow + window[start + 3]
        if calls >= least:
            break
    return calls, failed, slow


def _opened(era: int, now: float, break_s: float) -> State:
    return _fresh(era + 1, now) | {"name": "open", "until": now + break_s, "break_s": break_s}


def admit(
    state: State | None,
    now: float,
    token: str,
    lease_s: float,
    calls: int,
    window_s: float,
    open_s: float,
) -> Changed:
    """Decide on one call; the answer is a verdict, the name, the era, the wait in seconds, and the name to announce.

    The verdict is `go`, `probe`, `wait`, or `held` if an operator has forced the circuit open.

    Args:
        state: The state of the circuit.
        now: The time in seconds.
        token: Identifies the call if it becomes the probe.
        lease_s: The time after which a probe counts as lost, in seconds.
        calls: Fast successes not reported yet.
        window_s: See `CircuitBreaker`.
        open_s: See `CircuitBreaker`.
    """
    before, state = state, _fresh(0, now) | (state or {})
    answer: tuple[str, float]
    was, state["untold"] = state["untold"], ""
    if state["name"] == "closed":
        if calls:
            _count(state, now, now, (calls, 0, 0), window_s)
        answer = ("go", 0.0)
    elif state["held"]:
        answer = ("held", HELD_WAIT_S)
    elif now < state["until"]:
        if state["name"] == "open" and state["until"] - now > state["break_s"] > 0:
            state["until"] = now + state["break_s"]  # opened by a replica whose clock is ahead
        elif state["name"] == "half_open":
            state["until"] = min(state["until"], now + state.get("lease_s", _YEAR_S))  # the same of a probe
        # The duration of a probe is unknown; suggest at most one second.
        wait_s = state["until"] - now
        answer = ("wait", wait_s if state["name"] == "open" else min(wait_s, 1.0))
    else:
        if state["name"] == "open":
            was = was or "open"
            state.update(era=state["era"] + 1, since=now)
        state.update(name="half_open", probe=token, until=now + lease_s, lease_s=lease_s)
        answer = ("probe", 0.0)
    told = [answer[0], state["name"], state["era"], answer[1], was]
    if answer[0] in {"wait", "held"} and state == before:  # refused calls, which may be many, write nothing
        return Changed(KEPT, told)
    return Changed(state, told, _kept_s(state, window_s, open_s))


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
    slow_ratio: float,
    z: float,
    min_calls: int,
    window_s: float,
    open_s: float,
    max_open_s: float,
) -> Changed:
    """Record outcomes; the answer is the name, era and wait, the window's sums if it opened, and the name to announce.

    Args:
        state: The state of the circuit.
        now: The time in seconds.
        token: The probe's token, or empty.
        era: The era in which the calls were admitted.
        at: When they ended; 0 is now.
        calls: The number of calls; 0 releases the probe without a result.
        failed: How many of them failed.
        slow: How many of them were slow.
        failure_ratio: See `CircuitBreaker`.
        slow_ratio: See `CircuitBreaker`.
        z: See `CircuitBreaker`.
        min_calls: See `CircuitBreaker`.
        window_s: See `CircuitBreaker`.
        open_s: See `CircuitBreaker`.
        max_open_s: See `CircuitBreaker`.
    """
    before, state = state, _fresh(era, now) | (state or {})
    was, sums = state["name"], (0, 0, 0)
    if state["held"] or state["era"] != era:
        pass  # forced by an operator, or the calls were admitted before the last change
    elif state["name"] == "closed":
        whole = _count(state, at or now, now, (calls, failed, slow), window_s)
        sums = whole
        if failed + slow > 0 and whole[0] >= min_calls:
            recent = _recent(state["window"], max(min_calls, _RECENT_CALLS))
            for seen, score in ((whole, z), (recent, max(z, _RECENT_Z))):
                is_failing = _lower_bound(seen[1], seen[0], score) >= failure_ratio
                if is_failing or _lower_bound(seen[2], seen[0], score) >= slow_ratio:
                    sums, state = seen, _opened(era, now, open_s)
                    break
    elif state["name"] == "half_open" and token and state["probe"] == token:
        if calls == 0:
            state.update(probe="", until=now)
        elif failed + slow > 0:
            sums = (calls, failed, slow)
            state = _opened(era, now, min(max(open_s, max_open_s), max(open_s, 2.0 * state["break_s"])))
        else:
            state = _fresh(era + 1, now)
    wait_s = max(0.0, state["until"] - now) if state["name"] == "open" else 0.0
    was = was if was != state["name"] else ""
    told = [state["name"], state["era"], wait_s, *sums, was]
    if state == before:  # late reports, which may be many once it has opened, write nothing
        return Changed(KEPT, told)
    return Changed(state, told, _kept_s(state, window_s, open_s))


def force(
    state: State | None,
    now: float,
    name: str,
    held: str,
    is_told: int,
    window_s: float,
    open_s: float,
) -> Changed:
    """Set a state with an empty window; the answer is the name, the era, and the name to announce.

    Args:
        state: The state of the circuit.
        now: The time in seconds.
        name: The new name.
        held: Who holds the circuit there; empty for nobody.
        is_told: 1 if the caller announces the change; 0 if the first server to find it does.
        window_s: See `CircuitBreaker`.
        open_s: See `CircuitBreaker`.
    """
    state = _fresh(0, now) | (state or {})
    was = state["untold"] or state["name"]
    was = was if was != name else ""
    forced = _fresh(state["era"] + 1, now) | {"name": name, "held": held, "untold": "" if is_told else was}
    return Changed(forced, [name, forced["era"], was], _kept_s(forced, window_s, open_s))


def peek(state: State | None, now: float, window_s: float) -> Changed:
    """Answer with name, era, wait in seconds, calls, failed and slow ones, seconds in this state, and who holds it."""
    state = _fresh(0, now) | (state or {})
    sums = _count(state, now, now, (0, 0, 0), window_s)
    wait_s = max(0.0, state["until"] - now) if state["name"] == "open" else 0.0
    return Changed(KEPT, [state["name"], state["era"], wait_s, *sums, max(0.0, now - state["since"]), state["held"]])
