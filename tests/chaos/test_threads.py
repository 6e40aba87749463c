"""Sync handlers under faults: in real threads and real time, as nothing else would show what becomes of the threads."""

from __future__ import annotations

import asyncio
import random
import threading

import pytest

from failsoft import AttemptTimeout, CallContext, RecoveryManager, Retry, operation
from tests.chaos.laboratory import Subject, check_books

CALLS = 30
ENDINGS = (None, ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, ConnectionRefusedError, TimeoutError)


class InThreads(Subject):
    """Works in a thread, in the same ways; some runs block until the test is over."""

    name = "subject"

    @operation(idempotent=True, timeout=30)
    def work(self, item: int, call: CallContext) -> int:
        """Do the work."""
        return self.behave(call)  # type: ignore[no-any-return]


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_books_are_right_whatever_becomes_of_the_threads(share: float) -> None:
    draw = random.Random(1)  # noqa: S311 - repeatable is what it is for
    drawing = threading.Lock()
    released = threading.Event()

    def behave(call: CallContext) -> int:
        with drawing:
            blocks, ending = draw.random() < share, draw.choice(ENDINGS)
        if blocks:
            released.wait(60)
        if ending is not None:
            raise ending
        return call.attempt

    async def storm() -> None:
        await asyncio.gather(*[tool.answer("work", item=item) for item in range(CALLS)])

    manager = RecoveryManager()
    manager.add(AttemptTimeout(0.2), Retry(attempts=3, base_s=0.0))
    tool = InThreads(behave, manager)
    try:
        asyncio.run(storm())
        check_books(tool, calls=CALLS)
        assert (tool.runtime.threads.abandoned > 0) is (share > 0)
    finally:
        released.set()
