"""What strategies share: whose state they have, and how each use, the load and a wait are reported."""

from __future__ import annotations

import math

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.errors import ToolError
from failsoft.framework.events import Events, LoadEvent, LoadGauge, RecoveryEvent, RecoveryOutcome
from failsoft.framework.logs import logs
from failsoft.framework.state.store import StateStore


def state_of(bound: BoundOperation, dependency: str | None, *, is_private: bool = False) -> tuple[StateStore, str]:
    """Return the store of a strategy's state, and the dependency that it is about.

    Strategies with the same named dependency share a state, whatever their toolset. Without a name the state is the
    operation's own, under `<toolset>.<operation>`, and belongs to its toolset, as does one that `is_private`.
    """
    store = bound.state if dependency and not is_private else bound.state.private_to(bound.tool)
    return store, dependency or f"{bound.tool_name}.{bound.name}"


def note_recovery(call: Call, strategy: str, result: RecoveryOutcome, error: ToolError | None = None) -> None:
    """Count, log and publish that a strategy was tried on an error.

    Args:
        call: The call.
        strategy: The strategy's name.
        result: The outcome. `skipped` is not logged.
        error: The error; None for a run that was only slow, for which no event is published.
    """
    bound = call.bound
    bound.metrics.recovery(strategy, result)
    if result != "skipped":
        logs.log_recovery(call, strategy, result)
    if error is None or not bound.events.wants(RecoveryEvent):
        return
    event = RecoveryEvent(
        tool=call.tool,
        operation=call.operation,
        request_id=call.request_id,
        strategy=strategy,
        result=result,
        code=error.code,
        attempt=call.attempt,
    )
    bound.events.publish(event)


class Gauge:
    """A number about a strategy, published as `LoadEvent` when it changes.

    Args:
        name: Which gauge.
        dependency: The dependency, else `<toolset>.<operation>`.
        events: Where it is published.
    """

    __slots__ = ("_dependency", "_events", "_name", "value")

    def __init__(self, name: LoadGauge, dependency: str, events: Events) -> None:
        self._name: LoadGauge = name
        self._dependency = dependency
        self._events = events
        self.value = 0

    @classmethod
    def of(cls, name: LoadGauge, bound: BoundOperation) -> Gauge:
        """Return the gauge of an operation, the same one even after a reload of its strategies."""
        store, operation = state_of(bound, None)
        return store.companion(f"{name}:{operation}", lambda: cls(name, operation, bound.events))

    def set(self, value: int) -> None:
        """Set the value."""
        if value != self.value:
            self.value = value
            if self._events.wants(LoadEvent):
                self._events.publish(LoadEvent(gauge=self._name, dependency=self._dependency, value=value))

    def add(self, amount: int) -> None:
        """Add to the value."""
        self.set(self.value + amount)


def shown_wait_s(wait_s: float) -> float:
    """Return a wait rounded up to milliseconds: a caller that comes back early would be rejected again."""
    return math.ceil(max(0.0, wait_s) * 1_000) / 1_000
