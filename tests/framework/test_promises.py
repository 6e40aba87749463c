"""What one call promises beyond its declaration, what its toolset says of a failure, and faults deep in arguments."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from pydantic import Field
from typing_extensions import TypedDict

from failsoft import BaseTool, CallContext, Fault, InvalidArgument, ToolError, operation
from tests.doors import ThreadPool, is_given_up
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class NoName(InvalidArgument):
    """An item has no name."""

    code = "NO_NAME"


class NoItems(InvalidArgument):
    """There are no items."""

    code = "NO_ITEMS"


class Item(TypedDict):
    name: Annotated[str, Field(min_length=1)]


Items = Annotated[
    list[Item], Field(min_length=1), Fault(NoItems, "length", at=""), Fault(NoName, "length", at="*.name")
]


class Shelf(BaseTool):
    """Puts things somewhere."""

    is_broken = False

    @operation
    async def put(self, call: CallContext, *, dry_run: bool = False, once: bool = False) -> int:
        """Put."""
        call.read_only, call.idempotent = dry_run, once
        raise TimeoutError

    @operation(read_only=True)
    async def count(self, items: Items) -> int:
        """Count."""
        return len(items)

    def failure_facts(self, error: ToolError, call: CallContext) -> Mapping[str, Any]:
        if self.is_broken:
            raise RuntimeError("of an author")
        return {"file_path": "shelf", "file_index": len(call.params)}


@pytest.fixture
def shelf() -> Shelf:
    return Shelf(runtime=quiet_runtime(wire_format="edit_envelope"))


@pytest.mark.parametrize(
    ("promise", "effect", "retryable"),
    [({}, "unknown", False), ({"dry_run": True}, "none", True), ({"once": True}, "unknown", True)],
)
async def test_a_call_is_judged_by_what_it_promises(
    shelf: Shelf, promise: dict[str, bool], effect: str, retryable: bool
) -> None:
    wire = (await shelf.execute_with_error_handling("put", promise)).to_dict()
    assert (wire["effect"], wire["retryable"]) == (effect, retryable)


async def test_a_promise_counts_for_its_own_call_alone(shelf: Shelf) -> None:
    await shelf.execute_with_error_handling("put", {"dry_run": True})
    assert (await shelf.execute_with_error_handling("put", {})).to_dict()["effect"] == "unknown"


async def test_a_toolset_adds_its_own_facts_to_every_failure_and_may_break_over_it(shelf: Shelf) -> None:
    wire = (await shelf.execute_with_error_handling("count", {"itms": []})).to_dict()
    assert (wire["file_path"], wire["file_index"]) == ("shelf", 1)
    shelf.is_broken = True
    wire = (await shelf.execute_with_error_handling("count", {})).to_dict()
    assert (wire["error_code"], "file_path" in wire) == ("VALIDATION_FAILED", False)


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ([], "NO_ITEMS"),
        ([{"name": ""}], "NO_NAME"),
        ([{"name": "a"}, {"name": ""}], "NO_NAME"),
        ([{"name": 5}], "VALIDATION_FAILED"),
        ([{}], "VALIDATION_FAILED"),
    ],
)
async def test_a_fault_deep_in_an_argument_has_its_own_code(shelf: Shelf, items: Any, code: str) -> None:
    wire = (await shelf.execute_with_error_handling("count", {"items": items})).to_dict()
    assert wire["error_code"] == code


async def test_a_worker_thread_learns_that_its_call_has_given_up() -> None:
    assert is_given_up() is False
    pool = ThreadPool(limit=1)
    began, gave_up, over = threading.Event(), threading.Event(), threading.Event()
    seen: list[bool] = []

    def work() -> None:
        seen.append(is_given_up())
        began.set()
        gave_up.wait(30)
        seen.append(is_given_up())
        over.set()

    task = asyncio.ensure_future(pool.run(work))
    assert await asyncio.to_thread(began.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gave_up.set()
    assert await asyncio.to_thread(over.wait, 30)
    assert seen == [False, True]
