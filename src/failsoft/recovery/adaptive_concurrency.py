"""`AdaptiveConcurrency`: sheds load as soon as more calls at once only make all of them slower."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from failsoft.framework.chain import Link, Proceed, Step
from failsoft.framework.clock import loop_time
from failsoft.framework.context import CallContext
from failsoft.framework.errors import Overloaded
from failsoft.framework.normalize import normalize
from failsoft.framework.ports import CalledOperation
from failsoft.recovery.rejection import effect_so_far, shown_wait_s

__all__ = ["AdaptiveConcurrency", "AdaptiveConcurrencyOptions", "Gate", "next_limit"]

_DROPPED = frozenset({"timeout", "deadline_exceeded", "overloaded"})
"""Categories that say that there was too much to do."""
_SMOOTHING = 0.2
_ROOM = 4.0
_BACKOFF = 0.9
_ROUND = 5
"""Calls at least that a round takes its average of."""
_DRAINED = 3.0
"""What the limit is divided by while the usual duration is measured."""
_ROUNDS = 25
"""Rounds after which the usual duration is measured anew."""


@dataclass(frozen=True, slots=True)
class AdaptiveConcurrencyOptions:
    """Between which limits, and how patiently.

    Args:
        start: Calls at once to begin with.
        least: Calls at once that are always let in, at least 1.
        most: Calls at once at most, in this process.
        tolerance: How many times the usual duration a call may take before that counts as a queue; above 1.
        dependency: What the calls have in common; by default every operation of a toolset has its own limit.
    """

    start: int = 20
    least: int = 2
    most: int = 200
    tolerance: float = 1.5
    dependency: str | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.start <= self.most or not self.tolerance > 1:
            msg = f"AdaptiveConcurrency needs 1 <= least <= start <= most and tolerance > 1, not {self}"
            raise ValueError(msg)


class AdaptiveConcurrency:
    """Finds out how many calls at once are good for the service, and ends further ones with OVERLOADED.

    While calls take as long as usual the limit grows; as soon as they take longer they stand in a queue somewhere, and
    the limit falls in proportion; a time-out lets it fall at once. What is usual is measured every so many calls
    with a third of the limit, when the queue has drained: measured under load, the queue itself would become the usual.
    Calls are turned away before any work is done for them. Use it where nobody knows the right `Bulkhead`; not for
    calls whose duration depends on their arguments.

    Args:
        start: See `AdaptiveConcurrencyOptions`.
        least: See `AdaptiveConcurrencyOptions`.
        most: See `AdaptiveConcurrencyOptions`.
        tolerance: See `AdaptiveConcurrencyOptions`.
        dependency: See `AdaptiveConcurrencyOptions`.

    Raises:
        ValueError: The options make no limit.

    Source: Netflix, "Performance Under Load" (concurrency-limits: the gradient, and its probing for the duration
        without load), 2018; the fall on time-outs is AIMD.
    """

    name = "adaptive_concurrency"

    def __init__(
        self,
        start: int = 20,
        least: int = 2,
        most: int = 200,
        tolerance: float = 1.5,
        *,
        dependency: str | None = None,
    ) -> None:
        self.options = AdaptiveConcurrencyOptions(start, least, most, tolerance, dependency)

    def links(self, bound: CalledOperation) -> Sequence[Link]:
        """Return the link that lets calls in, or not, and measures them."""
        return [Link(self.name, _measured(self.gate(bound)), "admit")]

    def gate(self, bound: CalledOperation) -> Gate:
        """Return the limit that this operation shares with others of its dependency."""
        named = self.options.dependency
        store = bound.state if named else bound.state.private_to(bound.tool)
        key = f"concurrency:{named or f'{bound.tool_name}.{bound.name}'}"
        gate = store.companion(key, lambda: Gate(self.options))
        gate.options = self.options  # those that were given last hold: a reload changes them
        return gate


class Gate:
    """The present limit of one dependency, and what it was learnt from.

    Args:
        options: See `AdaptiveConcurrencyOptions`.
    """

    __slots__ = (
        "_before",
        "_is_measuring",
        "_most",
        "_number",
        "_rounds",
        "_skipped",
        "_total_s",
        "in_flight",
        "limit",
        "options",
        "recent_s",
        "usual_s",
    )

    def __init__(self, options: AdaptiveConcurrencyOptions) -> None:
        self.options = options
        self.limit = float(options.start)
        self.in_flight = 0
        self.recent_s = self.usual_s = 0.0
        self._before = self.limit
        self._is_measuring = True
        self._skipped = self._number = self._rounds = self._most = 0
        self._total_s = 0.0

    def took(self, seconds: float) -> None:
        """Learn from a call that succeeded: a round is about as many calls as may run at once."""
        if self._skipped > 0:
            self._skipped -= 1
            return
        self._number += 1
        self._total_s += seconds
        self._most = max(self._most, self.in_flight)
        if self._number >= max(_ROUND, int(self.limit)):
            self._end_round(self._total_s / self._number, self._most)
            self._number, self._most, self._total_s = 0, 0, 0.0

    def dropped(self) -> None:
        """Learn from a call that did not get through."""
        least = float(self.options.least)
        self.limit = max(least, self.limit * _BACKOFF)
        self._before = max(least, self._before * _BACKOFF)

    def _end_round(self, average_s: float, most_at_once: int) -> None:
        self.recent_s = average_s
        if self._is_measuring:
            self.usual_s, self.limit = average_s, self._before
            self._is_measuring, self._rounds = False, 0
            return
        self.limit = next_limit(self.limit, self.usual_s, average_s, most_at_once, self.options)
        self._rounds += 1
        if self._rounds >= _ROUNDS:
            self._is_measuring = True
            self._skipped = int(self.limit)  # those that are under way began with the whole limit
            self._before, self.limit = self.limit, max(float(self.options.least), self.limit / _DRAINED)


def _measured(gate: Gate) -> Step:
    async def step(call: CallContext, proceed: Proceed) -> Any:
        if gate.in_flight >= int(gate.limit):
            wait_s = shown_wait_s(gate.recent_s) or None  # by then some call will be through
            raise Overloaded(retry_after_seconds=wait_s, effect=effect_so_far(call), details={"limit": int(gate.limit)})
        gate.in_flight += 1
        began = loop_time()
        try:
            value = await proceed(call)
            gate.took(loop_time() - began)
        except Exception as error:
            if normalize(error).category in _DROPPED:
                gate.dropped()
            raise
        finally:
            gate.in_flight -= 1
        return value

    return step


def next_limit(
    limit: float, usual_s: float, recent_s: float, most_at_once: int, options: AdaptiveConcurrencyOptions
) -> float:
    """Return the limit after one more round, given how long calls take usually and of late.

    One that was nowhere near used up says nothing about itself, and stays.

    >>> options = AdaptiveConcurrencyOptions()
    >>> next_limit(20.0, 0.1, 0.1, 20, options), next_limit(20.0, 0.1, 0.3, 20, options)
    (20.8, 18.8)
    """
    if most_at_once < limit / 2:
        return limit
    gradient = max(0.5, min(1.0, options.tolerance * usual_s / max(recent_s, 1e-9)))
    wanted = limit * gradient + _ROOM
    return min(float(options.most), max(float(options.least), limit + _SMOOTHING * (wanted - limit)))
