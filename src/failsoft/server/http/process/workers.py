"""Worker processes on one port, under uvicorn's supervisor, with aggregated metrics."""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout as FileLockTimeout
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from failsoft.framework.errors import ConfigurationError, InitializationError
from failsoft.framework.safe.author_reports import logger
from failsoft.server.http.connections import ConnectionLimits
from failsoft.server.http.process.app_factory import AppFactory
from failsoft.server.http.process.uvicorn_config import config_for

_READY_WITHIN_S = 60.0
_METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_FOLDER_PREFIX, _LOCK_NAME = "failsoft-metrics-", "in-use.lock"
_BEING_SET_UP_S = 60.0
"""How old a folder without a lock has to be, in seconds, before it counts as abandoned."""


def serve_workers(
    factory: AppFactory,
    listener: socket.socket,
    *,
    limits: ConnectionLimits,
    workers: int,
    end_within_s: float,
    on_ready: Callable[[], None],
) -> None:
    """Run worker processes until a signal; one that dies is replaced, one that does not end in time is killed.

    Raises:
        CONFIG_ERROR: The tools cannot be made by another process.
        INIT_ERROR: The workers did not start; each has logged why.
    """
    _check_sendable(factory)
    with _metrics_folder():
        listener.set_inheritable(True)
        supervisor = _Supervisor(factory, listener, limits, workers, on_ready)
        supervisor.end_within_s = end_within_s
        supervisor.run()
        if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
            raise InitializationError(component="worker processes")


class _Supervisor(Multiprocess):
    """uvicorn's supervisor with a longer start-up allowance, and removal of the gauges of dead workers.

    uvicorn kills a worker that does not answer in time. On a busy machine a worker that is still importing its tools
    takes longer than that, and would be replaced over and over.
    """

    end_within_s: float

    def __init__(
        self,
        factory: AppFactory,
        listener: socket.socket,
        limits: ConnectionLimits,
        workers: int,
        on_ready: Callable[[], None],
    ) -> None:
        super().__init__(config_for(factory, limits=limits, workers=workers, factory=True), [listener])
        self._on_ready = on_ready
        self._interrupted = _Signalled(self.signal_queue)

    def init_processes(self) -> None:
        super().init_processes()
        if self._wait_for(self.processes):
            self._on_ready()

    def keep_subprocess_alive(self) -> None:
        before = {process.pid for process in self.processes}
        super().keep_subprocess_alive()
        self._wait_for([process for process in self.processes if process.pid not in before])
        for pid in before - {process.pid for process in self.processes}:
            _forget_gauges(pid)

    def join_all(self) -> None:
        """Wait for the workers, and kill those that do not end: a stopped one handles no signal."""
        until = time.monotonic() + self.end_within_s
        for worker in self.processes:
            worker.process.join(max(0.0, until - time.monotonic()))
            if worker.process.is_alive():
                logger.error("The worker {} did not end in time, so it is killed", worker.pid)
                worker.process.kill()
        super().join_all()

    def _wait_for(self, processes: list[Process]) -> bool:
        return all(process.wait_until_ready(_READY_WITHIN_S, self._interrupted) for process in processes)


class _Signalled(threading.Event):
    """Set while a signal is pending; the supervisor handles signals only between two health checks."""

    def __init__(self, signals: list[int]) -> None:
        super().__init__()
        self._signals = signals

    def is_set(self) -> bool:
        return bool(self._signals)


def _check_sendable(factory: AppFactory) -> None:
    try:
        pickle.dumps(factory)
    except Exception as error:
        raise ConfigurationError(
            issue=f"another process cannot make these tools ({type(error).__name__})",
            resolution="with workers, give classes, a function of a module, or module:attribute",
        ) from error


@contextmanager
def _metrics_folder() -> Iterator[None]:
    """Set up the folder of prometheus_client's multiprocess mode; it must exist before the first worker starts.

    It is locked while it is in use, so that a later server can remove the folder of one that was killed.
    """
    if os.environ.get(_METRICS_FOLDER):
        yield
        return
    _remove_abandoned_folders()
    folder = tempfile.mkdtemp(prefix=_FOLDER_PREFIX)
    os.environ[_METRICS_FOLDER] = folder
    try:
        with FileLock(Path(folder, _LOCK_NAME)):
            yield
    finally:
        del os.environ[_METRICS_FOLDER]
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned_folders() -> None:
    """Remove this user's metrics folders that no server holds; one that is just being set up is left alone."""
    oldest = time.time() - _BEING_SET_UP_S
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*"):
        with suppress(OSError, FileLockTimeout):
            facts = folder.lstat()
            if stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and facts.st_mtime < oldest:
                with FileLock(folder / _LOCK_NAME, timeout=0):
                    shutil.rmtree(folder, ignore_errors=True)


def _forget_gauges(pid: int | None) -> None:
    from failsoft.metrics import forget_worker  # noqa: PLC0415 - the supervisor records no metrics

    try:
        if pid is not None:
            forget_worker(pid)
    except OSError as error:
        logger.opt(exception=error).warning("The gauges of a dead worker could not be removed")
