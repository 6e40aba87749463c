"""Bytes of other servers cost little memory, in the client and in a proxy: every answer, and a long flood."""

from __future__ import annotations

import pytest

from tests.client.test_hostile_bytes import LOCAL, WEB, measured, pytestmark as _on_linux, website

pytestmark = _on_linux


@pytest.mark.parametrize("reader", ["command", "proxy"])
def test_a_hundred_thousand_notifications_cost_little_memory(reader: str) -> None:
    assert measured(reader, HOSTILE_NOTES="100000") == LOCAL


@pytest.mark.parametrize("reader", ["url", "proxy"])
def test_every_answer_over_http_costs_little_memory(reader: str) -> None:
    with website() as url:
        assert measured(reader, url) == WEB


@pytest.mark.parametrize("reader", ["command", "proxy"])
def test_every_answer_over_stdio_costs_little_memory(reader: str) -> None:
    assert measured(reader) == LOCAL
