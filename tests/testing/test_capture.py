"""Captured events: all or some kinds, in their order, for as long as the block lasts."""

from __future__ import annotations

from failsoft import StateStoreEvent
from failsoft.events import BudgetEvent, Events
from failsoft.testing import CapturedEvents, fresh_runtime

TOKENS = BudgetEvent(dependency="billing", tokens=9.0)
LOST = StateStoreEvent(available=False, reason="made up")


def test_events_are_kept_in_their_order_until_the_block_ends() -> None:
    runtime = fresh_runtime()
    with CapturedEvents(runtime) as captured:
        for event in (LOST, TOKENS, LOST):
            runtime.events.publish(event)
        assert captured.of(BudgetEvent) == [TOKENS]
    runtime.events.publish(TOKENS)
    assert captured.all == [LOST, TOKENS, LOST]
    captured.clear()
    assert captured.all == []


def test_only_the_kinds_that_were_asked_for_are_wanted() -> None:
    events = Events()
    with CapturedEvents(events, BudgetEvent) as captured:
        assert events.wants(BudgetEvent)
        assert not events.wants(StateStoreEvent)
        events.publish(LOST)
        events.publish(TOKENS)
    assert captured.all == [TOKENS]
    assert not events.wants(BudgetEvent)
