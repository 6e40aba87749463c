"""The guard around what only tells: log lines, metrics, events, reports, alerts and progress change no answer.

Whatever a sink, a recorder or a listener raises ends here, `SystemExit` and `KeyboardInterrupt` included, and so does
what the text of a foreign exception raises. An audit entry is no such thing: without it the answer is another one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from loguru import logger as _loguru  # noqa: TID251 - the guard itself

from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.diagnostics.tracebacks import stack_of


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


def stack_as_text(record: Any) -> None:
    """Replace the exception of a log record by its redacted stack: sinks would print the values of local variables."""
    exception, record["exception"] = record["exception"], None
    if exception is not None and exception.value is not None and "stack_trace" not in record["extra"]:
        record["extra"]["stack_trace"] = stack_of(exception.value)


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


_OWN_FRAMES = 2
"""Frames between loguru and the line that logs: a record names the module of that line."""
logger = GuardedLogger(_loguru.patch(stack_as_text).opt(depth=_OWN_FRAMES))
"""The logger of failsoft and of tools."""
