"""One writer at a time for each file, across threads and processes.

The lock files lie outside the tree: they would be litter in somebody's repository, and a link put in their place would
be a way out of it. Their number is bounded: a file's key chooses one of them, so they are never removed (removing a
lock that somebody waits for makes two locks of it). Two files that share a lock wait for each other now and then.
"""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from failsoft.tools.files.faults import DiskFault, GivenUp, LockTimeout

__all__ = ["GiveUp", "Locks", "never"]

GiveUp = Callable[[], bool]

_STRIPES = 4096
_ASKED_EVERY_S = 0.05
_POLLED_AT_LEAST_S = 0.001
_POLLED_AT_MOST_S = 0.01


def never() -> bool:
    """Return False: the answer is wanted, however long it takes."""
    return False


class _Stripe:
    """One lock: a mutex, so that the threads of a process wait without polling, and a file between processes."""

    __slots__ = ("file", "mutex")

    def __init__(self, file: str) -> None:
        self.mutex = threading.Lock()
        self.file: BaseFileLock = FileLock(file, thread_local=False)


class Locks:
    """The locks in one folder. Everybody who edits the same files has to use the same folder.

    Args:
        folder: Where the lock files are; made when it is first needed.
    """

    _stripes: dict[str, _Stripe] = {}  # noqa: RUF012 - of the process: two objects for one folder share the mutexes
    _guard = threading.Lock()

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def hold(self, wanted: Mapping[str, str], *, wait_s: float, give_up: GiveUp = never) -> Iterator[None]:
        """Hold the locks of several files, taken in one order by everybody, so that no two wait for each other.

        Args:
            wanted: The key of each file, and the path to name in an error.
            wait_s: How long to wait for all of them together, in seconds; 0: take them now or not at all.
            give_up: Asked while waiting; True ends the wait.

        Raises:
            LockTimeout: Somebody else held one for longer.
            GivenUp: `give_up` said so.
            DiskFault: The lock files cannot be made.
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
        while not lock.mutex.acquire(timeout=max(0.0, min(_ASKED_EVERY_S, until - time.monotonic()))):
            _require_patience(path, began, until, give_up)
        try:
            while not self._is_taken(lock.file, path):
                _require_patience(path, began, until, give_up)
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
        """Take the lock if it is free, and return whether it was."""
        try:
            if not self.folder.is_dir():
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock.acquire(blocking=False)
        except Timeout:
            return False
        except OSError as error:
            raise DiskFault(path, errno=error.errno or 0, step="lock") from error
        return True


def _stripe_of(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % _STRIPES


def _require_patience(path: str, began: float, until: float, give_up: GiveUp) -> None:
    if give_up():
        raise GivenUp(path)
    now = time.monotonic()
    if now >= until:
        raise LockTimeout(path, waited_s=now - began)
