"""A worker: messages, the deadline and the progress of a task, and the loop that runs tasks."""

from __future__ import annotations

import contextlib
import pickle
import resource
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, Final

from failsoft.framework.errors import ToolError

LENGTH: Final = struct.Struct("<Q")


def pack(message: Any) -> bytes:
    """Return a message as it is sent."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


def unpack(body: bytes | bytearray) -> Any:
    """Return what was packed; the length has been read before."""
    return pickle.loads(body)  # noqa: S301 - from a child process, over a private socket pair


def receive(sender: socket.socket) -> Any:
    """Return the next message of a blocking socket.

    Raises:
        EOFError: The other side is gone.
    """
    (length,) = LENGTH.unpack(_exactly(sender, LENGTH.size))
    return unpack(_exactly(sender, length))


def _exactly(sender: socket.socket, size: int) -> bytearray:
    held = bytearray(size)
    view = memoryview(held)
    while view:
        read = sender.recv_into(view)
        if not read:
            raise EOFError
        view = view[read:]
    return held


_send: Callable[[tuple[Any, ...]], None] | None = None
_deadline: float | None = None


def begin(send: Callable[[tuple[Any, ...]], None] | None, limit_s: float | None) -> None:
    """Note how the next task reports, and its limit in seconds; the worker calls this before each task."""
    global _send, _deadline  # noqa: PLW0603 - a worker runs one task at a time, and tasks are plain functions
    _send = send
    _deadline = None if limit_s is None else time.monotonic() + limit_s


def progress(done: float, total: float | None = None, message: str | None = None) -> None:
    """Report the progress of the task; outside of a worker it does nothing."""
    if _send is not None:
        _send(("progress", done, total, message))


def remaining_s() -> float | None:
    """Return the seconds before the call's deadline, at least 0; None without one."""
    return None if _deadline is None else max(0.0, _deadline - time.monotonic())


def serve(server: socket.socket) -> None:
    """Run the tasks that come, until the server is gone."""
    while True:
        try:
            task, arguments, named, limit_s = receive(server)
        except (EOFError, ConnectionError):
            return
        begin(lambda message: server.sendall(pack(message)), limit_s)
        answer = _answer(task, arguments, named)
        begin(None, None)
        try:
            server.sendall(answer)
        except ConnectionError:
            return


def _answer(task: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> bytes:
    """Return what came of a task, packed: its value, the typed error that it raised, or a crash in words.

    Any other exception goes as text: the server, which has not loaded cobra, could not even read it.
    """
    try:
        return pack(("done", task(*arguments, **named), _peak_bytes()))
    except ToolError as error:
        return pack(("failed", error, _peak_bytes()))
    except BaseException as error:  # noqa: BLE001 - a task must not end the worker without an answer
        with contextlib.suppress(Exception):
            traceback.clear_frames(error.__traceback__)
        return pack(("crashed", (type(error).__name__, str(error), traceback.format_exc()), _peak_bytes()))


def _peak_bytes() -> int:
    """Return the most memory that this process ever had, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
