"""A circuit breaker under noise for an hour."""

from __future__ import annotations

from tests.recovery.strategies.test_circuit_breaker import check_noise


def test_an_hour_of_noise_does_not_open_it_and_an_outage_does() -> None:
    check_noise(calls=7_200)
