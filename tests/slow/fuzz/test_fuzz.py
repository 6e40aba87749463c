"""Some rounds of the fuzzer; by hand it runs for an hour."""

from __future__ import annotations

import time

import pytest

from tests.slow.fuzz.fuzzer import PARTS, fuzz


@pytest.mark.parametrize("part", PARTS)
def test_nothing_is_found(part: str) -> None:
    found = fuzz([part], seconds=0, seed=int(time.time()) // 86_400, show=print)  # each day another
    assert found.problems == []
    assert found.counts[f"{part}: rounds"]
