"""Under every fault, in the default and in the full chain, every call and every run is accounted for, to the unit."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from failsoft import CallContext, Chaos, ConfigurationError, DocumentNotFound, NotFound, RateLimited, ToolError
from failsoft.testing import InstantClock
from tests.chaos.laboratory import KINDS, LIMIT_S, Subject, check_books, subject
from tests.doors import categories_module as categories

CALLS = 60


class Handler:
    """Draws what each run does from a few ways to go wrong, each by its own seed."""

    def __init__(self, seed: int, *faults: Any, share: float = 0.6) -> None:
        self._random = random.Random(seed)  # noqa: S311 - repeatable is what it is for
        self._faults = faults
        self._share = share

    async def __call__(self, call: CallContext) -> Any:
        await asyncio.sleep(self._random.choice([0.0, 0.01, 0.5]))
        if not self._faults or self._random.random() > self._share:
            return call.attempt
        fault = self._random.choice(self._faults)
        if isinstance(fault, float):
            await asyncio.sleep(fault)
            return call.attempt
        if isinstance(fault, BaseException) or (isinstance(fault, type) and issubclass(fault, BaseException)):
            raise fault
        return fault


FAULTS: dict[str, tuple[Any, ...]] = {
    "none": (),
    "categories": tuple(
        kind(message="It failed.")
        for kind in ToolError.__subclasses__()
        if kind.__module__ == categories.__name__ and kind is not ConfigurationError
    ),
    "nothing was sent": (ConnectionRefusedError(111, "refused"), RateLimited(effect="none", retry_after_seconds=1)),
    "outage": (ConnectionResetError(104, "reset"), TimeoutError(), OSError(113, "no route")),
    "not found": (NotFound(), DocumentNotFound(path="a.md"), KeyError("a")),
    "crashes": (ValueError(), RecursionError(), MemoryError(), ConfigurationError(issue="x"), AssertionError()),
    "exits": (SystemExit(1), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError(), BaseException()),
    "groups": (ExceptionGroup("g", [ValueError(), OSError(28, "full")]), BaseExceptionGroup("g", [SystemExit()])),
    "wrong outcomes": ("five", None, {"success": False}, {"error": "no"}, float("nan"), object()),
    "slow": (3.0, 6.0),
    "hanging": (3 * LIMIT_S,),
    "everything": (3.0, 3 * LIMIT_S, "five", ValueError(), SystemExit(1), TimeoutError(), NotFound(), RateLimited()),
}


async def storm(tool: Subject, seed: int, *, leaving: float) -> None:
    """Make many calls at once, some equal, some wrong, some of which are left before they are over."""
    draw = random.Random(seed)  # noqa: S311 - the same

    async def caller() -> None:
        await asyncio.sleep(draw.uniform(0, 5))
        item = draw.choice([1, 2, 3, "4", "many"])
        call = asyncio.create_task(tool.answer("work", item=item))
        if draw.random() < leaving:
            await asyncio.wait([call], timeout=draw.choice([0, 0.01, 0.6, 2.0, 4.5, 20.0]))
            call.cancel()
        await asyncio.wait([call])
        if not call.cancelled():
            call.result()

    await asyncio.gather(*[caller() for _ in range(CALLS)])
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("chain", ["default", "full"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_books_are_right_under_every_fault_of_a_handler(fault: str, kind: str, chain: str) -> None:
    tool = subject(kind, chain, Handler(1, *FAULTS[fault]))
    InstantClock().run(storm(tool, seed=2, leaving=0.25))
    check_books(tool, calls=CALLS)


CHAOS = [
    Chaos(1, fault=0.5),
    Chaos(2, fault=0.5, error=lambda: RateLimited(effect="none")),
    Chaos(3, lost=0.5),
    Chaos(4, wrong=0.5),
    Chaos(5, cancelled=0.5),
    Chaos(6, latency_s=5.0, latency=0.5),
    Chaos(7, fault=0.2, lost=0.2, wrong=0.2, cancelled=0.2, latency_s=2.0, latency=0.3),
]


@pytest.mark.parametrize("chain", ["default", "full"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chaos", CHAOS, ids=lambda chaos: f"seed {chaos.seed}")
def test_the_books_are_right_under_chaos(chaos: Chaos, kind: str, chain: str) -> None:
    tool = subject(kind, chain, Handler(3), chaos)
    InstantClock().run(storm(tool, seed=4, leaving=0.25))
    check_books(tool, calls=CALLS)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_the_books_are_right_in_storms(kind: str, seed: int) -> None:
    check_a_storm(kind, seed)


def check_a_storm(kind: str, seed: int) -> None:
    """Let every fault happen to handlers and in the chain, and hold the metrics to what happened."""
    chaos = Chaos(seed, fault=0.1, lost=0.1, wrong=0.1, cancelled=0.1, latency_s=2.0, latency=0.2)
    tool = subject(kind, "full", Handler(seed, *FAULTS["everything"]), chaos)
    InstantClock().run(storm(tool, seed=seed, leaving=0.4))
    check_books(tool, calls=CALLS)


@pytest.mark.parametrize("kind", KINDS)
def test_after_a_storm_the_chain_is_as_it_was(kind: str) -> None:
    raging = [True]
    handler = Handler(5, *FAULTS["everything"])

    async def behave(call: CallContext) -> Any:
        return await handler(call) if raging[0] else call.attempt

    async def storm_and_calm() -> None:
        await storm(tool, seed=6, leaving=0.5)
        raging[0] = False
        await asyncio.sleep(3_600)  # the circuit is tried again, the budget is full, nothing in the cache is fresh
        responses = await asyncio.gather(*[tool.answer("work", item=number) for number in range(3)])
        assert [response.data for response in responses] == [1, 1, 1]
        assert [response.metadata.recovery for response in responses] == [None, None, None]

    tool = subject(kind, "full", behave)
    InstantClock().run(storm_and_calm())
    check_books(tool, calls=CALLS + 3)
