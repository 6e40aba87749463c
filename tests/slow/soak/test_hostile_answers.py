"""A proxy in front of a server that answers at random: `HOSTILE_ANSWERS=10000 pytest -m slow FILE` is the full size."""

from __future__ import annotations

import os

import pytest

from tests.proxy.test_hostile import answer_at_random


@pytest.mark.anyio
async def test_many_hostile_answers_are_each_answered_typed() -> None:
    await answer_at_random(int(os.environ.get("HOSTILE_ANSWERS", "496")))
