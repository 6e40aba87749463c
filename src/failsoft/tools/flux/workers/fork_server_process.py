"""The fork server process, with cobra and models preloaded, so that a worker starts in milliseconds.

It has one thread and never runs a task, so a fork copies no lock that is held. It ends when its control socket
closes, which the end of the server does, and its workers end with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final

FORK: Final = b"F"
"""Followed by a process id of 0, with the worker's socket: fork; the answer is the process id."""
REAP: Final = b"R"
"""Followed by the process id of a worker that has ended or is about to: the answer is how it ended."""
ANSWER: Final = struct.Struct("<q")
_REQUEST: Final = struct.Struct("<cq")
_PR_SET_PDEATHSIG = 1


def ask(control: socket.socket, request: bytes, pid: int = 0, *, passed: int | None = None) -> int:
    """Send a request to the fork server and return its answer.

    Raises:
        EOFError: The fork server is gone.
    """
    socket.send_fds(control, [_REQUEST.pack(request, pid)], [] if passed is None else [passed])
    answer = control.recv(ANSWER.size, socket.MSG_WAITALL)
    if len(answer) < ANSWER.size:
        raise EOFError
    return int(ANSWER.unpack(answer)[0])


def main(control_fd: int, options: Mapping[str, Any]) -> None:
    """Load what workers need, then fork one for each request, until the server is gone."""
    for number in (signal.SIGINT, signal.SIGTERM):  # they reach the whole group, and the server may have calls to end
        signal.signal(number, signal.SIG_IGN)
    control = socket.socket(fileno=control_fd)
    _load(options)
    gc.collect()
    gc.freeze()  # or the first collection in a worker would copy every page that it shares with the others
    with contextlib.suppress(ConnectionError):  # a server that was killed with something unread
        while _serve(control):
            pass


def _serve(control: socket.socket) -> bool:
    """Handle the next request; return whether there may be more."""
    data, passed, _, _ = socket.recv_fds(control, _REQUEST.size, 1)
    if len(data) < _REQUEST.size:
        return False
    request, pid = _REQUEST.unpack(data)
    answer = _fork(control, passed[0]) if request == FORK else _reap(pid)
    control.sendall(ANSWER.pack(answer))
    return True


def _load(options: Mapping[str, Any]) -> None:
    models = importlib.import_module("failsoft.tools.flux.work.solving.models")
    importlib.import_module("failsoft.tools.flux.workers.worker_process")  # now, so that no worker has to
    for name in ("facts", "modifying", "fba", "exporting"):
        importlib.import_module(f"failsoft.tools.flux.work.solving.{name}")
    models.configure(models_at_most=options["models_at_most"])
    for name in options["preload"]:
        try:
            models.preload(name)
        except Exception:  # noqa: BLE001 - the call that needs the model loads it and reports the error
            traceback.print_exc()


def _fork(control: socket.socket, fd: int) -> int:
    end_with_parent = ending_with_this_process()
    pid = os.fork()
    if pid:
        os.close(fd)
        return pid
    code = 1
    try:
        control.close()
        end_with_parent()
        serving = importlib.import_module("failsoft.tools.flux.workers.worker_process")
        serving.serve(socket.socket(fileno=fd))
        code = 0
    except BaseException:  # noqa: BLE001 - a worker must never go on as a second fork server
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def ending_with_this_process() -> Callable[[], None]:
    """Return a function for a child process: from then on the kernel kills it when this process ends (Linux only).

    A child that computes does not read a socket or a pipe, and would not notice.
    """
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    parent = os.getpid()

    def end_with_parent() -> None:
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:  # it ended before that was set
            os._exit(1)

    return end_with_parent


def _reap(pid: int) -> int:
    """End a worker, unless it has ended, and return how it did: minus the number of a signal, or its exit code."""
    try:
        os.kill(pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except (ChildProcessError, ProcessLookupError):
        return 0
