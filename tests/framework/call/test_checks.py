"""Checks of an author: sync ones run in threads, where they block no other call and can be abandoned."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import anyio
import pytest

from failsoft import BaseTool, CallContext, NotFound, Reference, operation
from tests.framework.recording import Recording, quiet_runtime

pytestmark = pytest.mark.anyio
BOUND_S = 60


def place() -> str:
    """Return where this runs."""
    return "loop" if threading.current_thread() is threading.main_thread() else "thread"


def noted(tool: Checked, value: str) -> None:
    tool.places.append(("lookup", place()))


async def noted_async(tool: Checked, value: str) -> None:
    tool.places.append(("async lookup", place()))


class Asked:
    """An object that is asked like a function."""

    async def __call__(self, value: str) -> bool:
        return value == "here" and place() == "loop"


def later(value: str) -> Any:
    """Return a coroutine, as a plain wrapper around an async function does."""

    async def ask() -> bool:
        return value == "here" and place() == "loop"

    return ask()


class Checked(BaseTool):
    """Operations with checks of every kind."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.places: list[tuple[str, str]] = []
        self.released = threading.Event()
        self.checking = threading.Event()

    @operation(read_only=True)
    async def check_in_turn(
        self,
        first: Annotated[str, Reference(noted)] = "a",
        second: Annotated[str | None, Reference(noted)] = None,
        third: Annotated[str | None, Reference(noted_async)] = None,
    ) -> str:
        """Have every kind of check."""
        return "done"

    @check_in_turn.check
    def plain(self, first: str, call: CallContext) -> None:
        self.places.append(("check", place()))
        call.warn("checked")

    @check_in_turn.check
    async def awaited(self, first: str) -> None:
        self.places.append(("async check", place()))

    @check_in_turn.plausibility
    def review(self, result: str) -> str:
        self.places.append(("review", place()))
        return "reviewed"

    @operation(read_only=True)
    async def check_slowly(self) -> str:
        """Be held up by a check."""
        return "done"

    @check_slowly.check
    def wait(self) -> None:
        self.checking.set()
        if not self.released.wait(BOUND_S):
            raise NotFound(message="nobody came")

    @check_slowly.plausibility
    def wait_again(self, result: str) -> str:
        return "seen" if self.released.wait(BOUND_S) else "nobody came"

    @operation(read_only=True)
    async def release(self) -> str:
        """Let the check go on."""
        self.released.set()
        return "done"

    @operation(timeout=0.02)
    async def check_for_ever(self) -> None:
        """Never begin."""

    @check_for_ever.check
    def hang(self) -> None:
        self.released.wait(BOUND_S)

    @operation(timeout=0.02)
    async def look_up_for_ever(
        self, items: Annotated[list[Annotated[str, Reference(lambda t, _: t.hang())]], "x"]
    ) -> None:
        """Never begin."""

    @operation(read_only=True)
    async def find(
        self,
        asked: Annotated[str, Reference(Asked())] = "here",
        wrapped: Annotated[list[Annotated[str, Reference(later)]] | None, "x"] = None,
    ) -> str:
        """Look up by what only turns out to be async."""
        return "found"


@pytest.fixture
def tool() -> Iterator[Checked]:
    tool = Checked(runtime=quiet_runtime(metrics=Recording()))
    yield tool
    tool.released.set()


async def test_checks_run_in_their_order_and_what_is_not_async_in_a_thread(tool: Checked) -> None:
    response = await tool.check_in_turn(first="a", second="b", third="c")
    assert response.metadata.warnings == ["checked", "reviewed"]
    assert tool.places == [
        ("lookup", "thread"),
        ("lookup", "thread"),
        ("async lookup", "loop"),
        ("check", "thread"),
        ("async check", "loop"),
        ("review", "thread"),
    ]


async def test_what_is_not_given_is_not_looked_up(tool: Checked) -> None:
    await tool.check_in_turn()
    assert [what for what, _ in tool.places] == ["check", "async check", "review"]


async def test_a_slow_check_stalls_no_other_call(tool: Checked) -> None:
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as group:
        slow = group.create_task(tool.check_slowly.call({}))
        await asyncio.to_thread(tool.checking.wait, BOUND_S)
        assert (await tool.release()).success
    response = await slow
    assert response.success, response.error
    assert response.metadata.warnings == ["seen"]


@pytest.mark.parametrize(
    "ask",
    [lambda tool: tool.check_for_ever(), lambda tool: tool.look_up_for_ever(items=["a"])],
    ids=["check", "lookup"],
)
async def test_a_check_that_hangs_ends_with_the_deadline_and_nothing_was_changed(
    tool: Checked, ask: Callable[[Checked], Any]
) -> None:
    with anyio.fail_after(BOUND_S):
        response = await ask(tool)
    assert (response.error.code, response.error.effect) == ("DEADLINE_EXCEEDED", "none")
    assert tool.runtime.threads.abandoned == 1
    tool.released.set()


async def test_a_lookup_that_turns_out_to_be_async_is_awaited_on_the_loop(tool: Checked) -> None:
    assert (await tool.find(asked="here", wrapped=["here", "here"])).success
    for params, path in ({"asked": "nowhere"}, "asked"), ({"wrapped": ["here", "nowhere", "here"]}, "wrapped.1"):
        response = await tool.execute_with_error_handling("find", params)
        assert response.error is not None
        assert [(item.path, item.reason) for item in response.error.violations] == [(path, "reference")]


async def test_a_check_that_finds_no_thread_fails_before_anything_has_begun() -> None:
    tool = Checked(runtime=quiet_runtime(metrics=(metrics := Recording()), max_threads=1))
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as group:
        slow = group.create_task(tool.check_slowly.call({}))
        await asyncio.to_thread(tool.checking.wait, BOUND_S)
        refused = await tool.check_in_turn(first="a")
        tool.released.set()
    assert (await slow).success
    assert refused.error is not None
    assert (refused.error.code, refused.error.effect) == ("OVERLOADED", "none")
    assert metrics.of("finished") == ["rejected", "ok"]
