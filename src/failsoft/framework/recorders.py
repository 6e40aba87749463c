"""Recorders of calls, behind a guard that keeps them from failing calls; and gauges, read when they are needed."""

from __future__ import annotations

import asyncio
import inspect
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

from failsoft.framework.events import AttemptResult, Outcome, RecoveryOutcome
from failsoft.framework.safe.author_reports import logger, tell


class Recorder(Protocol):
    """Creates a bound recorder for each operation, once, when the toolset is created."""

    def bind(self, tool: str, operation: str) -> OperationMetrics:
        """Return the recorder for one operation of one toolset."""


class OperationMetrics(Protocol):
    """The recorder of one operation, with its labels bound; every method is cheap and should not raise.

    A class with `never_raises = True` is called directly; any other is wrapped in a guard.
    """

    def started(self) -> None:
        """Count a call as in flight."""

    def finished(self, outcome: Outcome, duration_s: float) -> None:
        """Count a finished call, with its outcome and its duration in seconds."""

    def put_off(self) -> None:
        """Take back a call that was counted as in flight: it is run again with the answer of a person."""

    def attempted(self, result: AttemptResult) -> None:
        """Count one run of the handler."""

    def failed(self, category: str, code: str) -> None:
        """Count an error that was returned to the caller."""

    def recovery(self, strategy: str, result: RecoveryOutcome) -> None:
        """Count one recovery strategy at work."""


def guarded(metrics: OperationMetrics) -> OperationMetrics:
    """Return the recorder itself if its very class sets `never_raises = True`, otherwise wrapped in a guard."""
    return metrics if vars(type(metrics)).get("never_raises") is True else GuardedMetrics(metrics)


def bound_late(recorder: Recorder, tool: str, operation: str) -> OperationMetrics:
    """Return the guarded recorder of an operation that is bound during a call; one that cannot be bound is left out."""
    made: list[OperationMetrics] = []
    error = tell(lambda: made.append(recorder.bind(tool, operation)))
    if error is not None:
        _report(error)
        return NullMetrics()
    return guarded(made[0])


class NullMetrics:
    """Records nothing; both a `Recorder` and an `OperationMetrics`."""

    never_raises = True

    def bind(self, tool: str, operation: str) -> NullMetrics:  # noqa: ARG002 - the protocol's signature
        """Return itself."""
        return self

    def started(self) -> None:
        """Do nothing."""

    def finished(self, outcome: Outcome, duration_s: float) -> None:
        """Do nothing."""

    def put_off(self) -> None:
        """Do nothing."""

    def attempted(self, result: AttemptResult) -> None:
        """Do nothing."""

    def failed(self, category: str, code: str) -> None:
        """Do nothing."""

    def recovery(self, strategy: str, result: RecoveryOutcome) -> None:
        """Do nothing."""


class GuardedMetrics(NullMetrics):
    """Forwards every event; an exception of the recorder is logged the first time and otherwise ignored."""

    def __init__(self, metrics: OperationMetrics) -> None:
        is_broken = False

        def forward(name: str, *facts: Any) -> None:
            nonlocal is_broken
            error = tell(lambda: getattr(metrics, name)(*facts))
            if error is not None and not is_broken:
                is_broken = True
                _report(error)

        for name in ("started", "finished", "put_off", "attempted", "failed", "recovery"):
            setattr(self, name, partial(forward, name))


def _report(error: BaseException) -> None:
    logger.opt(exception=error).error("A metrics recorder failed; calls continue without it")


Read: TypeAlias = Callable[[], Mapping[tuple[str, ...], float]]
"""Returns numbers by the values of their labels; `{(): number}` without labels."""


@dataclass(frozen=True, slots=True)
class _Reader:
    read: Callable[[], Read | None]
    refresh: Callable[[], Callable[[], Awaitable[object]] | None] | None


class Gauges:
    """The gauges of a runtime: nothing is pushed, every scrape reads them. Thread-safe.

    A method is held weakly, so that its object does not live longer for being read; other functions are held.
    """

    def __init__(self) -> None:
        self._readers: dict[object, tuple[str, _Reader]] = {}
        self._lock = threading.Lock()
        self._broken: set[str] = set()

    def add(
        self, name: str, read: Read, *, refresh: Callable[[], Awaitable[object]] | None = None
    ) -> Callable[[], None]:
        """Let scrapes read a gauge, and return a function that ends it.

        Args:
            name: The metric, of `failsoft.metrics.definitions`.
            read: Returns what this process knows, at once, from any thread.
            refresh: Asks a shared store, so that `read` says what is true for all processes; awaited before a scrape.
        """
        key = object()
        reader = _Reader(_held(read), None if refresh is None else _held(refresh))
        with self._lock:
            self._readers[key] = (name, reader)

        def remove() -> None:
            self._readers.pop(key, None)

        return remove

    def read(self, *, shared: bool) -> list[tuple[str, tuple[str, ...], float]]:
        """Return name, label values and number of every gauge.

        Args:
            shared: Whether of those with `refresh`, which are the same in every process, or of the others.
        """
        found: list[tuple[str, tuple[str, ...], float]] = []
        for key, name, reader in self._all():
            if shared is (reader.refresh is None):
                continue
            read = reader.read()
            if read is None:
                self._readers.pop(key, None)
                continue
            error = tell(lambda read=read, name=name: found.extend((name, *item) for item in read().items()))
            self._report(name, error)
        return found

    async def refresh(self) -> None:
        """Ask shared stores for what `read` returns."""
        readers = [(name, reader.refresh) for _, name, reader in self._all() if reader.refresh is not None]
        asked = [(name, ask) for name, held in readers if (ask := held()) is not None]
        answers = await asyncio.gather(*(ask() for _, ask in asked), return_exceptions=True)
        for (name, _), answer in zip(asked, answers, strict=True):
            self._report(name, answer if isinstance(answer, BaseException) else None)

    def _all(self) -> list[tuple[object, str, _Reader]]:
        with self._lock:
            return [(key, name, reader) for key, (name, reader) in self._readers.items()]

    def _report(self, name: str, error: BaseException | None) -> None:
        if error is not None and name not in self._broken:
            self._broken.add(name)
            logger.opt(exception=error).error("The gauge {} could not be read", name)


def _held(function: Any) -> Any:
    return weakref.WeakMethod(function) if inspect.ismethod(function) else lambda: function
