"""Rejects conflicting strategies of one operation when the toolset is constructed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.chain import Chain, strategy_name
from failsoft.framework.errors import ConfigurationError
from failsoft.recovery.facts import facts_of
from failsoft.recovery.strategies.attempt_timeout import AttemptTimeout
from failsoft.recovery.strategies.hedge import Hedge
from failsoft.recovery.strategies.retry import Retry


def check_combination(strategies: Iterable[Any], bound: BoundOperation) -> None:
    """Reject conflicting strategies of one operation.

    Raises:
        CONFIG_ERROR: A duplicate strategy, two for the same dependency, or one that would never take effect.
    """
    listed = list(strategies)
    seen: set[tuple[str, str | None]] = set()
    for strategy in listed:
        name, facts = strategy_name(strategy), facts_of(strategy)
        single_for = getattr(strategy, "one_for", None) if facts is None else facts.single_for
        if single_for is None:
            continue
        dependency = options_of(strategy).dependency if single_for == "dependency" else None
        if (name, dependency) in seen:
            where = f" for the dependency '{dependency}'" if dependency else ""
            issue = f"'{bound.name}' has two strategies '{name}'{where}, and it is not clear which one counts"
            raise ConfigurationError(issue=issue, resolution="keep one of them")
        seen.add((name, dependency))
    _check_turns(listed, bound)


def _check_turns(strategies: Iterable[Any], bound: BoundOperation) -> None:
    """Reject a hedge whose delay exceeds the attempt's time limit."""
    limit = next((options_of(item).seconds for item in strategies if isinstance(item, AttemptTimeout)), None)
    delay = next((options_of(item).delay_s for item in strategies if isinstance(item, Hedge)), None)
    if limit is not None and delay is not None and delay >= limit:
        raise ConfigurationError(
            issue=f"'{bound.name}' ends a run after {limit:g} seconds and hedges it after {delay:g}, which is too late",
            resolution="lower Hedge's delay_s, or raise AttemptTimeout",
        )


def options_of(strategy: Any) -> Any:
    """Return the options of a strategy."""
    return getattr(strategy, "options", strategy)


def check_retries(strategies: Iterable[Any], error: str, bound: BoundOperation) -> None:
    """Reject two `Retry` for one error class.

    Raises:
        CONFIG_ERROR: The second would continue where the first gave up, so their attempts would add up.
    """
    if len([item for item in strategies if isinstance(item, Retry)]) > 1:
        raise ConfigurationError(
            issue=f"'{bound.name}' has two Retry for {error}, so their attempts would add up",
            resolution="keep one",
        )


def shared_by_dependency(strategies: Iterable[Any]) -> Mapping[tuple[str, str], Any]:
    """Return the options of the strategies for a dependency, by the strategy's name and the dependency."""
    with_options: list[tuple[str, Any]] = [(strategy_name(item), options_of(item)) for item in strategies]
    return {(name, item.dependency): item for name, item in with_options if getattr(item, "dependency", None)}


def check_shared(chains: Mapping[BoundOperation, Chain]) -> None:
    """Reject circuit breakers of one dependency with different options: they share one circuit.

    Raises:
        CONFIG_ERROR: With both operations and the options in which they differ.
    """
    first: dict[str, tuple[BoundOperation, Any]] = {}
    for bound, chain in chains.items():
        for (name, dependency), options in shared_by_dependency(chain.recovery.strategies).items():
            if name != "circuit_breaker":
                continue
            other, known = first.setdefault(dependency, (bound, options))
            differing = [
                item.name for item in fields(known) if getattr(known, item.name) != getattr(options, item.name)
            ]
            if differing:
                places = [f"'{item.tool_name}.{item.name}'" for item in (other, bound)]
                raise ConfigurationError(
                    issue=f"the circuit breakers of the dependency '{dependency}' in {' and '.join(places)} are one "
                    f"circuit and have different options: {', '.join(differing)}",
                    resolution="give them the same options, or other names of dependencies",
                )
