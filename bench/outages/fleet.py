"""Replicas of a server before a service that fails, slows down or flaps; on a simulated clock, from a seed.

10,000 callers spread their calls over 1,000 replicas, each of which runs the real policies: with state of its own, or
with a store that all share, one round trip away, which they change by compare-and-swap as in Redis. Between two calls
a caller pauses for 20 s on average. `--plots FOLDER` draws the courses as SVG (with `pip install -r
bench/requirements.txt`); `--quick` takes 200 callers, 20 replicas and a smaller service.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import JOBS, Figure, benchmark, figure, spread

from failsoft import Retry
from failsoft.framework.events import Events
from failsoft.framework.state.backend import Held, Write
from failsoft.framework.state.memory import MemoryBackend
from failsoft.framework.state.store import LocalState, StateStore
from failsoft.recovery import Bulkhead, CircuitBreaker, RetryBudget
from failsoft.recovery.state.store import SharedStore
from failsoft.recovery.state.watched import WatchedBackend
from failsoft.testing import InstantClock
from outages.clients import replicas
from outages.scenarios import Course
from outages.service import Service

__all__ = ["FROM_S", "SCENARIOS", "UNTIL_S", "View", "view"]

FROM_S, UNTIL_S, END_S = 20.0, 45.0, 90.0
"""When the trouble begins and ends, and the simulation, in seconds."""
PAUSE_S = 20.0
"""The mean pause of a caller between two calls, in seconds."""
TIME_OUT_S = 1.0
STORE_TRIP_S = 0.0005
LOAD = 0.75
"""The share of what the service can do that the callers ask of it in good times."""
SCENARIOS: Mapping[str, Mapping[str, Any]] = {
    "fails": {"down": ((FROM_S, UNTIL_S),)},
    "slows": {"slow_from_s": FROM_S, "slow_until_s": UNTIL_S},
    "flaps": {"down": tuple((at, at + 5.0) for at in (20.0, 30.0, 40.0))},
}
"""What happens to the service: down; ten times slower; down and up for 5 s in turn."""
BREAKER = "breaker, own state"
SHARED = "breaker, shared store"
POLICIES: Mapping[str, tuple[list[Any] | None, bool]] = {
    "time-out only": ([], False),
    "retry, own budgets": (None, False),
    "retry, shared budget": (None, True),
    BREAKER: ([Retry(), RetryBudget(), CircuitBreaker(), Bulkhead(limit=4)], False),
    SHARED: ([Retry(), RetryBudget(), CircuitBreaker(), Bulkhead(limit=4)], True),
}
"""The strategies, and whether the replicas share a store. None: the default policy."""


@dataclass(frozen=True, slots=True)
class View:
    """How a scenario went for all replicas together, second by second.

    Args:
        course: The share of successes, and the requests that reached the service.
        calls: The calls that began.
        refused: How many of them a breaker refused.
        trips: Round trips to the store of the fleet, all in all.
    """

    course: Course
    calls: Sequence[int]
    refused: Sequence[int]
    trips: int

    @property
    def requests_a_call(self) -> float:
        """Requests at the service for each call that began during the trouble."""
        trouble = slice(int(FROM_S), int(UNTIL_S))
        return sum(self.course.load[trouble]) / sum(self.calls[trouble])

    @property
    def agreement(self) -> float:
        """The share of calls for which the breakers decided as for most calls of the same second, in the trouble."""
        trouble = range(int(FROM_S), int(UNTIL_S))
        alike = sum(max(self.refused[one], self.calls[one] - self.refused[one]) for one in trouble)
        return alike / sum(self.calls[one] for one in trouble)

    @property
    def opened_after_s(self) -> float:
        """Seconds from the beginning of the trouble to the first in which the breakers refuse most calls."""
        for second in range(int(FROM_S), int(UNTIL_S)):
            if 2 * self.refused[second] > self.calls[second]:
                return float(second - FROM_S)
        return UNTIL_S - FROM_S


@dataclass(frozen=True, slots=True)
class Size:
    """How many take part."""

    callers: int = 10_000
    replicas: int = 1_000


@dataclass
class Distant:
    """A store in memory, a round trip away. See `Backend`; only what counted state uses."""

    clock: Any
    is_local = False
    is_of_machine = False
    default_root = ""

    def __post_init__(self) -> None:
        self._kept = MemoryBackend(self.clock)
        self.trips = 0

    async def read(self, key: str) -> Held:
        """See `Backend`."""
        self.trips += 1
        await asyncio.sleep(STORE_TRIP_S)
        return await self._kept.read(key)

    async def swap(self, key: str, version: str, write: Write) -> Held | None:
        """See `Backend`."""
        self.trips += 1
        await asyncio.sleep(STORE_TRIP_S)
        return await self._kept.swap(key, version, write)


@dataclass
class Tally:
    calls: Counter[int] = field(default_factory=Counter)
    good: Counter[int] = field(default_factory=Counter)
    refused: Counter[int] = field(default_factory=Counter)


def view(scenario: str, policy: str, seed: int, size: Size) -> View:
    """Return how a scenario goes with a policy."""
    recovery, is_shared = POLICIES[policy]

    async def main() -> View:
        service = Service(rate=size.callers / PAUSE_S / LOAD, **SCENARIOS[scenario])

        async def request() -> None:
            async with asyncio.timeout(TIME_OUT_S):
                await service.serve()

        store = Distant(asyncio.get_running_loop().time)
        asks = replicas(request, recovery, [_state(store if is_shared else None) for _ in range(size.replicas)])
        tally = Tally()
        async with asyncio.TaskGroup() as group:
            for number in range(size.callers):
                group.create_task(_caller(asks, random.Random(seed * size.callers + number), service, tally))  # noqa: S311 - a simulation
        seconds, load = range(int(END_S)), Counter(map(int, service.runs))
        success = [tally.good[one] / (tally.calls[one] or 1) for one in seconds]
        course = Course(success, [load[one] for one in seconds], UNTIL_S)
        calls, refused = [tally.calls[one] for one in seconds], [tally.refused[one] for one in seconds]
        return View(course, calls, refused, store.trips)

    random.seed(seed)  # the jitter of the policies
    return InstantClock().run(main())


def _state(store: Distant | None) -> StateStore:
    """Return the state of a replica: its own, or its view of a store that all share."""
    return SharedStore(WatchedBackend(store, Events(), probe="probe")) if store else LocalState()


async def _caller(asks: Sequence[Any], chance: random.Random, service: Service, tally: Tally) -> None:
    """Call any replica, pause, and again, until the end."""
    while True:
        await asyncio.sleep(chance.expovariate(1 / PAUSE_S))
        second = int(service.now_s())
        if second >= END_S:
            return
        response = await chance.choice(asks)()
        tally.calls[second] += 1
        tally.good[second] += response.success
        tally.refused[second] += not response.success and response.error.code == "CIRCUIT_OPEN"


def _view(task: tuple[str, str, int, Size]) -> View:
    logging.disable(logging.WARNING)
    return view(*task)


def _figures(views: Mapping[tuple[str, str], Sequence[View]]) -> list[Figure]:
    found = []
    for (scenario, policy), of in views.items():
        name = f"{scenario}: {policy}"
        goal = "<= 0.2" if policy == SHARED and scenario != "flaps" else ""
        found.append(figure(f"{name}, requests a call", [one.requests_a_call for one in of], "times", goal=goal))
        after = [one.course.recovered_after_s for one in of]
        note = "not until the end" if min(after) >= END_S - UNTIL_S else ""
        found.append(figure(f"{name}, back to 95 % after", after, "s", note=note))
        if policy in {BREAKER, SHARED}:
            found.append(figure(f"{name}, opened after", [one.opened_after_s for one in of], "s"))
            goal = ">= 90" if policy == SHARED else ""
            found.append(figure(f"{name}, decided alike", [100 * one.agreement for one in of], "%", goal=goal))
        if policy == SHARED:
            trips = [one.trips / sum(one.calls) for one in of]
            found.append(figure(f"{name}, round trips to the store a call", trips, "times"))
    return found


PLOTS = {"type": Path, "metavar": "FOLDER", "help": "draw the courses of the first seed there; needs matplotlib"}


@benchmark(
    "A fleet before a service in trouble",
    own={"--plots": PLOTS, **JOBS},
    rounds=(1, 1),
    size=(Size(), Size(callers=200, replicas=20)),
)
def measure(given: Any) -> list[Figure]:
    """Return the figures, and draw the courses if asked to. A round is a seed."""
    tasks = [(*one, seed, given.size) for one in itertools.product(SCENARIOS, POLICIES) for seed in range(given.rounds)]
    found = list(spread(_view, tasks, given.jobs))
    views: dict[tuple[str, str], list[View]] = {}
    for (scenario, policy, *_), one in zip(tasks, found, strict=True):
        views.setdefault((scenario, policy), []).append(one)
    if given.plots is not None:
        from outages.plots import draw_fleet  # noqa: PLC0415 - matplotlib may be missing

        draw_fleet({name: of[0] for name, of in views.items()}, (FROM_S, UNTIL_S), given.plots)
    return _figures(views)
