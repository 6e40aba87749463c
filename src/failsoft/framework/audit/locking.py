"""One writer at a time: an advisory lock on the log itself, waited for no longer than allowed.

The lock belongs to the file and not to a second one beside it, which somebody could delete while it is held.
"""

from __future__ import annotations

import fcntl
import random
import time
from collections.abc import Callable

__all__ = ["NotWritten", "lock", "unlock"]

_FIRST_PAUSE_S = 0.0002
_LONGEST_PAUSE_S = 0.02
_HELD = "another process holds it"


class NotWritten(Exception):
    """Entries could not be written; the text is a reason that fits into a sentence.

    Args:
        reason: `the disk is full`.
        is_locked: Another process held the log all the time.
    """

    def __init__(self, reason: str, *, is_locked: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_locked = is_locked


def lock(fd: int, until: float, *, shared: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
    """Lock an open file, trying again until the clock says `until`, and at least once.

    Raises:
        NotWritten: Another process held it all the time.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    pause = _FIRST_PAUSE_S
    while True:
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if clock() + pause > until:
                raise NotWritten(_HELD, is_locked=True) from None
        else:
            return
        time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 - so that waiting processes do not keep step
        pause = min(2 * pause, _LONGEST_PAUSE_S)


def unlock(fd: int) -> None:
    """Let the next one write."""
    fcntl.flock(fd, fcntl.LOCK_UN)
