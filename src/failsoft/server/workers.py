"""Several processes on one port, by uvicorn's own supervisor, with metrics that add up."""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from loguru import logger
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from failsoft.framework.errors import ConfigurationError, InitializationError
from failsoft.server.app_factory import AppFactory
from failsoft.server.uvicorn_config import config_for

__all__ = ["serve_workers"]

_READY_WITHIN_S = 60.0
_METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def serve_workers(factory: AppFactory, listener: socket.socket, *, workers: int, on_ready: Callable[[], None]) -> None:
    """Run that many processes until a signal ends them; one that dies is replaced.

    Raises:
        CONFIG_ERROR: The tools cannot be made by another process.
        INIT_ERROR: The workers did not start; each has logged why.
    """
    _check_sendable(factory)
    with _metrics_folder():
        listener.set_inheritable(True)
        supervisor = _Supervisor(factory, listener, workers, on_ready)
        supervisor.run()
        if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
            raise InitializationError(component="worker processes")


class _Supervisor(Multiprocess):
    """uvicorn's supervisor, patient with workers that start, and forgetting the gauges of those that have died.

    uvicorn takes a worker that does not answer for a hung one and kills it. On a busy machine one that still loads its
    tools does not answer for longer than that, so that it would be replaced over and over.
    """

    def __init__(
        self, factory: AppFactory, listener: socket.socket, workers: int, on_ready: Callable[[], None]
    ) -> None:
        super().__init__(config_for(factory, workers=workers, factory=True), [listener])
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

    def _wait_for(self, processes: list[Process]) -> bool:
        return all(process.wait_until_ready(_READY_WITHIN_S, self._interrupted) for process in processes)


class _Signalled(threading.Event):
    """Set while a signal waits to be dealt with: the supervisor reads its signals only between two looks around."""

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
    """Set up the folder through which the workers' metrics are added up; it must exist before the first one starts."""
    if os.environ.get(_METRICS_FOLDER):
        yield
        return
    folder = tempfile.mkdtemp(prefix="failsoft-metrics-")
    os.environ[_METRICS_FOLDER] = folder
    try:
        yield
    finally:
        del os.environ[_METRICS_FOLDER]
        shutil.rmtree(folder, ignore_errors=True)


def _forget_gauges(pid: int | None) -> None:
    from failsoft.metrics import forget_worker  # noqa: PLC0415 - the supervisor itself counts nothing

    try:
        if pid is not None:
            forget_worker(pid)
    except OSError as error:
        logger.opt(exception=error).warning("The gauges of a dead worker could not be removed")
