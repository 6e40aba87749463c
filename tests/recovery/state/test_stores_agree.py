"""One history of steps has one sequence of answers, whichever store runs it: memory, SQLite or Redis."""

from __future__ import annotations

import asyncio
import copy
import itertools
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.doors import Backend, Changed, MemoryBackend, Steps, StoreLost, UnreadableValue, Write, forgotten
from tests.recovery.state.stores import KINDS, Open, add, looked_at, opened
from tests.thorough import examples

LIFE_S = 600.0


def noted(state: Any, _now: float, text: str) -> Changed:
    notes = [] if state is None else state["notes"]
    return Changed({"notes": [*notes, text]}, len(notes), LIFE_S)


def refusing(_state: Any, _now: float) -> Changed:
    message = "this step always raises"
    raise RuntimeError(message)


STEPS = st.one_of(
    st.tuples(st.just(noted), st.text(max_size=5)),
    st.just((forgotten,)),
    st.just((looked_at,)),
    st.just((refusing,)),
)


def careful(step: Callable[..., Changed]) -> Callable[..., Changed]:
    """Return a step that checks that it leaves alone what it is given."""

    def checked(value: Any, now: float, *arguments: Any) -> Changed:
        before = copy.deepcopy(value)
        try:
            return step(value, now, *arguments)
        finally:
            assert value == before, "a step changed what it was given"

    return checked


@pytest.fixture
def stores(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, Open]]:
    with ExitStack() as stack:
        yield {kind: stack.enter_context(opened(kind, tmp_path, request)) for kind in KINDS}


@pytest.fixture(params=KINDS)
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    with opened(request.param, tmp_path, request) as one:
        yield one


def run(reopen: Open, body: Callable[[Backend], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        backend = reopen()
        try:
            return await body(backend)
        finally:
            await backend.close()

    return asyncio.run(main())


async def outcome(asked: Awaitable[Any]) -> Any:
    try:
        return await asked
    except (RuntimeError, StoreLost) as error:
        return type(error).__name__


def test_every_store_answers_alike_and_keeps_the_same_value(stores: dict[str, Open]) -> None:
    keys = (f"history:{number}" for number in itertools.count())

    async def play(backend: Backend, key: str, rounds: list[list[tuple[Any, ...]]]) -> list[Any]:
        steps, answers = Steps(backend), []
        for together in rounds:
            asked = (steps.run(careful(step), key, *arguments) for step, *arguments in together)
            answers += await asyncio.gather(*map(outcome, asked))
        left = [(await backend.read(key)).value, [one.value for one in await backend.find(key)]]
        await backend.close()
        return [answers, *left]

    @settings(max_examples=examples(60), deadline=None)
    @given(st.lists(st.lists(STEPS, max_size=5), max_size=6))
    def check(rounds: list[list[tuple[Any, ...]]]) -> None:
        key = next(keys)
        seen = {kind: asyncio.run(play(reopen(), key, rounds)) for kind, reopen in stores.items()}
        assert seen == dict.fromkeys(seen, seen["memory"])

    check()


def test_numbers_and_texts_come_back_whole(reopen: Open) -> None:
    keys = itertools.count()

    @given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**53), 2**53), st.text(max_size=20))
    @settings(max_examples=examples(30), deadline=None)
    def check(number: float, whole: int, text: str) -> None:
        async def body(backend: Backend) -> Any:
            key, value = f"key:{next(keys)}", {"list": [number, whole, text], "none": None, "yes": True}
            await Steps(backend).run(lambda _value, _now: Changed(value, 1, LIFE_S), key)
            return (await backend.read(key)).value == value

        assert run(reopen, body)

    check()


def test_a_swap_of_another_version_changes_nothing_and_tells_what_is_there(reopen: Open) -> None:
    async def body(backend: Backend) -> list[Any]:
        assert await backend.swap("key:1", "", Write("a" * 18, {"n": 1}, LIFE_S)) is None
        there = await backend.swap("key:1", "", Write("b" * 18, {"n": 2}, LIFE_S))
        gone = await backend.swap("key:2", "b" * 18, Write("c" * 18, {"n": 3}, LIFE_S))
        return [there, gone, await backend.read("key:1")]

    assert run(reopen, body) == [("a" * 18, {"n": 1}), ("", None), ("a" * 18, {"n": 1})]


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_a_write_that_is_sent_again_is_known_for_done(kind: str, tmp_path: Path, request: Any) -> None:
    async def body(backend: Backend) -> list[Any]:
        write = Write("a" * 18, {"n": 1}, LIFE_S)
        return [await backend.swap("key:1", "", write), await backend.swap("key:1", "", write)]

    with opened(kind, tmp_path, request) as reopen:
        assert run(reopen, body) == [None, None]


def test_steps_that_wait_together_are_swapped_together_and_spoil_nothing_for_each_other(reopen: Open) -> None:
    async def body(backend: Backend) -> list[Any]:
        steps, swaps = Steps(backend), 0
        swap = backend.swap

        async def counted(*arguments: Any) -> Any:
            nonlocal swaps
            swaps += 1
            return await swap(*arguments)

        backend.swap = counted  # type: ignore[method-assign]
        asked = [asyncio.ensure_future(steps.run(add, "number:1", 1, LIFE_S)) for _ in range(50)]
        asked.insert(20, asyncio.ensure_future(steps.run(refusing, "number:1")))
        cancelled = asyncio.ensure_future(steps.run(add, "number:1", 1_000, LIFE_S))
        await asyncio.sleep(0)
        cancelled.cancel()
        answers = await asyncio.gather(*map(outcome, asked))
        total = await steps.run(add, "number:1", 0, LIFE_S)
        return [answers.count("RuntimeError"), total % 1_000, swaps <= 3]

    assert run(reopen, body) == [1, 50, True]


def test_a_step_that_changes_nothing_is_told_what_others_have_written(reopen: Open) -> None:
    async def body(backend: Backend) -> list[Any]:
        one, other = Steps(backend), Steps(backend)
        await one.run(add, "number:1", 1, LIFE_S)
        await other.run(add, "number:1", 1, LIFE_S)
        return [await one.run(looked_at, "number:1"), await one.run(add, "number:1", 1, LIFE_S)]

    assert run(reopen, body) == [{"number": 2}, 3]


def test_a_value_of_another_shape_is_refused_and_left_as_it_is(reopen: Open) -> None:
    async def body(backend: Backend) -> Any:
        await Steps(backend).run(lambda _value, _now: Changed(["a"], 1, LIFE_S), "number:1")
        with pytest.raises(UnreadableValue):
            await Steps(backend).run(add, "number:1", 1, LIFE_S)
        return (await backend.read("number:1")).value

    assert run(reopen, body) == ["a"]


def test_memory_forgets_when_the_time_is_over() -> None:
    now = 10.0
    backend = MemoryBackend(lambda: now)
    backend.change(add, "number:1", 1, 5.0)
    now = 15.0
    assert asyncio.run(backend.read("number:1")) == ("", None)
    assert len(asyncio.run(backend.find(""))) == 0
