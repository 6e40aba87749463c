"""What strategies share: their declaration, the state of a dependency, reports of their use, and background work."""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
from collections.abc import Coroutine
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final, TypeVar, dataclass_transform

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.errors import ToolError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.events import RecoveryEvent, RecoveryOutcome
from failsoft.framework.logs import logs
from failsoft.framework.state.store import StateStore

T = TypeVar("T")
S = TypeVar("S")
IN_CODE: Final = MappingProxyType({"in_code": True})
"""Metadata of an option that a recovery file cannot set: its values are functions, classes or objects."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def strategy(cls: type[S]) -> type[S]:
    """Make a strategy the frozen dataclass of its options.

    A class variable `name` is its label in receipts, metrics and recovery files; `one_for` says whether an operation,
    or each of its dependencies, may have only one of them. What it counts or keeps belongs to the links that it makes
    for an operation, never to itself: `dataclasses.replace` returns it with other options.

    Its constructor names the closest option to one that is misspelt.
    """
    made: type[Any] = dataclass(frozen=True, slots=True, eq=False)(cls)
    construct = made.__init__
    known = list(inspect.signature(construct).parameters)[1:]
    numbers = {one.name for one in fields(made) if type(one.default) in {int, float}}

    @functools.wraps(construct)
    def named(self: object, *arguments: object, **options: object) -> None:
        for option in numbers & options.keys():
            if isinstance(options[option], str):
                msg = f"{made.__name__} takes a number as {option}, not {options[option]!r}"
                raise TypeError(msg)
        try:
            construct(self, *arguments, **options)
        except TypeError as refused:
            for option in sorted(options.keys() - set(known)):
                if closest := closest_name(option, known):
                    refused.add_note(f"{made.__name__} has no option '{option}'; did you mean '{closest}'?")
            raise

    made.__init__ = named
    return made


def state_of(bound: BoundOperation, dependency: str | None, *, is_private: bool = False) -> tuple[StateStore, str]:
    """Return the store of a strategy's state, and the dependency that it is about.

    Strategies with the same named dependency share a state, whatever their toolset. Without a name the state is the
    operation's own, under `<toolset>.<operation>`, and belongs to its toolset, as does one that `is_private`.
    """
    store = bound.state if dependency and not is_private else bound.state.private_to(bound.tool)
    return store, dependency or f"{bound.tool_name}.{bound.name}"


def note_recovery(
    call: Call, strategy: str, result: RecoveryOutcome, error: ToolError | None = None, *, duration_s: float = 0.0
) -> None:
    """Count, log and publish that a strategy was tried on an error.

    Args:
        call: The call.
        strategy: The strategy's name.
        result: The outcome. `skipped` is not logged.
        error: The error; None for a run that was only slow, for which no event is published.
        duration_s: How long it took, in seconds.
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
        duration_s=duration_s,
    )
    bound.events.publish(event)


class Gauge:
    """A number about an operation, read at every scrape.

    Args:
        operation: `<toolset>.<operation>`.
    """

    __slots__ = ("__weakref__", "_operation", "value")

    def __init__(self, operation: str) -> None:
        self._operation = operation
        self.value = 0

    @classmethod
    def of(cls, name: str, bound: BoundOperation) -> Gauge:
        """Return the gauge of an operation, the same one even after a reload of its strategies.

        Args:
            name: Its metric, without `mcp_`.
            bound: The operation.
        """
        store, operation = state_of(bound, None)

        def make() -> Gauge:
            gauge = cls(operation)
            bound.gauges.add(f"mcp_{name}", gauge.read)
            return gauge

        return store.companion(f"{name}:{operation}", make)

    def add(self, amount: int) -> None:
        """Add to the value."""
        self.value += amount

    def read(self) -> dict[tuple[str, ...], float]:
        """Return the value under the operation."""
        return {(self._operation,): self.value}


def shown_wait_s(wait_s: float) -> float:
    """Return a wait rounded up to milliseconds: a caller that comes back early would be rejected again."""
    return math.ceil(max(0.0, wait_s) * 1_000) / 1_000


in_background: set[asyncio.Task[Any]] = set()
"""Strong references: the event loop holds only weak ones, so a pending task could be garbage-collected."""


def run_in_background(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Start a coroutine that runs to its end although nothing waits for it."""
    task = asyncio.get_running_loop().create_task(work)
    hold(task)
    return task


def hold(task: asyncio.Task[Any]) -> None:
    """Hold a reference to a task until it is done."""
    in_background.add(task)
    task.add_done_callback(in_background.discard)


async def shielded(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine; a cancellation stops the waiting, not the coroutine."""
    return await asyncio.shield(run_in_background(work))
