"""Worker processes on one port: started, watched, replaced and ended by their supervisor."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import spawn
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FrameType
from typing import Literal

from filelock import FileLock, Timeout as FileLockTimeout

from failsoft.framework.errors import ConfigurationError, InitializationError, ToolError
from failsoft.framework.events import WorkerEvent
from failsoft.framework.safe.author_reports import logger
from failsoft.metrics.board import Board, Boards, WorkerFacts, in_use, use
from failsoft.server.assembly import Assembly
from failsoft.server.draining import CLEANUP_S
from failsoft.server.http.process.process import HURRY, AppFactory, run_server
from failsoft.server.http.process.restarts import FIRST_PAUSE_S, Restarts, Silence
from failsoft.server.reload import HANG_UP, kept_recovery
from failsoft.server.signals import signals_handled

_FOLDER_PREFIX, _LOCK_NAME = "failsoft-boards-", "in-use.lock"
_BEING_SET_UP_S = 60.0
"""How old a folder without a lock has to be, in seconds, before it counts as abandoned."""
_KEEP_EVERY_S = 3600.0
"""How often the files of the folder get a new age, in seconds."""
_CHANGING_TICK_S, _TICK_S_AT_MOST = 0.1, 1.0
"""How often workers are looked at, in seconds: while they start or end, and at most otherwise."""
_ACCEPTING = {"ready", "draining"}
"""The phases in which a worker accepts connections."""
_ENDING = {"draining", "stopped"}
_AFTER_GRACE_S = 2.0
"""How much later than the grace period a stalled worker is killed, in seconds; most end themselves before that."""
_spawn = multiprocessing.get_context("spawn")


@dataclass(slots=True)
class _Worker:
    """The place of a worker, whichever process fills it."""

    slot: int
    process: SpawnProcess | None = None
    pid: int = 0
    restarts: Restarts = field(default_factory=Restarts)
    started: int = 0
    """How many processes were started in its place."""
    start_at_s: float = 0.0
    """When the process started, or the next one starts."""
    ready_at_s: float | None = None
    kill_at_s: float | None = None
    """When it is killed; None unless it is stalled or ends."""
    is_stalled: bool = False
    is_late: bool = False
    """Whether it was logged that the process takes long to start."""


class Supervisor:
    """Runs worker processes; one that ends is replaced, one that does not end in time is killed.

    Args:
        factory: Makes the app in each of them.
        listener: A bound socket; the first worker that is ready listens on it.
        assembly: The server as this process has assembled it; it is not served.
        folder: Where their boards are.
        workers: How many.
        on_ready: Called once a worker can answer.

    Raises:
        CONFIG_ERROR: The tools cannot be made by another process, or there can be none.
    """

    def __init__(
        self,
        factory: AppFactory,
        listener: socket.socket,
        assembly: Assembly,
        folder: Path,
        *,
        workers: int,
        on_ready: Callable[[], None],
    ) -> None:
        _check_sendable(factory)
        _check_interpreter()
        settings = assembly.settings
        self._factory = factory
        self._listener = listener
        self._folder = folder
        self._boards = Boards(folder)
        self._publish = assembly.tools[0].runtime.events.publish
        self._rereads = any(tool.runtime.settings.recovery_file is not None for tool in assembly.tools)
        self._grace_s = settings.shutdown_grace_s
        self._silence = Silence(settings.worker_stall_s, time.monotonic())
        self._tick_s = min(_TICK_S_AT_MOST, settings.worker_stall_s / 4)
        self._workers = [_Worker(slot) for slot in range(workers)]
        self._has_served = False
        self._keep_at_s = time.monotonic() + _KEEP_EVERY_S
        self._on_ready = on_ready
        self._signals = 0
        self._woken, self._waker = _spawn.Pipe(duplex=False)

    def run(self) -> None:
        """Supervise until a signal.

        Raises:
            INIT_ERROR: No worker started; each has logged why.
        """
        hang_up = HANG_UP if self._rereads else ()
        with signals_handled(self._asked_to_end), signals_handled(self._pass_on, hang_up):
            try:
                while not self._signals:
                    try:
                        self._look()
                    except OSError as error:  # for want of file descriptors, say; the workers serve on
                        logger.error("The workers cannot be looked at for now: {}", error)
                    if not self._has_served and all(worker.restarts.ends for worker in self._workers):
                        raise InitializationError(component="worker processes")
                    self._wait()
            finally:
                self._end_all()

    def _look(self) -> None:
        now_s = time.monotonic()
        self._silence.look(now_s)
        if now_s >= self._keep_at_s:
            self._keep_at_s = now_s + _KEEP_EVERY_S
            keep_folder(self._folder)
        facts = sorted(self._boards.workers(), key=lambda found: found.beat_age_s, reverse=True)
        latest = {found.slot: found for found in facts}
        for worker in self._workers:
            if worker.process is None:
                if now_s >= worker.start_at_s:
                    self._start(worker)
            elif worker.process.exitcode is not None:
                self._replace(worker)
            else:
                self._check(worker, worker.process, latest.get(worker.slot), now_s)
        if all(worker.process is None for worker in self._workers):
            self._refuse_connections()

    def _start(self, worker: _Worker) -> None:
        process = _spawn.Process(
            target=_work,
            args=(self._factory, self._listener, self._folder, worker.slot, worker.started),
            name=f"worker {worker.slot}",
        )
        try:
            with _interrupts_blocked():
                process.start()
        except OSError as error:  # too many processes or open files, or too little memory
            logger.error("Worker {} was not started: {}", worker.slot, error)
            self._plan_start(worker, served_s=0.0, pause_s=FIRST_PAUSE_S)
            return
        worker.process, worker.pid, worker.started = process, process.pid or 0, worker.started + 1
        worker.start_at_s, worker.is_late = time.monotonic(), False

    def _check(self, worker: _Worker, process: SpawnProcess, facts: WorkerFacts | None, now_s: float) -> None:
        """Look at a process that lives: whether it is ready, and whether its event loop runs."""
        if worker.kill_at_s is not None and now_s >= worker.kill_at_s:
            process.kill()
            return
        age_s = now_s - worker.start_at_s
        if facts is not None and facts.beat_age_s <= age_s and facts.phase in _ENDING and worker.kill_at_s is None:
            worker.kill_at_s = now_s + self._grace_s + CLEANUP_S + _AFTER_GRACE_S  # a thread may keep it from ending
        if facts is None or facts.phase != "ready" or facts.beat_age_s > age_s:  # else the board of its predecessor
            if worker.ready_at_s is None and not worker.is_late and age_s > self._silence.limit_s:
                worker.is_late = True
                logger.warning("Worker {} (process {}) has been starting for {:.0f} s", worker.slot, worker.pid, age_s)
            return
        if worker.ready_at_s is None:
            worker.ready_at_s, worker.pid = now_s, facts.pid
            self._publish(WorkerEvent(kind="started", pid=facts.pid))
            if not self._has_served:
                self._has_served = True
                self._on_ready()
        if worker.kill_at_s is None and self._silence.is_stall(facts.beat_age_s):
            self._publish(WorkerEvent(kind="stalled", pid=facts.pid, operation=facts.running))
            worker.is_stalled, worker.kill_at_s = True, now_s + self._grace_s + _AFTER_GRACE_S
            process.terminate()  # the calls in its threads may finish, and all of them if the loop runs again

    def _replace(self, worker: _Worker) -> None:
        """Log the end of a process, and decide when the next one starts."""
        served_s = 0.0 if worker.ready_at_s is None else time.monotonic() - worker.ready_at_s
        self._ended(worker, "stalled" if worker.is_stalled else "exited")
        worker.ready_at_s, worker.kill_at_s, worker.is_stalled = None, None, False
        self._plan_start(worker, served_s)

    def _plan_start(self, worker: _Worker, served_s: float, pause_s: float = 0.0) -> None:
        """Decide when the next process starts, after a pause of at least `pause_s`."""
        worker.restarts = worker.restarts.after(served_s)
        worker.start_at_s = time.monotonic() + max(pause_s, worker.restarts.pause_s)
        if worker.restarts.is_loop:
            logger.critical(
                "Worker {} has ended {} times in a row soon after its start; it is started again after growing pauses",
                worker.slot,
                worker.restarts.ends,
            )
        elif worker.restarts.pause_s:
            logger.warning("Worker {} is started again in {} s", worker.slot, worker.restarts.pause_s)

    def _ended(self, worker: _Worker, reason: Literal["exited", "stalled", "stopped"]) -> None:
        process, worker.process = worker.process, None
        if process is not None:
            process.join()
            event = WorkerEvent(kind="ended", pid=worker.pid, exit_status=process.exitcode, reason=reason)
            process.close()
            with suppress(OSError):  # a scrape reads the board of a dead worker, too
                self._boards.retire(worker.slot)
            if reason != "stopped" and (board := in_use()) is not None:
                board.note_end(reason)
            self._publish(event)

    def _refuse_connections(self) -> None:
        """Stop listening until a worker is ready, so that a proxy tries another replica; on Linux only.

        As long as the listener is open, the system accepts connections that nothing would answer. Shut down while it
        does not listen, it would give all connections that it accepts later an end of input.
        """
        with suppress(OSError):
            if self._listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                self._listener.shutdown(socket.SHUT_RD)

    def _wait(self) -> None:
        """Wait for the end of a worker, a signal or the next look."""
        is_changing = self._signals > 0 or any(worker.ready_at_s is None for worker in self._workers)
        tick_s = min(_CHANGING_TICK_S, self._tick_s) if is_changing else self._tick_s
        sentinels = [worker.process.sentinel for worker in self._workers if worker.process is not None]
        if self._woken in wait([*sentinels, self._woken], tick_s):
            self._woken.recv_bytes()

    def _end_all(self) -> None:
        """End the workers gracefully; kill those that do not end in time: a stopped one handles no signal."""
        until_s = time.monotonic() + self._grace_s + CLEANUP_S
        has_hurried = False
        self._send(signal.SIGTERM)
        while remaining := [worker for worker in self._workers if worker.process is not None]:
            if self._signals > 1 and not has_hurried and HURRY is not None:
                has_hurried = True
                self._send(HURRY)
            for worker in remaining:
                process = worker.process
                if process is not None and process.exitcode is None and time.monotonic() >= until_s:
                    logger.error("The worker {} did not end in time, so it is killed", process.pid)
                    process.kill()
                    process.join()
                if process is not None and process.exitcode is not None:
                    self._ended(worker, "stopped")
            with suppress(OSError):
                if not any(found.is_alive and found.phase in _ACCEPTING for found in self._boards.workers()):
                    self._refuse_connections()
            self._wait()

    def _send(self, number: int, *, ready_only: bool = False) -> None:
        for worker in self._workers:
            process = worker.process
            if process is not None and process.pid is not None and (worker.ready_at_s is not None or not ready_only):
                with suppress(OSError):
                    os.kill(process.pid, number)

    def _asked_to_end(self, _number: int, _frame: FrameType | None) -> None:
        self._signals += 1
        self._waker.send_bytes(b"")

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        self._send(number, ready_only=True)  # others have no handler yet, and read the file anyway


def _work(factory: AppFactory, listener: socket.socket, folder: Path, slot: int, restarts: int) -> None:
    """Run a worker; what follows is in a process of its own."""
    use(Board.create(folder, slot=slot, restarts=restarts))
    with signals_handled(lambda *_: None, (signal.SIGINT,)):  # the supervisor sends SIGTERM
        _block_interrupts(signal.SIG_UNBLOCK)
        try:
            with kept_recovery(folder):
                app = factory()
            run_server(app, listener, on_ready=lambda: None)
        except ToolError as error:
            logger.opt(exception=error).error("The worker did not start: {} {}", error.code, error.message)
            sys.exit(1)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Let processes that are started meanwhile block SIGINT, which a terminal sends to them, too."""
    _block_interrupts(signal.SIG_BLOCK)
    try:
        yield
    finally:
        _block_interrupts(signal.SIG_UNBLOCK)


