"""A worker process: its messages, its tasks one at a time, and their progress, time limit and memory."""

from __future__ import annotations

import contextlib
import math
import pickle
import resource
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from failsoft.framework.errors import ToolError

LENGTH: Final = struct.Struct("<Q")
"""Precedes each message on the private socket pair between the server and a worker."""

_send: Callable[[tuple[Any, ...]], None] | None = None
_deadline = math.inf


def pack(message: Any) -> bytes:
    """Return a message as it is sent; functions go by reference."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


def unpack(body: bytes | bytearray) -> Any:
    """Return what was packed, without its length."""
    return pickle.loads(body)  # noqa: S301 - from the other end of a private socket pair


def begin(send: Callable[[tuple[Any, ...]], None] | None, limit_s: float | None) -> None:
    """Set how the next task reports progress, and its time limit in seconds."""
    global _send, _deadline  # noqa: PLW0603 - a worker runs one task at a time, and tasks are plain functions
    _send = send
    _deadline = math.inf if limit_s is None else time.monotonic() + limit_s


def progress(done: float, total: float | None = None, message: str | None = None) -> None:
    """Report the progress of the task; outside of a worker it does nothing."""
    if _send is not None:
        _send(("progress", done, total, message))


def call_deadline() -> float:
    """Return when the call's time is up, as `time.monotonic()`; infinite without a limit."""
    return _deadline


@contextlib.contextmanager
def limited_memory(more_bytes: int) -> Iterator[None]:
    """Raise MemoryError in this block where it allocates more than that; on Linux only."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    with contextlib.suppress(OSError, ValueError):
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
        limit = used + more_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (limit if soft == resource.RLIM_INFINITY else min(limit, soft), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def serve(server: socket.socket, *, memory_bytes: int) -> None:
    """Run the tasks that come, until the server is gone.

    Args:
        server: The worker's end of the socket pair.
        memory_bytes: How much memory it may allocate beyond what it was forked with, on Linux; 0 for any amount.
    """
    limited = limited_memory(memory_bytes) if memory_bytes else contextlib.nullcontext()
    with limited, contextlib.suppress(ConnectionError), server.makefile("rb") as received:
        while len(head := received.read(LENGTH.size)) == LENGTH.size:
            body = received.read(*LENGTH.unpack(head))
            answer = _answer(body, lambda message: server.sendall(pack(message)))
            begin(None, None)
            server.sendall(answer)


def _answer(body: bytes, send: Callable[[tuple[Any, ...]], None]) -> bytes:
    """Return what came of a task, packed: its value, the typed error that it raised, or a crash as text.

    Any other exception goes as text: the server, which has not loaded cobra, could not even read it.
    """
    try:
        task, arguments, named, limit_s = unpack(body)
        begin(send, limit_s)
        return pack(("done", task(*arguments, **named), _peak_bytes()))
    except ToolError as error:
        return pack(("failed", error, _peak_bytes()))
    except MemoryError:
        return pack(("exhausted", None, _peak_bytes()))
    except BaseException as error:  # noqa: BLE001 - a task must not end the worker without an answer
        with contextlib.suppress(Exception):
            traceback.clear_frames(error.__traceback__)
        return pack(("crashed", (type(error).__name__, str(error), traceback.format_exc()), _peak_bytes()))


def _peak_bytes() -> int:
    """Return the most memory that this process ever had, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
