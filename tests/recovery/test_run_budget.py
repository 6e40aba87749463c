"""The budget of a call, its runs and its time, holds for everything that runs a handler."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from failsoft import BaseTool, DocumentNotFound, RecoveryManager, RecoveryResult, ToolError, Unavailable, operation
from failsoft.client import Client
from failsoft.recovery import AlternatePaths, Hedge, Retry
from tests.doors import BUDGET_KEY, CallScope
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


def budget(**limits: int) -> CallScope:
    """Return the scope of a request that sends these limits."""
    return CallScope(meta={BUDGET_KEY: limits})


class Shelf(BaseTool):
    """Reads that are missing or down, with the strategies under test."""

    def __init__(self, recovery: RecoveryManager | None = None) -> None:
        self.recovery = recovery
        super().__init__(runtime=quiet_runtime())
        self.runs = 0

    @operation(read_only=True)
    async def read(self, path: str) -> str:
        """Find no page."""
        self.runs += 1
        raise DocumentNotFound(path=path)

    @operation(read_only=True)
    async def ask(self) -> str:
        """Reach nothing."""
        self.runs += 1
        raise Unavailable


class Stubborn:
    """A strategy of an author's own that runs the handler again and again."""

    async def attempt(self, error: ToolError, call: Any) -> RecoveryResult | None:
        """Try six times more."""
        for _ in range(6):
            try:
                return RecoveryResult(await call.retry(), "It worked")
            except ToolError:
                continue
        return None


@pytest.mark.parametrize("runs_left", [1, 2, 4])
async def test_alternate_paths_and_an_own_strategy_stay_within_the_runs_of_the_caller(runs_left: int) -> None:
    manager = RecoveryManager()
    manager.register(DocumentNotFound, AlternatePaths())
    manager.register(Unavailable, Stubborn())
    for name, arguments in (("read", {"path": "guide/intro"}), ("ask", {})):
        shelf = Shelf(recovery=manager)
        response = await shelf.operations[name].call(arguments, budget(runs_left=runs_left))
        assert response.error is not None
        assert response.error.code in {"DOC_NOT_FOUND", "UNAVAILABLE"}
        assert shelf.runs <= runs_left
        assert runs_left > 2 or shelf.runs == runs_left


async def test_a_refused_run_says_why() -> None:
    manager = RecoveryManager()
    manager.register(Unavailable, Stubborn())
    response = await Shelf(recovery=manager).operations["ask"].call({}, budget(runs_left=2))
    assert response.error is not None
    assert response.error.stop_reason == "attempts"


class Front(BaseTool):
    """Operations that ask another server through the typed client."""

    def __init__(self, shelf: Shelf) -> None:
        super().__init__(runtime=quiet_runtime())
        self.shelf = shelf

    @operation(read_only=True)
    async def once(self) -> str:
        """Ask without a strategy."""
        async with Client(self.shelf) as client:
            return str(await client.call("ask"))

    @operation(read_only=True, recovery=[Retry(attempts=3, base_s=0)])
    async def again(self) -> str:
        """Ask, and be run again."""
        async with Client(self.shelf) as client:
            return str(await client.call("ask"))


class Impatient(Shelf):
    """A server whose advised wait is short."""

    @operation(read_only=True)
    async def ask(self) -> str:
        """Reach nothing."""
        self.runs += 1
        raise Unavailable(retry_after_seconds=0.001)


@pytest.mark.parametrize(
    ("name", "runs_left", "most"),
    [("once", 1, 1), ("once", 2, 2), ("once", None, 3), ("again", None, 3), ("again", 2, 2)],
)
async def test_a_client_in_a_handler_shares_the_runs_of_the_call(name: str, runs_left: int | None, most: int) -> None:
    shelf = Impatient()
    scope = CallScope() if runs_left is None else budget(runs_left=runs_left)
    response = await Front(shelf).operations[name].call({}, scope)
    assert response.error is not None
    assert response.error.code == "UNAVAILABLE"
    assert shelf.runs == most


class Retrying(Shelf):
    """A server that runs failed calls again itself."""

    @operation(read_only=True, recovery=[Retry(attempts=3, base_s=0)])
    async def ask(self) -> str:
        """Reach nothing."""
        self.runs += 1
        raise Unavailable(retry_after_seconds=0.001)


