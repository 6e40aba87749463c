"""`Reported`: a progress report that may be awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from typing import Any

__all__ = ["NOTHING_REPORTED", "Reported"]


class Reported:
    """A progress report that is being sent; awaiting it is optional and waits until it has been sent."""

    __slots__ = ("_sent",)

    def __init__(self, sent: Awaitable[None] | None) -> None:
        self._sent = sent

    def __await__(self) -> Generator[Any, None, None]:
        if self._sent is not None:
            yield from self._sent.__await__()


NOTHING_REPORTED = Reported(None)
