"""Rare events as lines in the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from loguru import logger

from failsoft import CircuitEvent, IdempotencyEvent
from failsoft.events import Event, Events, RefusalEvent, StoreEvent, StoreFault
from tests.doors import OnceAMinute, log_events, log_store


@pytest.fixture
def lines() -> Iterator[list[tuple[str, Any]]]:
    kept: list[tuple[str, Any]] = []
    logger.enable("failsoft")
    sink = logger.add(lambda message: kept.append((message.record["level"].name, message.record["extra"])), level=0)
    yield kept
    logger.remove(sink)
    logger.disable("failsoft")


def circuit(state: Any, was: Any) -> CircuitEvent:
    return CircuitEvent(dependency="billing {x}", state=state, was=was, reason="{y}")


def key(verdict: Any) -> IdempotencyEvent:
    return IdempotencyEvent(tool="bank", operation="pay", request_id="r1", verdict=verdict)


@pytest.mark.parametrize(
    ("event", "level", "facts"),
    [
        (circuit("open", "closed"), "WARNING", {"dependency": "billing {x}", "reason": "{y}"}),
        (circuit("half_open", "open"), "INFO", {"dependency": "billing {x}"}),
        (circuit("closed", "half_open"), "INFO", {"dependency": "billing {x}"}),
        (key("lost"), "WARNING", {"operation": "pay", "request_id": "r1", "verdict": "lost"}),
        (key("replayed"), "INFO", {"verdict": "replayed"}),
    ],
)
def test_a_rare_event_is_one_line(lines: list[Any], event: Event, level: str, facts: dict[str, str]) -> None:
    events = Events()
    log_events(events)
    events.publish(event)
    ((written, extra),) = lines
    assert written == level
    assert facts.items() <= extra.items()


@pytest.mark.parametrize(("fault", "level"), [("full", "WARNING"), ("damaged", "ERROR")])
def test_a_store_that_is_lost_or_back_is_one_line(lines: list[Any], fault: StoreFault, level: str) -> None:
    log_store(StoreEvent(available=False, fault=fault, reason="its {disk}"))
    log_store(StoreEvent(available=True, fault=fault, reason=""))
    assert lines == [
        (level, {"event": "store_lost", "fault": fault, "reason": "its {disk}"}),
        ("INFO", {"event": "store_back", "fault": fault}),
    ]


@pytest.mark.parametrize("event", [circuit("closed", None), RefusalEvent(503)])
def test_what_is_no_news_is_no_line(lines: list[Any], event: Event) -> None:
    events = Events()
    log_events(events)
    events.publish(event)
    assert lines == []


def test_a_flood_of_requests_without_access_is_one_line_a_minute_for_each_status(lines: list[Any]) -> None:
    events = Events()
    log_events(events)
    for status in (401,) * 100 + (403, 403, 400, 429, 503):
        events.publish(RefusalEvent(status))
    facts = {"event": "access_refused", "count": 1}
    assert lines == [("WARNING", {**facts, "status": 401}), ("WARNING", {**facts, "status": 403})]


def test_what_was_counted_is_told_with_the_next_event_after_a_minute() -> None:
    times = [0.0, 1.0, 59.0, 60.0, 61.0, 200.0]
    refused = OnceAMinute(iter(times).__next__)
    assert [refused.due(401) for _ in times] == [1, 0, 0, 3, 0, 2]


def test_kinds_of_events_beyond_a_thousand_are_forgotten_oldest_first() -> None:
    refused = OnceAMinute(lambda: 0.0)
    assert [refused.due(kind) for kind in range(1_001)] == [1] * 1_001
    assert [refused.due(kind) for kind in (1_000, 1, 0)] == [0, 0, 1]
