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
from failsoft.framework.normalize.rules import Inside, Table, Verdict, read, type_name, unknown

__all__ = ["TABLES"]


def _stop(exc: BaseException) -> ToolError:
    """Return the error for a tool that tried to end the server it runs in."""
    return UnknownError(
        message=f"The tool tried to end the program that runs it ({type_name(exc)}).", type_name=type_name(exc)
    )


def _stray_cancellation(exc: BaseException) -> ToolError:
    """Return the error for a cancellation that nobody asked for: a part of the tool's own work was cancelled."""
    return UnknownError(
        message=f"A part of the tool's own work was cancelled ({type_name(exc)}).", type_name=type_name(exc)
    )


def _program(exc: Any) -> ToolError:
    error = UpstreamError(message="A program that this tool runs reported a failure.")
    status = read(exc, "returncode")
    if isinstance(status, int):
        error.details["exit_status"] = status
    return error


def _last_attempt(exc: Any) -> Inside | None:
    """Return what the last attempt raised, for tenacity's `RetryError`."""
    last = read(read(exc, "last_attempt"), "exception")
    cause = last() if callable(last) else None
    return Inside(cause, lambda _: unknown(cause)) if isinstance(cause, BaseException) else None


_SLOW = Verdict(Timeout)
_CLOSED = Verdict(Unavailable, "The other side closed the connection.")
_QUEUE = Verdict(Overloaded, "A queue of work in this server is full.")
_WORKER = Verdict(InternalError, "A worker process of this tool has died.")

TABLES: dict[str, Table] = {
    "builtins": {
        "MemoryError": Verdict(Overloaded, "There is not enough memory for this."),
        "NotImplementedError": Verdict(Unsupported),
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
        "ConnectionFailed": Verdict(Unavailable, effect="none"),
    },
    "concurrent": {"CancelledError": _stray_cancellation, "BrokenExecutor": _WORKER, "TimeoutError": _SLOW},
    "multiprocessing": {"TimeoutError": _SLOW},
    "queue": {"Full": _QUEUE},
    "shutil": {"Error": Verdict(StorageError, "Some files could not be copied.")},
    "subprocess": {"CalledProcessError": _program, "TimeoutExpired": Verdict(Timeout)},
    "tenacity": {"RetryError": _last_attempt},
}
