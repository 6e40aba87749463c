"""The fork server: a process that has loaded what its workers need, from which one is forked in milliseconds.

`ForkServer` is the server's end of it, `main` what the process runs. The process has one thread and never runs a task,
so a fork copies no lock that is held. It ends when its control socket closes; its workers end with it, or end their
tasks first (`outlives`).
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from failsoft.jobs.processes.worker import serve

_BOOT: Final = (
    "import gc, json, sys; gc.disable(); given = json.loads(sys.argv[1]); sys.path[:] = given.pop('path'); "
    "from failsoft.jobs.processes.fork_server import main; main(**given)"
)
_ONE_THREAD: Final = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""A fork copies only one thread, so no other thread may hold locks; the solvers need only one."""
_FORK: Final = b"F"
"""Followed by a process id of 0, with the worker's socket: fork; the answer is the process id."""
_REAP: Final = b"R"
"""Followed by the process id of a worker that has ended or is about to: the answer is how it ended."""
_ANSWER: Final = struct.Struct("<q")
_REQUEST: Final = struct.Struct("<cq")
_PR_SET_PDEATHSIG: Final = 1
_LEAVING_S: Final = 0.5
"""How long a fork server that outlives this process may take to end if none of its workers has a task, in seconds."""
_is_fork_server = False
"""Whether this process is one, or was forked from one that is still loading what its workers need."""
_left: list[subprocess.Popen[bytes]] = []
"""Fork servers that were left with tasks."""


@dataclass(slots=True, eq=False)
class Worker:
    """A worker process, from the side of the server.

    Attributes:
        pid: Its process id, which is not reused before `reap`.
        channel: Where tasks go in and answers come out.
        generation: Which fork server it comes from.
        tasks: Tasks that it has had.
        peak_bytes: The most memory that it ever had, by its last answer.
    """

    pid: int
    channel: socket.socket
    generation: int
    tasks: int = 0
    peak_bytes: int = 0

    def is_alive(self) -> bool:
        """Return whether its socket is open; an idle worker sends nothing."""
        try:
            return bool(self.channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return True
        except OSError:
            return False


class ForkServer:
    """Starts the process on first use, and again if it ends; has it fork workers, and ends them.

    Everything here blocks for milliseconds, the first `fork` for seconds: call it from threads.

    Args:
        load: What the process calls once, as `module:function`; it must start no thread.
        given: Its keyword arguments, JSON values.
        memory_bytes: What a worker may allocate beyond the memory that it shares with the others; 0 for any amount.
        outlives: Whether workers run their tasks to the end when this process, or the fork server, is gone.
    """

    def __init__(self, load: str, given: Mapping[str, Any], *, memory_bytes: int = 0, outlives: bool = False) -> None:
        self._options = {"load": load, "given": dict(given), "memory_bytes": memory_bytes, "outlives": outlives}
        self._outlives = outlives
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._owner = os.getpid()
        self._is_closing = False
        self.generation = 0

    def fork(self) -> Worker:
        """Return a new worker.

        Raises:
            OSError: The system cannot start a process, or this process is itself a fork server: the program that it has
                imported begins to serve when it is imported.
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
        """End a worker unless it has ended; return its exit code, or minus the number of the signal that killed it."""
        worker.channel.close()
        with self._lock:
            if worker.generation != self.generation or self._control is None:
                return 0
            try:
                return _ask(self._control, _REAP, worker.pid)
            except (EOFError, OSError):
                return 0

    def close(self) -> None:
        """End the fork server; wait until it is gone. A later `fork` would start another.

        Its workers end with it; those that outlive it end when their tasks have.
        """
        if os.getpid() != self._owner:  # a copy in a process that was forked from the server's: not its own to end
            return
        self._is_closing = True
        process = self._process
        if (
            process is not None and not self._outlives
        ):  # without the lock: one that is still loading would hold it for seconds
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
                pid = _ask(self._control, _FORK, passed=theirs.fileno())
        except BaseException:
            ours.close()
            raise
        ours.setblocking(False)  # noqa: FBT003 - the method takes nothing else
        return Worker(pid, ours, self.generation)

    def _start(self) -> None:
        if _is_fork_server:  # or each of them would start another
            msg = 'a program that serves when it is imported: put that under `if __name__ == "__main__":`'
            raise OSError(msg)
        self._end()
        ours, theirs = socket.socketpair()
        given = {"path": sys.path, "control_fd": theirs.fileno(), **self._options}
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
            if not self._outlives:
                self._process.kill()  # its workers are killed with it
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LEAVING_S if self._outlives else None)
            if self._process.returncode is None:
                _left.append(self._process)
            self._process = None


def _ask(control: socket.socket, request: bytes, pid: int = 0, *, passed: int | None = None) -> int:
    socket.send_fds(control, [_REQUEST.pack(request, pid)], [] if passed is None else [passed])
    answer = control.recv(_ANSWER.size, socket.MSG_WAITALL)
    if len(answer) < _ANSWER.size:
        raise EOFError
    return int(_ANSWER.unpack(answer)[0])


def main(control_fd: int, load: str, given: Mapping[str, Any], memory_bytes: int, *, outlives: bool) -> None:
    """Load what workers need, then fork one for each request, until the server is gone."""
    global _is_fork_server  # noqa: PLW0603 - a process is one or is none
    _is_fork_server = True
    for number in (signal.SIGINT, signal.SIGTERM):  # they reach the whole group, and the server may have calls to end
        signal.signal(number, signal.SIG_IGN)
    control = socket.socket(fileno=control_fd)
    gc.disable()  # what is loaded stays
    module, _, function = load.partition(":")
    getattr(importlib.import_module(module), function)(**given)
    gc.freeze()  # or the first collection in a worker would copy every page that it shares with the others
    gc.enable()
    with contextlib.suppress(ConnectionError):  # a server that was killed with something unread
        while len((received := socket.recv_fds(control, _REQUEST.size, 1))[0]) == _REQUEST.size:
            request, pid = _REQUEST.unpack(received[0])
            is_fork = request == _FORK
            answer = _fork(control, received[1][0], memory_bytes, outlives=outlives) if is_fork else _reap(pid)
            control.sendall(_ANSWER.pack(answer))
    control.close()
    if outlives:  # the parent of workers that go on is there until they have ended
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()


def _fork(control: socket.socket, fd: int, memory_bytes: int, *, outlives: bool) -> int:
    end_with_parent = ending_with_this_process()
    pid = os.fork()
    if pid:
        os.close(fd)
        return pid
    code = 1
    try:
        control.close()
        if not outlives:
            end_with_parent()
        serve(socket.socket(fileno=fd), memory_bytes=memory_bytes)
        code = 0
    except BaseException:  # noqa: BLE001 - a worker must never go on as a second fork server
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def ending_with_this_process() -> Callable[[], None]:
    """Return a function for a child process: from then on the kernel kills it when this process ends (Linux only).

    A child that computes does not read a socket or a pipe, and would not notice. Its memory is not limited.
    """
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    parent = os.getpid()

    def end_with_parent() -> None:
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:  # it ended before that was set
            os._exit(1)
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))

    return end_with_parent


def _reap(pid: int) -> int:
    """End a worker, unless it has ended, and return how it did: minus the number of a signal, or its exit code."""
    try:
        os.kill(pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except (ChildProcessError, ProcessLookupError):
        return 0