async def test_what_a_server_has_retried_itself_is_not_sent_again() -> None:
    shelf = Retrying()
    async with Client(shelf) as client:
        with pytest.raises(Unavailable):
            await client.call("ask")
    assert shelf.runs == 3


class Above(BaseTool):
    """Operations that call one that fails after three runs."""

    def __init__(self, shelf: Shelf) -> None:
        super().__init__(runtime=quiet_runtime())
        self.shelf = shelf

    @operation(read_only=True, recovery=[Retry(attempts=9, base_s=0)])
    async def ask_then_look(self) -> str:
        """Pass the failure on after another call that succeeds."""
        response = await self.shelf.ask()
        await self.look()
        return response.unwrap()

    @operation(read_only=True)
    async def look(self) -> str:
        """Look."""
        return "seen"

    @operation(read_only=True, recovery=[])
    async def ask_four_times(self) -> str:
        """Ask four times at once."""
        await asyncio.gather(*[self.shelf.ask() for _ in range(4)])
        return "asked"

    @operation(read_only=True, recovery=[Hedge(delay_s=0.001, extra=2)])
    async def ask_hedged(self) -> str:
        """Ask after a pause in which further runs of this handler are started."""
        await asyncio.sleep(0.01)
        return (await self.shelf.ask()).unwrap()


async def test_nested_calls_at_once_share_the_further_runs_that_the_caller_left() -> None:
    shelf = Retrying()
    response = await asyncio.wait_for(Above(shelf).operations["ask_four_times"].call({}, budget(runs_left=2)), 5)
    assert response.success
    assert 4 <= shelf.runs <= 5  # one run of each, and one more


async def test_the_nested_calls_of_hedges_share_the_further_runs_that_the_caller_left() -> None:
    shelf = Retrying()
    response = await asyncio.wait_for(Above(shelf).operations["ask_hedged"].call({}, budget(runs_left=3)), 5)
    assert response.error is not None
    assert response.error.code == "UNAVAILABLE"
    assert 1 <= shelf.runs <= 3


async def test_what_was_retried_below_is_not_retried_above_whatever_is_called_next() -> None:
    shelf = Retrying()
    response = await Above(shelf).ask_then_look()
    assert response.error is not None
    assert response.error.code == "UNAVAILABLE"
    assert shelf.runs == 3


class Till(BaseTool):
    """Writes that must not begin when their caller has no time left."""

    def __init__(self) -> None:
        super().__init__(runtime=quiet_runtime())
        self.done: list[str] = []

    @operation(destructive=True, timeout=5)
    async def pay(self) -> str:
        """Pay, within a limit."""
        self.done.append("pay")
        return "paid"

    @operation(destructive=True)
    async def give(self) -> str:
        """Give, without a limit."""
        self.done.append("give")
        return "given"

    @operation(destructive=True, timeout=5)
    def take(self) -> str:
        """Take, in a thread."""
        self.done.append("take")
        return "taken"

    @operation(destructive=True, input_schema={"type": "object"})
    async def swap(self, **arguments: Any) -> str:
        """Swap what a schema describes."""
        self.done.append("swap")
        return str(arguments)


@pytest.mark.parametrize("remaining_ms", [0, -5])
@pytest.mark.parametrize("key", [{}, {"dev.failsoft/idempotency-key": "k1"}], ids=["plain", "keyed"])
async def test_a_call_without_time_left_is_refused_before_its_handler_runs(
    remaining_ms: int, key: dict[str, str]
) -> None:
    till = Till()
    scope = CallScope(meta={BUDGET_KEY: {"remaining_ms": remaining_ms}, **key})
    for name in ("pay", "give", "take", "swap"):
        response = await till.operations[name].call({}, scope)
        assert response.error is not None
        assert (response.error.code, response.error.effect) == ("DEADLINE_EXCEEDED", "none")
        assert response.error.rejected
    assert till.done == []


async def test_a_client_without_time_left_sends_nothing() -> None:
    till = Till()
    async with Client(till) as client:
        with pytest.raises(ToolError) as raised:
            await client.call("pay", timeout_s=0)
    assert raised.value.code == "DEADLINE_EXCEEDED"
    assert till.done == []
