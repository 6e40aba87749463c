"""The process that workers are forked from, with cobra and models preloaded: its client, and the process itself.

The process has one thread and never runs a task, so a fork copies no lock that is held. It ends when its control
socket closes, which the end of the server does, and its workers end with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final

_BOOT = (
    "import json, sys; given = json.loads(sys.argv[1]); sys.path[:] = given['path']; "
    "from failsoft.tools.flux.workers.fork_server import main; main(given['control'], given['options'])"
)
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""A fork copies only one thread, so no other thread may hold locks; the solvers need only one."""


class Worker:
    """A worker process, from the side of the server.

    Attributes:
        pid: Its process id, which is not reused before `reap`.
        channel: Where tasks go in and answers come out.
        tasks: Tasks that it has had.
        peak_bytes: The most memory that it ever had, by its last answer.
        generation: Which fork server it comes from.
    """

    __slots__ = ("channel", "generation", "peak_bytes", "pid", "tasks")

    def __init__(self, pid: int, channel: socket.socket, generation: int) -> None:
        self.pid = pid
        self.channel = channel
        self.generation = generation
        self.tasks = 0
        self.peak_bytes = 0

    def is_alive(self) -> bool:
        """Return whether its socket is open; an idle worker sends nothing."""
        try:
            return bool(self.channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return True
        except OSError:
            return False


class ForkServer:
    """The process that workers are forked from. It is started on first use, and again if it ends.

    Everything here blocks for milliseconds, the first `fork` for seconds: call it from threads.

    Args:
        options: What the fork server loads: `preload` (names) and `models_at_most`.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = dict(options)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._owner = os.getpid()
        self._is_closing = False
        self.generation = 0

    def fork(self) -> Worker:
        """Return a new worker.

        Raises:
            OSError: The system cannot start a process.
            EOFError: The fork server ends as soon as it is started.
        """
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._start()
            try:
                return self._fork()
            except (EOFError, ConnectionError):
                if self._is_closing:
                    raise
                self._start()
                return self._fork()

    def end(self, worker: Worker) -> None:
        """Kill a worker at once, without waiting for it; `reap` it afterwards."""
        worker.channel.close()
        process = self._process
        is_ours = worker.generation == self.generation and process is not None and process.poll() is None
        if is_ours:  # the workers of another fork server have ended with it, and their ids may be others' by now
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)

    def reap(self, worker: Worker) -> int:
        """Return how a worker ended: its exit code, or minus the number of the signal that killed it."""
        with self._lock:
            if worker.generation != self.generation or self._control is None:
                return 0
            try:
                return ask(self._control, REAP, worker.pid)
            except (EOFError, OSError):
                return 0

    def close(self) -> None:
        """End the fork server and, with it, all workers; wait until it is gone. A later `fork` would start another."""
        if os.getpid() != self._owner:  # a copy in a process that was forked from the server's: not its own to end
            return
        self._is_closing = True
        process = self._process
        if process is not None:  # without the lock: one that is still loading would hold it for seconds
            process.kill()
        with self._lock:
            self._end()
            self._is_closing = False

    def _fork(self) -> Worker:
        if self._control is None:
            raise EOFError
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                pid = ask(self._control, FORK, passed=theirs.fileno())
        except BaseException:
            ours.close()
            raise
        ours.setblocking(False)  # noqa: FBT003 - the method takes nothing else
        return Worker(pid, ours, self.generation)

    def _start(self) -> None:
        self._end()
        ours, theirs = socket.socketpair()
        given = {"path": sys.path, "control": theirs.fileno(), "options": self._options}
        try:
            with theirs:
                # Standard output is the protocol's: what a library prints there goes to standard error instead.
                self._process = subprocess.Popen(  # noqa: S603 - this interpreter and a fixed program
                    [sys.executable, "-c", _BOOT, json.dumps(given)],
                    stdin=subprocess.DEVNULL,
                    stdout=2,
                    pass_fds=[theirs.fileno()],
                    env={**os.environ, **_ONE_THREAD},
                )
        except BaseException:
            ours.close()
            raise
        self._control = ours
        self.generation += 1

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()  # its workers are killed with it
            self._process.wait()
            self._process = None


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
    models = importlib.import_module("failsoft.tools.flux.work.making")
    importlib.import_module("failsoft.tools.flux.workers.worker")  # now, so that no worker has to
    for name in ("facts", "analyses", "model_files"):
        importlib.import_module(f"failsoft.tools.flux.work.{name}")
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
        serving = importlib.import_module("failsoft.tools.flux.workers.worker")
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
