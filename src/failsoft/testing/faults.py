"""`FaultScript`: a scripted sequence of outcomes in place of a handler."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from failsoft.framework.call.bound import BoundOperation

__all__ = ["Delay", "FaultScript", "Hang"]


@dataclass(frozen=True, slots=True)
class Delay:
    """A delayed outcome.

    Args:
        seconds: The delay, on the event loop's clock.
        then: The outcome after it: a value, an exception, another delay.
    """

    seconds: float
    then: Any = None


@dataclass(frozen=True, slots=True)
class Hang:
    """An outcome that never comes: the run waits until it is cancelled."""


class FaultScript:
    """Plays outcomes in place of a handler, one per run; the last one repeats.

    An exception (an instance or a class) is raised, a `Delay` waited for, a `Hang` never ends, and anything else is
    returned.

    Args:
        outcomes: One per run, at least one.

    Examples:
        >>> from failsoft import BaseTool, Unavailable, operation
        >>> from failsoft.testing import InstantClock
        >>> class Stock(BaseTool):
        ...     @operation(read_only=True)
        ...     async def count(self, item: str) -> int: "Count."
        >>> script = FaultScript(Unavailable(), Delay(2.0, 7))
        >>> clock = InstantClock()
        >>> answer = clock.run(Stock().execute_with_error_handling("count", {"item": "tea"}, script.run))
        >>> answer.data, len(script.calls)
        (7, 2)
    """

    def __init__(self, *outcomes: Any) -> None:
        if not outcomes:
            msg = "a script needs at least one outcome"
            raise ValueError(msg)
        self.outcomes = outcomes
        self.calls: list[dict[str, Any]] = []
        """The arguments of each run."""

    async def run(self, **arguments: Any) -> Any:
        """Play the next outcome: the handler to pass to `execute_with_error_handling`."""
        place = min(len(self.calls), len(self.outcomes) - 1)
        self.calls.append(arguments)
        outcome = self.outcomes[place]
        while isinstance(outcome, Delay):
            await asyncio.sleep(outcome.seconds)
            outcome = outcome.then
        if isinstance(outcome, Hang):
            await asyncio.get_running_loop().create_future()
        if isinstance(outcome, BaseException) or (isinstance(outcome, type) and issubclass(outcome, BaseException)):
            raise outcome
        return outcome

    @contextmanager
    def replaces(self, operation: Any) -> Iterator[FaultScript]:
        """Replace an operation's handler while the block lasts, for calls of clients too.

        Args:
            operation: One of a toolset, such as `tool.get_book`.
        """
        if not isinstance(operation, BoundOperation):
            msg = f"{operation!r} is no operation of a toolset: name one as `tool.operation`"
            raise TypeError(msg)
        function, is_async = operation.function, operation.is_async

        async def play(_tool: Any, **arguments: Any) -> Any:
            arguments.pop(operation.context_parameter or "", None)
            return await self.run(**arguments)

        operation.function, operation.is_async = play, True
        try:
            yield self
        finally:
            operation.function, operation.is_async = function, is_async
