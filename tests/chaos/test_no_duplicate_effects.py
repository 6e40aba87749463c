"""A write that times out, loses its connection or its answer never happens twice, whatever strategies wrap it."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from failsoft import CallContext, Chaos, RateLimited, RecoveryManager, Timeout, Unavailable
from failsoft.testing import InstantClock
from tests.chaos.laboratory import LIMIT_S, Putting, Subject, Writing, check_books, full_manager

AT_ONCE = 50
COUNT = 400
"""Calls; `tests/slow/soak` makes more."""


class Account:
    """Writes each item down somewhere within its run, and then fails in one of the ways in which one does not know."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)  # noqa: S311 - repeatable is what it is for
        self.written: Counter[int] = Counter()
        self.timed_out = 0
        self.again = 0

    async def __call__(self, call: CallContext) -> int:
        draw = self.draw
        self.again += call.attempt > 1
        if draw.random() < 0.15:
            raise RateLimited(effect="none")  # nothing was sent: the run that follows is the first that counts
        await asyncio.sleep(draw.choice([0.0, 0.1, 3.9]))
        self.written[call.arguments["item"]] += 1
        await asyncio.sleep(0)
        self.timed_out += 1
        match draw.randrange(6):
            case 0:
                raise Timeout
            case 1:
                raise ConnectionResetError(104, "reset")
            case 2:
                raise Unavailable(retry_after_seconds=0)
            case 3:
                await asyncio.sleep(4.0 if draw.random() < 0.5 else 2 * LIMIT_S)  # the time-out of an attempt
            case 4:
                async with asyncio.timeout(0.1):
                    await asyncio.sleep(1)
            case _:
                self.timed_out -= 1
        return call.attempt


async def trials(tool: Subject, numbers: range) -> None:
    """Make the calls, many at a time, some of them left by their callers."""

    async def one(item: int) -> None:
        async with at_once:
            call = asyncio.create_task(tool.answer("work", item=item))
            if item % 7 == 0:
                await asyncio.wait([call], timeout=item % 5)
                call.cancel()
            await asyncio.wait([call])

    at_once = asyncio.Semaphore(AT_ONCE)
    await asyncio.gather(*[one(item) for item in numbers])


def hold(tool: Subject, account: Account, count: int) -> None:
    InstantClock().run(trials(tool, range(count)))
    assert len(account.written) > count / 2
    assert account.timed_out > count / 4
    assert account.again > count / 50
    assert {item: times for item, times in account.written.items() if times > 1} == {}
    check_books(tool, calls=count)


def spacious(*more: Any) -> RecoveryManager:
    """Return the full chain with room for all: what is turned away cannot happen twice."""
    return full_manager(*more, reads=False, room=AT_ONCE, patience=1_000_000)


def check_timed_out_writes(count: int, chain: str) -> None:
    account = Account(count)
    hold(Writing(account, spacious() if chain == "full" else RecoveryManager.default()), account, count)


def check_writes_whose_answer_was_lost(count: int) -> None:
    account = Account(count)
    hold(Writing(account, spacious(Chaos(1, lost=0.3, cancelled=0.05, wrong=0.05))), account, count)


@pytest.mark.parametrize("chain", ["default", "full"])
def test_a_write_that_timed_out_is_not_repeated(chain: str) -> None:
    check_timed_out_writes(COUNT, chain)


def test_a_write_whose_answer_was_lost_is_not_repeated() -> None:
    check_writes_whose_answer_was_lost(COUNT)


def test_an_idempotent_write_is_repeated_so_the_counting_can_tell() -> None:
    account = Account(1)
    manager = full_manager(reads=False, room=AT_ONCE, patience=1_000_000)
    InstantClock().run(trials(Putting(account, manager), range(200)))
    assert max(account.written.values()) > 1
