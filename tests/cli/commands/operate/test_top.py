"""The lines on top of `failsoft top`: what is wrong, since when, and what to do, as the server says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.doors import head_of_top

SINCE = "2026-01-02T03:04:05.000Z"


def lines(*findings: dict[str, str]) -> list[str]:
    status: dict[str, Any] = {
        "name": "shop",
        "version": "1",
        "phase": "ready",
        "objective": {"target": 0.99, "burn_5m": 0.0, "burn_1h": 0.0},
        "headline": {"callers": "no call failed", "findings": findings},
    }
    return head_of_top(status).splitlines()


def test_nothing_is_said_of_a_server_that_works() -> None:
    [line] = lines()
    assert line.startswith("shop 1 is ready; no call failed; ")


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        ({"what": "bank is down", "todo": "repair it", "since": SINCE}, f"bank is down since {SINCE}: repair it"),
        ({"what": "sell crashed", "todo": "fix it", "last": SINCE}, f"sell crashed, last at {SINCE}: fix it"),
        ({"what": "sell is paused", "todo": "resume it"}, "sell is paused: resume it"),
        ({"what": "sell\n is\x1b[2J paused", "todo": "resume it"}, "sell  is [2J paused: resume it"),
    ],
)
def test_a_fault_is_named_with_since_when_and_what_to_do(finding: dict[str, str], said: str) -> None:
    [_, line] = lines(finding)
    assert line == said
