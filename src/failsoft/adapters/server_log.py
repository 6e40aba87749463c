"""The wrapped server's own log of failed calls: still one line a call, now with the error id that the caller got."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from failsoft.framework.answer.failure import Failure
from failsoft.framework.logs.logs import is_silent

_held: ContextVar[list[logging.LogRecord] | None] = ContextVar("failsoft_held_records", default=None)
"""Records of failed runs of the current call."""


class ServerLog:
    """Logs failed calls where the bare server does, unless failsoft's own log has them: its lines have the traceback.

    Args:
        name: The server's logger.
        *beginnings: How the lines begin that the server itself logs of a failed run. They wait for the end of the
            call: the last one is completed by the error id, and those of runs that were repeated are dropped.
        foreseen: Exceptions that an author raises for callers: the server logs no traceback of them.
    """

    def __init__(self, name: str, *beginnings: str, foreseen: tuple[type[Exception], ...] = ()) -> None:
        self._logger = logging.getLogger(name)
        self._beginnings = beginnings
        self._foreseen = foreseen
        if beginnings:
            self._logger.addFilter(self._is_no_run)

    def _is_no_run(self, record: logging.LogRecord) -> bool:
        held = _held.get()
        if held is None or not str(record.msg).startswith(self._beginnings):
            return True
        held.append(record)
        return False

    @contextmanager
    def held(self) -> Iterator[list[logging.LogRecord]]:
        """Hold back what the server logs of the runs of a call."""
        held: list[logging.LogRecord] = []
        token = _held.set(held)
        try:
            yield held
        finally:
            _held.reset(token)

    def failed(self, failure: Failure, held: list[logging.LogRecord] | None = None) -> None:
        """Log a failed call, in one line; with its traceback if it is an exception that its author did not foresee."""
        if not is_silent(logging.ERROR if failure.is_crash else logging.WARNING):
            return
        raised = failure.exception.__cause__
        if held:
            record = held[-1]
            record.msg, record.args = f"{record.getMessage()} (error id {failure.error_id})", ()
            self._logger.handle(record)
        elif failure.is_crash or (isinstance(raised, Exception) and not isinstance(raised, self._foreseen)):
            facts = (failure.operation, failure.error_id)
            self._logger.error(
                "Tool %r raised an unexpected exception (error id %s)", *facts, exc_info=raised or failure.exception
            )
        else:
            self._logger.info("Tool %r failed (error id %s): %r", failure.operation, failure.error_id, failure.message)
