"""The third identical failure says so; advised waits double; and whether next steps are followed is counted."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from typing import Any

import pytest

from failsoft import (
    BaseTool,
    CallContext,
    DocumentNotFound,
    Failure,
    NotFound,
    RateLimited,
    RecoveryManager,
    Runtime,
    Settings,
    Unavailable,
    operation,
)
from failsoft.events import NextStepEvent, RepeatedFailureEvent
from failsoft.metrics import render
from failsoft.testing import fresh_runtime
from tests.doors import META_KEY, CallScope, Toolbox

pytestmark = pytest.mark.anyio

AGAIN = "This call has now failed three times in the same way."


class Store(BaseTool):
    """A store."""

    is_up = False
    runs = 0

    @operation(read_only=True)
    async def get_item(self, item_id: str) -> str:
        """Return an item."""
        raise NotFound(f'No item "{item_id}".')

    @operation(read_only=True)
    async def list_items(self, limit: int = 5) -> int:
        """Return items."""
        return limit

    @operation(read_only=True)
    async def check_stock(self, item_id: str) -> str:
        """Return the stock of an item."""
        if not self.is_up:
            raise RateLimited("The stock service allows 2 requests a second.", retry_after_seconds=2)
        return item_id

    @operation(read_only=True)
    async def find(self, path: str) -> str:
        """Find a document."""
        raise DocumentNotFound(path=path)

    @operation(read_only=True)
    async def crash(self) -> str:
        """Fail."""
        raise KeyError("x")

    @operation(verify_with="check_stock")
    async def order(self, item_id: str) -> str:
        """Order an item."""
        self.runs += 1
        raise TimeoutError

    @operation(idempotent=True)
    async def cancel_order(self, item_id: str) -> str:
        """Cancel an order."""
        raise Unavailable("The order service cannot be reached.", next_step={"tool": "list_items"})

    @operation(read_only=True)
    async def get_both(self, call: CallContext) -> str:
        """Make calls of its own that fail."""
        for _ in range(5):
            response = await self.get_item("z")
        assert response.error is not None
        assert "failed" not in response.error.message
        return call.operation

    @operation(read_only=True, timeout=60)
    async def hang(self) -> None:
        """Wait."""
        await asyncio.Event().wait()


@pytest.fixture
def now() -> list[float]:
    return [1_000.0]


@pytest.fixture
def store(now: list[float]) -> Store:
    return Store(runtime=timed_runtime(now))


def timed_runtime(now: list[float], *, has_recovery: bool = False, **chosen: Any) -> Runtime:
    """Return a runtime whose memory has a clock that tests move."""
    parts = {} if has_recovery else {"recovery": RecoveryManager()}
    runtime = fresh_runtime(settings=Settings(**chosen), **parts)
    runtime.recent.clock = lambda: now[0]
    return runtime


async def fail(store: Store, name: str, times: int = 1, /, **arguments: Any) -> Failure:
    """Return the last of several failures."""
    for _ in range(times):
        response = await store.execute_with_error_handling(name, arguments)
    assert response.error is not None
    return response.error


def counted(store: Store) -> Counter[Any]:
    """Return what a scrape says of next steps and of repeated failures."""
    text = render(store.runtime.metrics)[0].decode()  # type: ignore[arg-type]  # the recorder of the test
    line = r'^mcp_(?:next_steps|repeated_failures)_total\{code="(\w+)"(?:,result="(\w+)")?\} (\d+)'
    found = re.findall(line, text, re.MULTILINE)
    return Counter({(code, result) if result else code: int(count) for code, result, count in found if int(count)})


@pytest.mark.parametrize(
    ("name", "arguments", "who", "step"),
    [
        ("get_item", {"item_id": "a"}, "Repeating the call does not help.", None),
        ("get_item", {"itemId": "a"}, "", {"tool": "get_item", "arguments": {"item_id": "a"}}),
        ("get_item", {}, "Add it and call `get_item` again.", None),
        ("list_items", {"limit": "5"}, "", {"tool": "list_items", "arguments": {"limit": 5}}),
        ("check_stock", {"item_id": "a"}, "The operator of this server has to look into this (error id ", None),
        ("crash", {}, "The author of this tool has to fix this (error id ", None),
        ("cancel_order", {"item_id": "a"}, "The operator of", {"tool": "list_items", "arguments": {}}),
    ],
)
async def test_the_third_failure_says_so_who_can_help_and_no_step_that_repeats_it(
    store: Store, name: str, arguments: dict[str, Any], who: str, step: Any
) -> None:
    second = await fail(store, name, 2, **arguments)
    assert (AGAIN in second.message, second.stop_reason == "repeated", counted(store)["X"]) == (False, False, 0)
    third = await fail(store, name, **arguments)
    assert AGAIN in third.message
    assert third.stop_reason == third.meta()["stop_reason"] == "repeated"
    assert (third.next_step and third.next_step.to_dict()) == step
    assert step is not None or who in third.message
    text = store.operations[name].wire.text(third)
    assert text is not None
    assert AGAIN in text.splitlines()
    assert ("Error id: " in text) is ("(error id" in third.message)
    fourth = await fail(store, name, **arguments)
    assert AGAIN.replace("three", "four") in fourth.message
    assert counted(store)[third.code] == 2


async def test_what_an_error_suggests_is_still_said(store: Store) -> None:
    texts = [store.operations["find"].wire.text(await fail(store, "find", path="a.md")) for _ in range(3)]
    first, third = (text.splitlines() for text in (texts[0] or "", texts[2] or ""))
    assert [line for line in third if line != AGAIN] == first


async def test_an_effect_that_is_possible_stays_told(store: Store) -> None:
    third = await fail(store, "order", 3, item_id="a")
    assert AGAIN in third.message
    assert "It is unknown whether anything was changed. Do not send the whole call again" in third.message
    assert third.next_step is not None
    assert (third.next_step.tool, third.effect, third.retry.when) == ("check_stock", "unknown", "never")


async def test_advised_waits_double_in_the_text_too(store: Store, now: list[float]) -> None:
    said = []
    for _ in range(4):
        failure = await fail(store, "check_stock", item_id="a")
        said.append((failure.retry.after_seconds, f"in {failure.retry.wait} seconds" in failure.message))
        now[0] += failure.retry.after_seconds or 0
    assert said == [(2, True), (4, True), (8, True), (16, True)]
    now[0] += 601
    assert (await fail(store, "check_stock", item_id="a")).retry.after_seconds == 2


async def test_a_success_other_arguments_and_ten_minutes_end_the_count(store: Store, now: list[float]) -> None:
    await fail(store, "check_stock", 2, item_id="a")
    assert (await fail(store, "check_stock", item_id="b")).times == 0
    store.is_up = True
    assert (await store.check_stock("a")).success
    store.is_up = False
    assert [(await fail(store, "check_stock", item_id="a")).times for _ in range(3)] == [0, 0, 3]
    now[0] += 700
    assert (await fail(store, "check_stock", item_id="a")).times == 0


async def test_callers_toolsets_and_servers_are_kept_apart(store: Store) -> None:
    other = Store(runtime=store.runtime)
    bound = store.operations["get_item"]
    await fail(store, "get_item", 2, item_id="a")
    for principal in ("token:ann", "token:bob"):
        response = await bound.call({"item_id": "a"}, CallScope(principal=principal))
        assert response.error is not None
        assert response.error.times == 0
    assert (await fail(other, "get_item", item_id="a")).times == 0
    local = await bound.call({"item_id": "a"}, CallScope(principal="local"))
    assert local.error is not None
    assert local.error.times == 3


async def test_an_outcome_that_a_key_returns_again_is_no_new_failure(now: list[float]) -> None:
    store = Store(runtime=timed_runtime(now, has_recovery=True))
    scope = CallScope(meta={META_KEY: "k1"})
    answers = [await store.operations["order"].call({"item_id": "a"}, scope) for _ in range(4)]
    assert store.runs == 1
    assert {response.error.times for response in answers if response.error} == {0}


async def test_calls_of_handlers_and_cancelled_calls_do_not_count(store: Store) -> None:
    assert (await store.get_both()).success
    assert (await fail(store, "get_item", item_id="z")).times == 0
    for _ in range(3):
        task = asyncio.ensure_future(store.hang())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not store.operations["hang"].recent.failures


async def test_it_can_be_switched_off(now: list[float]) -> None:
    store = Store(runtime=timed_runtime(now, repeats="off"))
    failure = await fail(store, "check_stock", 4, item_id="a")
    assert (failure.times, failure.retry.after_seconds, failure.stop_reason == "repeated") == (0, 2, False)
    assert failure.next_step is not None
    now[0] += 100
    assert counted(store) == Counter()


async def test_whether_steps_are_followed_is_counted_at_the_scrape_too(store: Store, now: list[float]) -> None:
    events: list[Any] = []
    store.runtime.events.subscribe(events.append, NextStepEvent, RepeatedFailureEvent)
    await fail(store, "list_items", limit="5")
    assert (await store.list_items(5)).success
    await fail(store, "list_items", limit="6")
    await fail(store, "get_item", itemId="a")
    await fail(store, "get_item", item_id="a")
    now[0] += 59
    assert counted(store) == {("INVALID_PARAM", "followed_ok"): 1, ("INVALID_PARAM", "followed_failed"): 1}
    now[0] += 2
    assert counted(store)["INVALID_PARAM", "ignored"] == 1
    assert events == [
        NextStepEvent("INVALID_PARAM", "followed_ok"),
        NextStepEvent("INVALID_PARAM", "followed_failed"),
        NextStepEvent("INVALID_PARAM", "ignored"),
    ]


async def test_a_call_that_begins_in_time_follows_however_long_it_takes(store: Store, now: list[float]) -> None:
    class Slow(BaseTool):
        """Slow."""

        @operation(read_only=True)
        async def add(self, number: int) -> int:
            """Add while time goes by."""
            now[0] += 100
            assert not counted(store)
            return number

    slow = Slow(runtime=store.runtime)
    await slow.execute_with_error_handling("add", {"number": "1"})
    assert (await slow.add(1)).success
    assert counted(store) == {("INVALID_PARAM", "followed_ok"): 1}


async def test_a_step_to_a_toolset_of_another_runtime_is_followed(now: list[float]) -> None:
    class Desk(BaseTool):
        """A desk."""

        @operation(read_only=True)
        async def ask(self) -> str:
            """Fail."""
            raise NotFound("Nobody is here.", next_step={"tool": "list_items", "arguments": {"limit": 3}})

    desk, store = Desk(runtime=timed_runtime(now)), Store(runtime=timed_runtime(now))
    box = Toolbox([desk, store])
    assert not (await box.operations["ask"].call({}, CallScope(toolbox=box))).success
    assert (await box.operations["list_items"].call({"limit": 3}, CallScope(toolbox=box))).success
    assert counted(store) == {("NOT_FOUND", "followed_ok"): 1}
