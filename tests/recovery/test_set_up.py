"""Strategies that are set up wrongly are refused with what to write in their place."""

from __future__ import annotations

import pytest

from failsoft import CircuitBreaker, NotFound, RecoveryManager, Retry


def test_strategies_of_an_operation_are_a_list() -> None:
    with pytest.raises(TypeError, match="takes a list"):
        RecoveryManager().with_strategies(Retry())  # type: ignore[arg-type]  # what a newcomer writes


def test_a_strategy_with_a_place_of_its_own_is_not_registered_for_an_error() -> None:
    with pytest.raises(TypeError, match=r"manager\.add"):
        RecoveryManager().register(NotFound, CircuitBreaker())  # type: ignore[arg-type]  # as above
