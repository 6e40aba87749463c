"""What an author is told: log lines that never raise, crashes, and mistakes with their line.

Nothing that only tells may cost a caller the answer: whatever it raises is caught here, except for a real cancellation.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from loguru import logger as _loguru  # noqa: TID251 - the guard itself

from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.safe.tracebacks import author_line, calling_line, declaring_line, original, stack_of

_OWN_FRAMES = 2
"""Frames between loguru and the line that logs: a record names the module of that line."""


def tell(say: Callable[..., object], /, *arguments: Any, **facts: Any) -> BaseException | None:
    """Call a function that only tells; return what it raised, or None."""
    try:
        say(*arguments, **facts)
    except BaseException as error:  # noqa: BLE001 - what is told is not worth an answer
        return error
    return None


async def tell_later(saying: Awaitable[object]) -> BaseException | None:
    """Await what only tells; return what it raised, or None. A real cancellation of the call passes."""
    try:
        await saying
    except BaseException as error:
        if is_real_cancellation(error):
            raise
        return error
    return None


def is_real_cancellation(error: BaseException) -> bool:
    """Return whether the running call was really cancelled from outside.

    A `CancelledError` that a handler raises itself, or that comes from a task that it started, is an ordinary failure.
    asyncio counts cancellation requests on the task; anyio cancels through its scopes, which show as an effective
    deadline of minus infinity.
    """
    if not issubclass(type(error), asyncio.CancelledError):  # isinstance would ask `error.__class__`, which may raise
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    if task is not None and task.cancelling() > 0:
        return True
    anyio = sys.modules.get("anyio")
    return anyio is not None and anyio.current_effective_deadline() == -math.inf


def _at(level: str) -> Callable[..., None]:
    def say(self: GuardedLogger, message: str, /, *arguments: Any, **facts: Any) -> None:
        tell(self._inner.log, level, message, *arguments, **facts)

    say.__doc__ = f"Log a line at {level}."
    return say


class GuardedLogger:
    """loguru's logger for failsoft and for tools: no line raises, and a record has the stack as text."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def bind(self, **facts: Any) -> GuardedLogger:
        """Return a logger whose records have these facts."""
        return GuardedLogger(self._inner.bind(**facts))

    def opt(self, *, exception: Any = None, depth: int = 0, **options: Any) -> GuardedLogger:
        """Return a logger with these options of loguru's, such as an exception whose stack its records have."""
        if isinstance(exception, BaseException):  # loguru would ask it for its truth and its traceback
            exception = (type(exception), exception, None)
        return GuardedLogger(self._inner.opt(exception=exception, depth=depth + _OWN_FRAMES, **options))

    def patch(self, patcher: Callable[[Any], None]) -> GuardedLogger:
        """Return a logger whose records this function changes."""
        return GuardedLogger(self._inner.patch(patcher))

    def log(self, level: str | int, message: str, /, *arguments: Any, **facts: Any) -> None:
        """Log a line at a level."""
        tell(self._inner.log, level, message, *arguments, **facts)

    def exception(self, message: str, /, *arguments: Any, **facts: Any) -> None:
        """Log a line at ERROR with the exception that is being handled."""
        tell(self._inner.opt(exception=True, depth=_OWN_FRAMES).log, "ERROR", message, *arguments, **facts)

    trace, debug, info, success = _at("TRACE"), _at("DEBUG"), _at("INFO"), _at("SUCCESS")
    warning, error, critical = _at("WARNING"), _at("ERROR"), _at("CRITICAL")

    def __getattr__(self, name: str) -> Any:
        """Return anything else that loguru's logger has, without the guard."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inner, name)


def stack_as_text(record: Any) -> None:
    """Replace the exception of a log record by its redacted stack: sinks would print the values of local variables."""
    exception, record["exception"] = record["exception"], None
    if exception is not None and exception.value is not None and "stack_trace" not in record["extra"]:
        record["extra"]["stack_trace"] = stack_of(exception.value)


# A library's lines are off until an application enables them, which it may have done before this; only loguru's core
# knows. Not in `failsoft/__init__.py`, of whose import loguru would be three quarters.
if ("failsoft.", True) not in getattr(getattr(_loguru, "_core", None), "activation_list", ()):
    _loguru.disable("failsoft")

logger = GuardedLogger(_loguru.patch(stack_as_text).opt(depth=_OWN_FRAMES))
"""The logger of failsoft and of tools."""


@dataclass(frozen=True, slots=True)
class Report:
    """One crash, exception or mistake.

    Args:
        kind: `crash`: a handler raised what no rule knows, or an internal error, or its result does not fit its return
            annotation. `exception`: it raised one that a rule knows, such as a `FileNotFoundError`. `mistake`: an error
            was raised in a way that loses something, such as a field that its class does not have.
        message: What is wrong, in a sentence or two.
        place: `file:line in function` of the author's code; empty if it is not involved.
        traceback: Of a crash, the author's frames first.
        operation: The MCP tool, where it is known.
        error_id: The id that the caller of a crashed tool got.
    """

    kind: Literal["crash", "exception", "mistake"]
    message: str
    place: str = ""
    traceback: str = ""
    operation: str = ""
    error_id: str = ""

    def __str__(self) -> str:
        told = f"{self.place}: {self.message}" if self.place else self.message
        return f"{told}, error id {self.error_id}\n{self.traceback}".strip() if self.traceback else told


Watcher: TypeAlias = Callable[[Report], object]
_watchers: list[Watcher] = []


@contextmanager
def watch_reports(watcher: Watcher) -> Iterator[None]:
    """Pass every `Report` of this process to the function `watcher` while the block lasts.

    Examples:
        >>> seen: list[Report] = []
        >>> with watch_reports(seen.append):
        ...     answer = asyncio.run(Shelf().count(title="Dune"))
        >>> seen
        []
    """
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def report_mistake(
    message: str, *, error: BaseException | None = None, operation: str = "", is_known: bool = False
) -> None:
    """Report a mistake of a tool's author at WARNING, with its file and line. Never raises.

    Args:
        message: What is wrong, and what is right.
        error: The exception that was raised with the mistake; by default the place is the author's running code.
        operation: The MCP tool, where it is known.
        is_known: Whether it was logged before, so that only what watches is told again.
    """
    tell(_report_mistake, message, error, operation, is_known)


def _report_mistake(message: str, error: BaseException | None, operation: str, is_known: bool) -> None:  # noqa: FBT001 - `tell` passes what it is given by position
    place = calling_line() if error is None else author_line(error)
    report = Report("mistake", message, place, operation=operation)
    if not is_known:
        logger.bind(event="author_mistake", place=place, operation=operation).warning(str(report))
    _publish(report)


def report_crash(error: BaseException, *, operation: str, error_id: str) -> None:
    """Pass a crash on to what watches; the log has its own line for each failed call. Never raises."""
    if _watchers:
        tell(_report_crash, error, operation, error_id)


def _report_crash(error: BaseException, operation: str, error_id: str) -> None:
    message = f"{type(error.__cause__ or error).__name__} in {operation}"
    _publish(Report("crash", message, author_line(error), stack_of(error), operation, error_id))


def report_exception(error: BaseException, *, operation: str, error_id: str) -> None:
    """Pass on where the author's code raised the exception that a typed error was made of. Never raises."""
    if _watchers:
        tell(_report_exception, error, operation, error_id)


