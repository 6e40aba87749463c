"""`AdaptiveConcurrency`: a concurrency limit that follows the latency of the service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed, Step
from failsoft.framework.clock import loop_time
from failsoft.framework.errors import Overloaded
from failsoft.recovery.facts import StrategyFacts
from failsoft.recovery.reporting import Gauge, shown_wait_s

_DROPPED = frozenset({"timeout", "deadline_exceeded", "overloaded"})
"""Categories that indicate overload."""
_SMOOTHING = 0.2
_ROOM = 4.0
_BACKOFF = 0.9
_ROUND = 5
"""The fewest calls that a round averages."""
_DRAINED = 3.0
"""The limit is divided by this while the baseline latency is measured."""
_ROUNDS = 25
"""Rounds after which the baseline latency is measured again."""


@dataclass(frozen=True, slots=True)
class AdaptiveConcurrencyOptions:
    """The bounds and the tolerance of the limit.

    Args:
        start: The limit of concurrent calls after the first round, which measures the baseline at a third of it.
        least: The lowest limit, at least 1.
        most: The highest limit, in this process.
        tolerance: How many times the baseline latency a call may take before that counts as queueing; above 1.
        dependency: The dependency that the calls share; by default every operation of a toolset has its own limit.
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
    """Learns how many concurrent calls a service can take, and rejects further ones with OVERLOADED.

    The limit grows while latency stays at its baseline, falls in proportion as latency rises, which is a sign of
    queueing, and falls at once on a time-out. The baseline is measured periodically at a third of the limit, after the
    queue has drained: measured under load it would include the queue. Calls are rejected before any work is done for
    them. Use it where the right `Bulkhead` limit is unknown; not for calls whose duration depends on their arguments.

    Args:
        start: See `AdaptiveConcurrencyOptions`.
        least: See `AdaptiveConcurrencyOptions`.
        most: See `AdaptiveConcurrencyOptions`.
        tolerance: See `AdaptiveConcurrencyOptions`.
        dependency: See `AdaptiveConcurrencyOptions`.

    Raises:
        ValueError: The options are invalid.

    Source: Netflix, "Performance Under Load" (concurrency-limits: the gradient, and its probing for the duration
        without load), 2018; the decrease on time-outs is AIMD.
    """

    name = "adaptive_concurrency"
    facts = StrategyFacts(
        options=AdaptiveConcurrencyOptions,
        place="admit",
        use="calls queue up behind a service, and its concurrency limit is unknown or varies.",
        not_for=(
            "calls whose duration depends on their arguments: a long one looks like a queue. Where you know the "
            "limit, a `Bulkhead` is simpler."
        ),
    )

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

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link that admits or rejects calls and measures them."""
        return [Link(self.name, _measured(self.gate(bound)), "admit")]

    def gate(self, bound: BoundOperation) -> ConcurrencyLimiter:
        """Return the limit that this operation shares with others of its dependency."""
        named = self.options.dependency
        store = bound.state if named else bound.state.private_to(bound.tool)
        dependency = named or f"{bound.tool_name}.{bound.name}"
        gauge = Gauge("concurrency_limit", dependency, bound.events)
        gate = store.companion(f"concurrency:{dependency}", lambda: ConcurrencyLimiter(self.options, gauge))
        gate.options = self.options  # a reload may have changed them
        return gate


class ConcurrencyLimiter:
    """The current limit of one dependency and its measurements.

    Args:
        options: See `AdaptiveConcurrencyOptions`.
        gauge: Of the limit.
    """

    __slots__ = (
        "_before",
        "_gauge",
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

    def __init__(self, options: AdaptiveConcurrencyOptions, gauge: Gauge | None = None) -> None:
        self.options = options
        self.in_flight = 0
        self.recent_s = self.usual_s = 0.0
        self._gauge = gauge
        self._skipped = self._number = self._rounds = self._most = 0
        self._total_s = 0.0
        self._measure(float(options.start))

    def _measure(self, limit: float) -> None:
        """Lower the limit for the next round, whose latency becomes the baseline: under a backlog it would be high."""
        self._is_measuring = True
        self._before, self.limit = limit, max(float(self.options.least), limit / _DRAINED)
        self._publish()

    def _publish(self) -> None:
        if self._gauge is not None:
            self._gauge.set(int(self.limit))

    def took(self, seconds: float) -> None:
        """Record the duration of a successful call; a round is about as many calls as may run at once."""
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
        """Record a call that failed with a sign of overload."""
        least = float(self.options.least)
        self.limit = max(least, self.limit * _BACKOFF)
        self._before = max(least, self._before * _BACKOFF)
        self._publish()

    def _end_round(self, average_s: float, most_at_once: int) -> None:
        self.recent_s = average_s
        if self._is_measuring:
            self.usual_s, self.limit = average_s, self._before
            self._is_measuring, self._rounds = False, 0
            self._publish()
            return
        self.usual_s = min(self.usual_s, average_s)
        self.limit = next_limit(self.limit, self.usual_s, average_s, most_at_once, self.options)
        self._rounds += 1
        if self._rounds >= _ROUNDS:
            self._skipped = int(self.limit)  # calls in flight started under the full limit
            self._measure(self.limit)
        self._publish()


def _measured(gate: ConcurrencyLimiter) -> Step:
    async def step(call: Call, proceed: Proceed) -> Any:
        if gate.in_flight >= int(gate.limit):
            wait_s = shown_wait_s(gate.recent_s) or None  # the time one call takes
            raise Overloaded(
                retry_after_seconds=wait_s, effect=call.effect_of(call.error), details={"limit": int(gate.limit)}
            )
        gate.in_flight += 1
        began = loop_time()
        try:
            value = await proceed(call)
            gate.took(loop_time() - began)
        except Exception as error:
            if call.typed(error).category in _DROPPED:
                gate.dropped()
            raise
        finally:
            gate.in_flight -= 1
        return value

    return step


def next_limit(
    limit: float, usual_s: float, recent_s: float, most_at_once: int, options: AdaptiveConcurrencyOptions
) -> float:
    """Return the limit after another round, given the baseline and the recent latency.

    A limit that was less than half used stays unchanged.

    >>> options = AdaptiveConcurrencyOptions()
    >>> next_limit(20.0, 0.1, 0.1, 20, options), next_limit(20.0, 0.1, 0.3, 20, options)
    (20.8, 18.8)
    """
    if most_at_once < limit / 2:
        return limit
    gradient = max(0.5, min(1.0, options.tolerance * usual_s / max(recent_s, 1e-9)))
    wanted = limit * gradient + _ROOM
    return min(float(options.most), max(float(options.least), limit + _SMOOTHING * (wanted - limit)))
