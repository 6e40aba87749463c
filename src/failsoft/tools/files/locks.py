"""Exclusive locks for files, across threads and processes.

The lock files are outside the edited tree: inside, they would clutter repositories, and a link in their place could
lead out of the tree. Locks are striped: a file's key selects one of a fixed number of lock files, which are never
removed (removing a lock that another process waits for would split it). Two files may share a lock.
"""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from failsoft.framework.audit.places import make_private
from failsoft.tools.files.faults import FileFault

if TYPE_CHECKING:
    from filelock import BaseFileLock


GiveUp = Callable[[], bool]

_STRIPES = 4096
_POLLED_EVERY_S = 0.05
_POLLED_AT_LEAST_S = 0.001
_POLLED_AT_MOST_S = 0.01


def never() -> bool:
    """Return False: wait until the time limit."""
    return False


class _Stripe:
    """One lock: a mutex, so that the threads of a process wait without polling, and a file between processes."""

    __slots__ = ("file", "mutex")

    def __init__(self, file: str) -> None:
        from filelock import FileLock  # noqa: PLC0415 - 20 ms that no server needs to start

        self.mutex = threading.Lock()
        self.file: BaseFileLock = FileLock(file, thread_local=False)


class Locks:
    """The locks in one folder. All processes that edit the same files must use the same folder.

    Args:
        folder: Where the lock files are; made when it is first needed.
    """

    _stripes: dict[str, _Stripe] = {}  # noqa: RUF012 - of the process: two objects for one folder share the mutexes
    _guard = threading.Lock()

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def hold(self, wanted: Mapping[str, str], *, wait_s: float, give_up: GiveUp = never) -> Iterator[None]:
        """Hold the locks of several files, always taken in the same order, so that no deadlock can occur.

        Args:
            wanted: The key of each file, and the path to name in an error.
            wait_s: How long to wait for all of them together, in seconds; 0 does not wait.
            give_up: Polled while waiting; True ends the wait.

        Raises:
            FileFault: `locked`: Another call held one for longer.
            FileFault: `given_up`: `give_up` returned True.
            FileFault: The disk: The lock files cannot be made.
        """
        ordered = sorted((_stripe_of(key), path) for key, path in wanted.items())
        began = time.monotonic()
        with ExitStack() as held:
            for stripe, path in dict(ordered).items():
                held.enter_context(self._one(stripe, path, began, wait_s, give_up))
            yield

    @contextmanager
    def _one(self, stripe: int, path: str, began: float, wait_s: float, give_up: GiveUp) -> Iterator[None]:
        lock = self._stripe(stripe)
        until = began + wait_s
        while not lock.mutex.acquire(timeout=max(0.0, min(_POLLED_EVERY_S, until - time.monotonic()))):
            _raise_if_over(path, began, until, give_up)
        try:
            while not self._is_taken(lock.file, path):
                _raise_if_over(path, began, until, give_up)
                time.sleep(random.uniform(_POLLED_AT_LEAST_S, _POLLED_AT_MOST_S))  # noqa: S311 - only spreads the load
            try:
                yield
            finally:
                lock.file.release()
        finally:
            lock.mutex.release()

    def _stripe(self, number: int) -> _Stripe:
        file = str(self.folder / f"{number:04}.lock")
        with self._guard:
            stripe = self._stripes.get(file)
            if stripe is None:
                stripe = self._stripes[file] = _Stripe(file)
            return stripe

    def _is_taken(self, lock: BaseFileLock, path: str) -> bool:
        """Try to take the lock, and return whether that succeeded."""
        try:
            if not self.folder.is_dir():
                make_private(self.folder)
            lock.acquire(blocking=False)
        except TimeoutError:
            return False
        except OSError as error:
            raise FileFault.from_os(error, path, step="lock") from error
        return True


def _stripe_of(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % _STRIPES


def _raise_if_over(path: str, began: float, until: float, give_up: GiveUp) -> None:
    if give_up():
        raise FileFault(path, "given_up")
    now = time.monotonic()
    if now >= until:
        raise FileFault(path, "locked", waited_s=now - began)
