"""Captured events: all or some kinds, in their order, for as long as the block lasts."""

from __future__ import annotations

from failsoft.events import AuditEvent, Events, StoreEvent
from failsoft.testing import CapturedEvents, fresh_runtime

FULL = AuditEvent(ok=False, reason="full")
LOST = StoreEvent(available=False, fault="lost", reason="made up")


def test_events_are_kept_in_their_order_until_the_block_ends() -> None:
    runtime = fresh_runtime()
    with CapturedEvents(runtime) as captured:
        for event in (LOST, FULL, LOST):
            runtime.events.publish(event)
        assert captured.of(AuditEvent) == [FULL]
    runtime.events.publish(FULL)
    assert captured.all == [LOST, FULL, LOST]
    captured.clear()
    assert captured.all == []


def test_only_the_kinds_that_were_asked_for_are_wanted() -> None:
    events = Events()
    with CapturedEvents(events, AuditEvent) as captured:
        assert events.wants(AuditEvent)
        assert not events.wants(StoreEvent)
        events.publish(LOST)
        events.publish(FULL)
    assert captured.all == [FULL]
    assert not events.wants(AuditEvent)
