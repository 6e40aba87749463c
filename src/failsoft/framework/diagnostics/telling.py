"""The guard around what only tells: log lines, metrics, events, reports, alerts and progress change no answer.

Whatever a sink, a recorder or a listener raises ends here, `SystemExit` and `KeyboardInterrupt` included, and so does
what the text of a foreign exception raises. An audit entry is no such thing: without it the answer is another one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from loguru import logger as _loguru  # noqa: TID251 - the guard itself

from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.diagnostics.loggable import loggable
from failsoft.framework.diagnostics.tracebacks import stack_of

__all__ = ["GuardedLogger", "author_logger", "harmless_exception", "logger", "tell", "tell_later"]


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


def harmless_exception(record: Any) -> None:
    """Replace the exception of a log record by a copy whose text can be read and whose frames hold no values."""
    exception = record["exception"]
    if exception is None or exception.value is None:
        return
    copied = loggable(exception.value)
    if copied[2] is None:  # a copy without frames
        tell(_keep_stack, record["extra"], exception.value)
    record["exception"] = type(exception)(*copied)


def _keep_stack(extra: dict[str, Any], error: BaseException) -> None:
    if "stack_trace" not in extra:
        extra["stack_trace"] = stack_of(error)


class GuardedLogger:
    """loguru's logger as failsoft uses it: no method raises, and exceptions are logged as harmless copies."""

    __slots__ = ("_exception", "_guarded", "_inner")

    def __init__(self, inner: Any, exception: BaseException | None = None) -> None:
        self._inner = inner
        self._exception = exception
        # As a tuple, since loguru would ask the exception for its truth and its traceback.
        told = None if exception is None else (type(exception), exception, None)
        self._guarded = inner.opt(depth=2, exception=told)  # the depth: a record names the module that logs

    def bind(self, **facts: Any) -> GuardedLogger:
        """Return a logger whose records have these facts."""
        return GuardedLogger(self._inner.bind(**facts), self._exception)

    def opt(self, *, exception: BaseException | None) -> GuardedLogger:
        """Return a logger whose records have this exception."""
        return GuardedLogger(self._inner, exception)

    def log(self, level: str | int, message: str, /, *arguments: Any, **facts: Any) -> None:
        """Log a line at a level."""
        tell(self._guarded.log, level, message, *arguments, **facts)

    def debug(self, message: str, /, *arguments: Any, **facts: Any) -> None:
        """Log a line at DEBUG."""
        tell(self._guarded.log, "DEBUG", message, *arguments, **facts)

    def info(self, message: str, /, *arguments: Any, **facts: Any) -> None:
        """Log a line at INFO."""
        tell(self._guarded.log, "INFO", message, *arguments, **facts)

    def warning(self, message: str, /, *arguments: Any, **facts: Any) -> None:
        """Log a line at WARNING."""
        tell(self._guarded.log, "WARNING", message, *arguments, **facts)

    def error(self, message: str, /, *arguments: Any, **facts: Any) -> None:
        """Log a line at ERROR."""
        tell(self._guarded.log, "ERROR", message, *arguments, **facts)

    def critical(self, message: str, /, *arguments: Any, **facts: Any) -> None:
        """Log a line at CRITICAL."""
        tell(self._guarded.log, "CRITICAL", message, *arguments, **facts)


author_logger = _loguru.patch(harmless_exception)
"""loguru's logger for code of authors."""
logger = GuardedLogger(author_logger)
"""failsoft's own logger."""