def _report_exception(error: BaseException, operation: str, error_id: str) -> None:
    raised, place = original(error), author_line(error)
    is_ours = type(raised).__module__.partition(".")[0] == "failsoft"  # reported as a mistake, or raised on purpose
    if raised is not error and place and not is_ours:
        _publish(Report("exception", f"{type(raised).__name__} in {operation}", place, "", operation, error_id))


def report_result(error: BaseException, function: object, *, operation: str, error_id: str) -> None:
    """Pass on how a handler's result differs from its return annotation, with the handler's line. Never raises."""
    if _watchers:
        tell(_report_result, error, function, operation, error_id)


def _report_result(error: BaseException, function: object, operation: str, error_id: str) -> None:
    fault = error.__cause__.errors()[0]  # type: ignore[union-attr]  # of pydantic, or there is nothing to say
    where = ".".join(map(str, fault["loc"]))
    got = fault["input"]
    message = f"the result does not fit the return annotation: {f'`{where}`: ' if where else ''}{fault['msg']}"
    message += f"; it is of type {type(got).__name__}"
    if inspect.isawaitable(got):
        message += " (is an `await` missing?)"
    _publish(Report("crash", redact_text(message), declaring_line(function), "", operation, error_id))


def _publish(report: Report) -> None:
    for watcher in tuple(_watchers):
        tell(watcher, report)
