"""Scripts of tests: what handlers do, one outcome a run, and what people answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from failsoft.framework.asking import Answer, Question
from failsoft.framework.asking.waiting import asker
from failsoft.framework.call.bound import BoundOperation


@dataclass(frozen=True, slots=True)
class Delay:
    """A delayed outcome.

    Args:
        seconds: The delay, on the event loop's clock.
        then: The outcome after it: a value, an exception, another delay.

    Examples:
        >>> script = FaultScript(Delay(2.0, Unavailable()), Delay(0.5, 7))
    """

    seconds: float
    then: Any = None


@dataclass(frozen=True, slots=True)
class Hang:
    """An outcome that never comes: the run waits until it is cancelled.

    Examples:
        >>> script = FaultScript(Hang(), 7)  # the first run ends with its time limit, the second answers 7
    """


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


class AnswerScript:
    """Answers in place of a person the questions that calls ask (`confirm`, `AskPerson`), in order; the last repeats.

    Args:
        answers: At least one. A mapping is the form as it was accepted; the others are `"decline"`, `"cancel"`, and
            `"unanswered"`, which ends the wait at once.

    Examples:
        >>> import asyncio
        >>> from failsoft import BaseTool, operation
        >>> from failsoft.testing import AnswerScript
        >>> class Stock(BaseTool):
        ...     @operation(confirm=True)
        ...     async def clear(self, item: str) -> str:
        ...         "Clear."
        ...         return f"{item} cleared"
        >>> stock, script = Stock(), AnswerScript({"confirm": True}, "decline")
        >>> with script.answers():
        ...     first, second = (asyncio.run(stock.clear(item="tea")) for _ in range(2))
        >>> first.data, second.error.code, len(script.questions)
        ('tea cleared', 'APPROVAL_REQUIRED', 2)
    """

    def __init__(self, *answers: Mapping[str, Any] | Literal["decline", "cancel", "unanswered"]) -> None:
        if not answers:
            msg = "a script needs at least one answer"
            raise ValueError(msg)
        self._answers = answers
        self.questions: list[str] = []
        """The messages of the questions, in order."""

    async def ask(self, question: Question) -> Answer:
        """Answer a question: the `ask` of a call's scope."""
        given = self._next(question.message)
        return Answer(given) if isinstance(given, str) else Answer("accept", dict(given))

    async def elicit(self, _context: Any, params: Any) -> Any:
        """Answer a question as the client of `connected`: pass it as `elicitation_callback`."""
        from mcp_types import ElicitResult  # noqa: PLC0415 - as `connected` loads it

        given = self._next(params.message)
        if isinstance(given, str):
            return ElicitResult(action="cancel" if given == "unanswered" else given)
        return ElicitResult(action="accept", content=dict(given))

    @contextmanager
    def answers(self) -> Iterator[AnswerScript]:
        """Answer the questions of direct calls, which no client makes, while the block lasts."""
        before = asker.set(self.ask)
        try:
            yield self
        finally:
            asker.reset(before)

    def _next(self, message: str) -> Mapping[str, Any] | Literal["decline", "cancel", "unanswered"]:
        self.questions.append(message)
        return self._answers[min(len(self.questions), len(self._answers)) - 1]
