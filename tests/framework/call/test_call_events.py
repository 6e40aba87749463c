"""What is published of calls that failed or were recovered."""

from __future__ import annotations

import asyncio
import io
from dataclasses import asdict
from typing import Any

from failsoft import BaseTool, NotFound, Retry, Unavailable, configure_logging, operation
from failsoft.events import CallEvent
from failsoft.testing import fresh_runtime


class Shop(BaseTool):
    """Sells."""

    def __init__(self) -> None:
        super().__init__(runtime=fresh_runtime())
        self.answers: list[Any] = []

    @operation(read_only=True, recovery=[Retry(base_s=0.001)])
    async def price(self, item: str) -> int:
        """Return the price."""
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return int(answer)


def _published(*answers: Any) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    shop = Shop()
    shop.answers = [*answers]
    shop.runtime.events.subscribe(lambda event: events.append(asdict(event)), CallEvent)
    asyncio.run(_called(shop))
    return events


async def _called(shop: Shop, *, times: int = 1) -> None:
    for _ in range(times):
        await shop.price(item="tea")


def test_a_success_is_not_published() -> None:
    assert _published(3) == []


def test_a_recovered_call_names_the_error_and_the_strategy() -> None:
    [event] = _published(Unavailable("Closed."), 3)
    facts = {name: event[name] for name in ("tool", "operation", "outcome", "code", "category", "strategy", "attempts")}
    assert facts == {
        "tool": "shop",
        "operation": "price",
        "outcome": "recovered",
        "code": "UNAVAILABLE",
        "category": "unavailable",
        "strategy": "retry",
        "attempts": 2,
    }
    assert event["error_id"] == event["effect"] == event["place"] == ""
    assert event["request_id"]


def test_a_failure_has_its_code_and_effect_and_no_place_if_it_was_raised_as_such() -> None:
    [event] = _published(NotFound("There is no tea."))
    assert (event["outcome"], event["code"], event["effect"], event["strategy"]) == ("error", "NOT_FOUND", "none", "")
    assert len(event["error_id"]) == 16
    assert event["place"] == ""


def test_a_listener_that_raises_is_reported_once_and_costs_no_call() -> None:
    shop, log = Shop(), io.StringIO()
    shop.answers = [Unavailable("Closed."), 3, Unavailable("Closed."), 4]
    configure_logging(stream=log)
    shop.runtime.events.subscribe(lambda event: [][event.attempts], CallEvent)
    asyncio.run(_called(shop, times=2))
    assert shop.answers == []
    assert log.getvalue().count("IndexError") == log.getvalue().count("listener failed") == 1


def test_a_defect_has_the_line_of_its_author() -> None:
    [event] = _published(KeyError("tea"))
    assert event["code"] == "UNKNOWN_ERROR"
    assert event["place"].startswith(f"{__file__}:")
    assert event["place"].endswith(" in price")