def _block_interrupts(how: int) -> None:
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(how, {signal.SIGINT})


def _check_sendable(factory: AppFactory) -> None:
    try:
        pickle.dumps(factory)
    except Exception as error:
        raise ConfigurationError(
            issue=f"another process cannot make these tools ({type(error).__name__})",
            resolution="with workers, give classes, a function of a module, or module:attribute",
        ) from error


def _check_interpreter() -> None:
    """Refuse an interpreter that this user may not execute: each worker would end with status 255 and no word."""
    python = os.fsdecode(spawn.get_executable() or "")
    if os.name == "posix" and not os.access(python, os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise ConfigurationError(
            issue=f"worker processes cannot start: the user of this server may not execute {python}",
            resolution="install Python and the virtual environment outside of /root and /home, as below /opt",
        )


@contextmanager
def board_folder() -> Iterator[Path]:
    """Make the folder of the workers' boards, for the length of the block.

    It is locked while it is in use, so that a later server can remove the folder of one that was killed.
    """
    _remove_abandoned_folders()
    folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX))
    try:
        with FileLock(folder / _LOCK_NAME):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def keep_folder(folder: Path) -> None:
    """Give a folder and its files a new age, or what cleans up temporary files would remove them after some days."""
    for kept in (folder, *folder.glob("*")):
        with suppress(OSError):  # the board may have been removed
            os.utime(kept)


def _remove_abandoned_folders() -> None:
    """Remove this user's folders that no server holds; one that is just being set up is left alone."""
    oldest = time.time() - _BEING_SET_UP_S
    user = os.getuid() if hasattr(os, "getuid") else 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*"):
        with suppress(OSError, FileLockTimeout):
            facts = folder.lstat()
            if stat.S_ISDIR(facts.st_mode) and facts.st_uid == user and facts.st_mtime < oldest:
                with FileLock(folder / _LOCK_NAME, timeout=0):
                    shutil.rmtree(folder, ignore_errors=True)
