"""`ConnectionPool`: a few connections to a database, lent to threads."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

C = TypeVar("C")
_IDLE_AT_MOST = 4


class ConnectionPool(Generic[C]):
    """A few connections, lent to threads.

    Args:
        make: Opens a connection.
        reset: Makes a returned connection ready for the next thread; False if it cannot be used again.
        close: Closes a connection.
    """

    def __init__(self, make: Callable[[], C], reset: Callable[[C], bool], close: Callable[[C], None]) -> None:
        self._make = make
        self._reset = reset
        self._close = close
        self._mutex = threading.Lock()
        self._idle: list[C] = []
        self._generation = 0
        weakref.finalize(self, _close_all, self._idle, close)

    @contextmanager
    def lend(self) -> Iterator[C]:
        """Lend a connection for the block; what `make` raises passes through."""
        with self._mutex:
            generation = self._generation
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._make()
        try:
            yield connection
        finally:
            usable = self._reset(connection)
            with self._mutex:
                keep = usable and generation == self._generation and len(self._idle) < _IDLE_AT_MOST
                if keep:
                    self._idle.append(connection)
            if not keep:
                self._close(connection)

    def close(self) -> None:
        """Close the connections: idle ones now, lent ones when they come back."""
        with self._mutex:
            self._generation += 1
            _close_all(self._idle, self._close)


def _close_all(connections: list[C], close: Callable[[C], None]) -> None:
    while connections:
        close(connections.pop())
