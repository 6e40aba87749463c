"""Which strategies cannot stand together in one operation; refused when the toolset is made, with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.ports import CalledOperation
from failsoft.framework.recovery_port import strategy_name
from failsoft.recovery.attempt_timeout import AttemptTimeout
from failsoft.recovery.hedge import Hedge
from failsoft.recovery.retry import Retry

__all__ = ["check_combination", "check_retries"]

_ONE = frozenset(
    {"attempt_timeout", "chaos", "hedge", "idempotency", "repair_arguments", "retry_budget", "stale_cache"}
)
_ONE_FOR_A_DEPENDENCY = frozenset({"bulkhead", "circuit_breaker"})


def check_combination(strategies: Iterable[Any], bound: CalledOperation) -> None:
    """Refuse strategies of one operation that contradict each other.

    Raises:
        CONFIG_ERROR: Two of a kind of which there can be one, two for one dependency, or one that never gets its turn.
    """
    listed = list(strategies)
    seen: set[tuple[str, str | None]] = set()
    for strategy in listed:
        name = strategy_name(strategy)
        if name not in _ONE | _ONE_FOR_A_DEPENDENCY:
            continue
        dependency = strategy.options.dependency if name in _ONE_FOR_A_DEPENDENCY else None
        if (name, dependency) in seen:
            where = f" for the dependency '{dependency}'" if dependency else ""
            issue = f"'{bound.name}' has two strategies '{name}'{where}, and it is not clear which one counts"
            raise ConfigurationError(issue=issue, resolution="keep one of them")
        seen.add((name, dependency))
    _check_turns(listed, bound)


def _check_turns(strategies: Iterable[Any], bound: CalledOperation) -> None:
    """Refuse a hedge that would start when the run beside it has been ended already."""
    limit = next((item.options.seconds for item in strategies if isinstance(item, AttemptTimeout)), None)
    delay = next((item.options.delay_s for item in strategies if isinstance(item, Hedge)), None)
    if limit is not None and delay is not None and delay >= limit:
        raise ConfigurationError(
            issue=f"'{bound.name}' ends a run after {limit:g} seconds and hedges it after {delay:g}, which is too late",
            resolution="lower Hedge's delay_s, or raise AttemptTimeout",
        )


def check_retries(strategies: Iterable[Any], error: str, bound: CalledOperation) -> None:
    """Refuse two `Retry` for one class of errors.

    Raises:
        CONFIG_ERROR: The second would go on where the first has given up, so that their attempts add up.
    """
    if len([item for item in strategies if isinstance(item, Retry)]) > 1:
        raise ConfigurationError(
            issue=f"'{bound.name}' has two Retry for {error}, and the second would go on where the first gives up",
            resolution="keep one",
        )
