"""What the core's tests run tools in: a recorder that remembers, and a runtime that depends on no environment."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from failsoft import RecoveryManager, Runtime, Settings

E = TypeVar("E", bound=BaseException)


class Recording:
    """A recorder that keeps every event as a tuple, in order; bound to any operation it is still the same list."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.bound_to: list[tuple[str, str]] = []

    def bind(self, tool: str, operation: str) -> Recording:
        self.bound_to.append((tool, operation))
        return self

    def started(self) -> None:
        self.events.append(("started",))

    def finished(self, outcome: str, duration_s: float) -> None:
        assert duration_s >= 0
        self.events.append(("finished", outcome))

    def put_off(self) -> None:
        self.events.append(("put_off",))

    def attempted(self, result: str) -> None:
        self.events.append(("attempted", result))

    def failed(self, category: str, code: str) -> None:
        self.events.append(("failed", category, code))

    def recovery(self, strategy: str, result: str) -> None:
        self.events.append(("recovery", strategy, result))

    def of(self, kind: str) -> list[Any]:
        """Return the events of one kind, without their kind."""
        return [event[1] if len(event) == 2 else event[1:] for event in self.events if event[0] == kind]


def quiet_runtime(
    *, recovery: Any = None, middleware: Any = (), metrics: Any = None, state: Any = None, **settings: Any
) -> Runtime:
    """Return a runtime with its own recorder, without strategies unless some are given."""
    return Runtime(
        settings=Settings(**settings),
        state=state,
        middleware=middleware,
        recovery=recovery if recovery is not None else RecoveryManager(),
        metrics=metrics if metrics is not None else Recording(),
    )


def noted(error: E, raised: list[weakref.ref[E]]) -> E:
    """Return the error, and note it without holding it."""
    raised.append(weakref.ref(error))
    return error


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Leave objects in reference cycles where they are: what is no longer there was in none."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
