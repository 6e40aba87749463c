"""`without_recovery`: one run of the handler, and everything as before when the block ends."""

from __future__ import annotations

import pytest

from failsoft import (
    BaseTool,
    Bulkhead,
    CircuitBreaker,
    DocumentNotFound,
    Fallback,
    RateLimit,
    Retry,
    StaleCache,
    Unavailable,
    operation,
)
from failsoft.testing import FaultScript, InstantClock, fresh_runtime, without_recovery
from tests.doors import META_KEY, CallScope


class Shop(BaseTool):
    """Operations with everything around them."""

    @operation(read_only=True, recovery=[Retry(), Fallback(lambda: 0), StaleCache(60, 60), Bulkhead(1)])
    async def count(self, path: str) -> int:
        """Count."""
        return 1

    @operation(recovery=[CircuitBreaker(min_calls=1), RateLimit("1/minute")])
    async def order(self, item: str) -> int:
        """Order."""
        return 1


@pytest.mark.parametrize("error", [Unavailable(), DocumentNotFound(path="a.md"), TimeoutError(), ValueError("x")])
def test_a_failing_handler_runs_once_and_nothing_is_waited_for(error: Exception) -> None:
    shop, clock = Shop(runtime=fresh_runtime()), InstantClock()
    with without_recovery(shop), FaultScript(error).replaces(shop.count) as script:
        assert not clock.run(shop.count(path="a.md")).success
        assert len(script.calls) == 1
        assert shop.describe()["count"] == ["observe", "validate", "deadline", "handler"]
    assert clock.elapsed_s == 0
    with FaultScript(Unavailable()).replaces(shop.count) as script:
        assert clock.run(shop.count(path="a.md")).data == 0
        assert len(script.calls) == 3


def test_no_call_is_rejected_and_keys_are_honoured() -> None:
    shop = Shop(runtime=fresh_runtime())

    async def main() -> list[bool]:
        return [(await shop.order(item=item)).success for item in "abc"]

    async def keyed() -> list[bool]:
        scope = CallScope(meta={META_KEY: "one"})
        answers = [await shop.operations["order"].call({"item": "a"}, scope) for _ in range(2)]
        return [bool(answer.metadata.cache_hit) for answer in answers]

    with without_recovery(shop), FaultScript(Unavailable(effect="none"), 1).replaces(shop.order) as script:
        assert InstantClock().run(main()) == [False, True, True]
        assert InstantClock().run(keyed()) == [False, True]
        assert len(script.calls) == 4


def test_blocks_of_several_tasks_may_end_in_any_order() -> None:
    shop = Shop(runtime=fresh_runtime())
    before = shop.describe()
    first, second = without_recovery(shop), without_recovery(shop)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert "recover" not in shop.describe()["count"]
    second.__exit__(None, None, None)
    assert shop.describe() == before
