"""A flood of notifications costs little memory, in the client and in a proxy."""

from __future__ import annotations

import pytest

from tests.client.test_hostile_bytes import LOCAL, measured


@pytest.mark.parametrize("reader", ["command", "proxy"])
def test_a_hundred_thousand_notifications_cost_little_memory(reader: str) -> None:
    assert measured(reader, HOSTILE_NOTES="100000") == LOCAL
