"""Errors of Python and of the libraries that run its work: asyncio, anyio, futures, processes, tenacity."""

from __future__ import annotations

from typing import Any

from failsoft.framework.errors import (
    InternalError,
    Overloaded,
    StorageError,
    Timeout,
    ToolError,
    Unavailable,
    UnknownError,
    Unsupported,
    UpstreamError,
)
from failsoft.framework.normalize.rules import FixedError, Inside, Table, read, type_name, unknown

__all__ = ["TABLES"]


_TRY_LATER = 75
"""EX_TEMPFAIL of sysexits.h; a negative status is the signal that ended the program."""


def _stop(exc: BaseException) -> ToolError:
    """Return the error for a tool that tried to end the server it runs in."""
    return UnknownError(
        message=f"The tool tried to end the program that runs it ({type_name(exc)}).", type_name=type_name(exc)
    )


def _stray_cancellation(exc: BaseException) -> ToolError:
    """Return the error for a stray cancellation: a part of the tool's own work was cancelled."""
    return UnknownError(
        message=f"A part of the tool's own work was cancelled ({type_name(exc)}).", type_name=type_name(exc)
    )


def _program(exc: Any) -> ToolError:
    """Return the error for an exit status: the same call ends so again, unless a signal ended the program."""
    status = read(exc, "returncode")
    ended = f"exited with status {status}" if isinstance(status, int) else "reported a failure"
    error = UpstreamError(message=f"A program that this tool runs {ended}.")
    if isinstance(status, int):
        error.details["exit_status"] = status
    if not isinstance(status, int) or (status >= 0 and status != _TRY_LATER):
        says_why = bool(read(exc, "stderr") or read(exc, "output"))
        error.retry = "after_fix" if says_why else "never"  # type: ignore[misc]  # of this failure, not of its class
        error.actor = "caller" if says_why else "author"  # type: ignore[misc]  # the same
        error.remedy = "If your arguments are the cause, correct them and" if says_why else ""  # type: ignore[misc]  # the same
    return error


def _last_attempt(exc: Any) -> Inside | None:
    """Return what the last attempt raised, for tenacity's `RetryError`."""
    last = read(read(exc, "last_attempt"), "exception")
    cause = last() if callable(last) else None
    return Inside(cause, lambda _: unknown(cause)) if isinstance(cause, BaseException) else None


_SLOW = FixedError(Timeout)
_CLOSED = FixedError(Unavailable, "The other side closed the connection.")
_QUEUE = FixedError(Overloaded, "A queue of work in this server is full.")
_WORKER = FixedError(InternalError, "A worker process of this tool has died.")

TABLES: dict[str, Table] = {
    "builtins": {
        "MemoryError": FixedError(Overloaded, "There is not enough memory for this."),
        "NotImplementedError": FixedError(Unsupported),
        "SystemExit": _stop,
        "KeyboardInterrupt": _stop,
        "GeneratorExit": _stop,
    },
    "asyncio": {
        "CancelledError": _stray_cancellation,
        "IncompleteReadError": _CLOSED,
        "QueueFull": _QUEUE,
    },
    "anyio": {
        "BrokenResourceError": _CLOSED,
        "EndOfStream": _CLOSED,
        "IncompleteRead": _CLOSED,
        "BrokenWorkerProcess": _WORKER,
        "BrokenWorkerInterpreter": _WORKER,
        "ConnectionFailed": FixedError(Unavailable, effect="none"),
    },
    "concurrent": {"CancelledError": _stray_cancellation, "BrokenExecutor": _WORKER, "TimeoutError": _SLOW},
    "multiprocessing": {"TimeoutError": _SLOW},
    "queue": {"Full": _QUEUE},
    "shutil": {"Error": FixedError(StorageError, "Some files could not be copied.")},
    "subprocess": {
        "CalledProcessError": _program,
        "TimeoutExpired": FixedError(Timeout),
        "SubprocessError": FixedError(UpstreamError, "A program that this tool runs could not be started."),
    },
    "tenacity": {"RetryError": _last_attempt},
}
