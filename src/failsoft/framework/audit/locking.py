"""Advisory lock on the log, with a time limit: one writer at a time.

The log itself is locked instead of a lock file beside it, which could be deleted while it is held.
"""

from __future__ import annotations

import fcntl
import random
import time
from collections.abc import Callable

from failsoft.framework.picklable import PicklableError

_FIRST_PAUSE_S = 0.0002
_LONGEST_PAUSE_S = 0.02
_HELD = "another process holds it"


class NotWritten(PicklableError):
    """Entries could not be written; the text is a reason that fits into a sentence.

    Args:
        reason: `the disk is full`.
        is_locked: Another process held the lock until the time limit.
    """

    def __init__(self, reason: str, *, is_locked: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_locked = is_locked


def lock(fd: int, until: float, *, shared: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
    """Lock an open file, trying again until the clock says `until`, and at least once.

    Raises:
        NotWritten: Another process held the lock until the time limit.
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
        time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 - jitter, not cryptography
        pause = min(2 * pause, _LONGEST_PAUSE_S)


def unlock(fd: int) -> None:
    """Release the lock."""
    fcntl.flock(fd, fcntl.LOCK_UN)
