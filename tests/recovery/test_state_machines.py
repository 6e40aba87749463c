"""The breaker and the budget against naive models, over any history that hypothesis thinks of."""

from __future__ import annotations

import asyncio
import itertools
import math
from typing import Any

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from failsoft import CircuitEvent
from failsoft.events import Event, Events
from failsoft.recovery import CircuitBreaker, RetryBudget
from tests.doors import REFILL_S, Circuit, CircuitAdmission, Ledger, LocalState
from tests.thorough import examples

WINDOW_S, OPEN_S, LEASE_S, MIN_CALLS, RATIO = 10.0, 30.0, 60.0, 4, 0.5


def is_evidence(bad: int, calls: int, z: float = 1.6448536269514722) -> bool:
    """Return whether the rate is at least RATIO at this z-score: the roots of Wilson's equation, found by halving."""
    if bad == calls:
        return True
    low, high, rate = 0.0, bad / calls, bad / calls
    for _ in range(60):
        middle = (low + high) / 2
        spread = z * math.sqrt(middle * (1 - middle) / calls)
        low, high = (middle, high) if rate - middle > spread else (low, middle)
    return high >= RATIO


class BreakerMachine(RuleBasedStateMachine):
    """The model keeps every outcome with its time, and counts them anew each time it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000.0
        self.loop = asyncio.new_event_loop()
        events = Events()
        self.announced: list[Event] = []
        events.subscribe(self.announced.append, CircuitEvent)
        options = CircuitBreaker(None, RATIO, MIN_CALLS, WINDOW_S, OPEN_S, 4 * OPEN_S, 1.0, RATIO)
        self.circuit = Circuit(LocalState(lambda: self.now), "breaker:x", "x", options, events)
        self.state = "closed"
        self.until = 0.0
        self.outcomes: list[tuple[float, str]] = []
        self.probe: CircuitAdmission | None = None
        self.stale: list[CircuitAdmission] = []
        self.break_s = OPEN_S

    def teardown(self) -> None:
        self.loop.close()

    def admit(self) -> CircuitAdmission:
        return self.loop.run_until_complete(self.circuit.admit(LEASE_S))

    def end(self, admission: CircuitAdmission, *, failed: bool = False, slow: bool = False) -> None:
        self.loop.run_until_complete(self.circuit.ended(admission, failed=failed, slow=slow))

    def note(self, kind: str) -> None:
        """Add an outcome to the model, and judge."""
        self.outcomes.append((self.now, kind))
        span = WINDOW_S / 10
        oldest = math.floor(self.now / span) - 10
        slots = [(math.floor(at / span), kind) for at, kind in self.outcomes if math.floor(at / span) > oldest]
        counted = [kind for _, kind in slots]
        newest = slots[max(len(slots) - 20, 0)][0]  # whole slots, with at least 20 calls
        recent = [kind for slot, kind in slots if slot >= newest]
        is_bad = is_evidence(max(counted.count("failed"), counted.count("slow")), len(counted))
        is_bad = is_bad or is_evidence(max(recent.count("failed"), recent.count("slow")), len(recent), 3.3)
        if kind != "ok" and len(counted) >= MIN_CALLS and is_bad:
            self.break_s = OPEN_S
            self.change("open", self.now + OPEN_S)

    def break_again(self) -> None:
        self.break_s = min(4 * OPEN_S, 2 * self.break_s)
        self.change("open", self.now + self.break_s)

    def change(self, state: str, until: float = 0.0) -> None:
        if self.state == "closed":
            self.stale.append(CircuitAdmission(self.circuit.era - 1))
        self.state, self.until, self.outcomes, self.probe = state, until, [], None

    @rule(seconds=st.one_of(st.floats(0, 100), st.sampled_from([0.5, 1.0, WINDOW_S, OPEN_S, LEASE_S])))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: self.state == "closed")
    @rule(times=st.one_of(st.integers(1, 6), st.just(25)))
    def succeed(self, times: int) -> None:
        for _ in range(times):
            assert self.circuit.passes
            self.circuit.succeeded()
            self.note("ok")

    @precondition(lambda self: self.state == "closed")
    @rule(kind=st.sampled_from(["failed", "slow"]), times=st.sampled_from([1, 1, 1, 25]))
    def fail(self, kind: str, times: int) -> None:
        for _ in range(times):
            if self.state == "closed":
                self.end(self.circuit.current, failed=kind == "failed", slow=kind == "slow")
                self.note(kind)

    @precondition(lambda self: self.state != "closed")
    @rule()
    def ask(self) -> None:
        admission = self.admit()
        if self.now < self.until:
            assert admission.wait_s is not None
            assert 0 < admission.wait_s <= self.until - self.now
            if self.state == "open":
                assert admission.wait_s == self.until - self.now
        else:
            assert admission.wait_s is None
            assert admission.token
            self.state, self.until, self.probe = "half_open", self.now + LEASE_S, admission

    @precondition(lambda self: self.probe is not None)
    @rule(outcome=st.sampled_from(["ok", "failed", "slow", "cancelled", "timed out"]))
    def end_the_probe(self, outcome: str) -> None:
        probe = self.probe
        assert probe is not None
        if outcome == "cancelled":
            self.circuit.gave_up(probe, failed=False, slow=False)
            self.until, self.probe = self.now, None
        elif outcome == "timed out":
            self.circuit.gave_up(probe, failed=True, slow=False)
            self.break_again()
        else:
            self.end(probe, failed=outcome == "failed", slow=outcome == "slow")
            self.change("closed") if outcome == "ok" else self.break_again()

    @precondition(lambda self: self.stale)
    @rule(data=st.data(), failed=st.booleans())
    def hear_of_a_call_from_another_era(self, data: Any, failed: bool) -> None:
        stale = data.draw(st.sampled_from(self.stale))
        if stale.era != self.circuit.era:
            self.end(stale, failed=failed)

    @rule(state=st.sampled_from(["open", "closed"]))
    def decide_by_hand_and_reset(self, state: Any) -> None:
        self.loop.run_until_complete(self.circuit.open() if state == "open" else self.circuit.close())
        assert (self.admit().wait_s is None) == (state == "closed")
        self.loop.run_until_complete(self.circuit.reset())
        self.change("closed")

    @invariant()
    def agrees_with_the_model(self) -> None:
        assert self.circuit.state == self.state
        assert self.circuit.passes == (self.state == "closed")

    @invariant()
    def every_change_was_announced(self) -> None:
        states = [event.state for event in self.announced if isinstance(event, CircuitEvent)]
        assert states[-1] == self.state
        assert all(one != other for one, other in itertools.pairwise(states))


class BudgetMachine(RuleBasedStateMachine):
    """Whatever happens, no more is run again than the ratio, the floor and the slow refill allow together."""

    RATIO, FLOOR = 0.2, 10.0

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000.0
        self.loop = asyncio.new_event_loop()
        self.budget = RetryBudget(self.RATIO, self.FLOOR)
        self.ledger = Ledger(LocalState(lambda: self.now), "budget:x", "x", self.budget)
        self.calls = self.granted = 0
        self.model = self.FLOOR
        self.began = self.settled = self.now
        self.unsettled = 0

    def teardown(self) -> None:
        self.loop.close()

    @rule(seconds=st.one_of(st.floats(0, 100), st.just(REFILL_S)))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule(times=st.integers(1, 40))
    def call(self, times: int) -> None:
        for _ in range(times):
            self.ledger.count()
        self.calls += times
        self.unsettled += times

    def held(self) -> float:
        """Return the tokens now, by the model."""
        if self.settled + 2 * REFILL_S <= self.now:
            tokens: float = self.FLOOR  # unused for so long that the store has dropped it
        else:
            refilled = self.model + (self.now - self.settled) * self.FLOOR / REFILL_S
            tokens = max(self.model, min(self.FLOOR, refilled))
        return max(tokens, min(self.budget.ceiling, tokens + self.unsettled * self.RATIO))

    @rule()
    def ask_for_another_run(self) -> None:
        self.model = self.held()
        self.settled, self.unsettled = self.now, 0
        granted = self.loop.run_until_complete(self.ledger.withdraw())
        assert granted == (self.model >= 1 - 1e-9) or abs(self.model - 1) < 1e-6
        self.granted += granted
        self.model -= granted

    @invariant()
    def never_more_than_allowed(self) -> None:
        refill = (self.now - self.began) * self.FLOOR / REFILL_S
        assert self.granted <= self.FLOOR + self.RATIO * self.calls + refill + 1e-6

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        (tokens,) = self.ledger.read().values()
        assert 0 <= tokens <= self.budget.ceiling
        assert math.isclose(tokens, max(0.0, self.held()), abs_tol=1e-6)


TestBreaker = BreakerMachine.TestCase
TestBudget = BudgetMachine.TestCase
TestBreaker.settings = TestBudget.settings = settings(max_examples=examples(80), stateful_step_count=40, deadline=None)
