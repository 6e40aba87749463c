"""The strategies that a configuration can name, and what it may say about each."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from failsoft.framework.did_you_mean import closest_name
from failsoft.recovery.adaptive_concurrency import AdaptiveConcurrency, AdaptiveConcurrencyOptions
from failsoft.recovery.alternate_paths import AlternatePaths
from failsoft.recovery.attempt_timeout import AttemptTimeout, AttemptTimeoutOptions
from failsoft.recovery.bulkhead import Bulkhead, BulkheadOptions
from failsoft.recovery.chaos import Chaos, ChaosOptions
from failsoft.recovery.circuit import CircuitOptions
from failsoft.recovery.circuit_breaker import CircuitBreaker
from failsoft.recovery.fallback import Fallback, FallbackOptions
from failsoft.recovery.hedge import Hedge, HedgeOptions
from failsoft.recovery.idempotency import Idempotency, IdempotencyOptions
from failsoft.recovery.rate_limit import RateLimit, RateLimitOptions
from failsoft.recovery.repair_arguments import RepairArguments
from failsoft.recovery.retry import Retry, RetryOptions
from failsoft.recovery.retry_budget import RetryBudget, RetryBudgetOptions
from failsoft.recovery.stale_cache import StaleCache, StaleCacheOptions

__all__ = ["CONFIGURABLE", "Configurable"]

_IN_CODE_ONLY = frozenset({"derive", "on"})
"""Options that are functions or classes."""


@dataclass(frozen=True, slots=True)
class Configurable:
    """One strategy as a configuration knows it.

    Args:
        strategy: Its class.
        options: The dataclass of its options; None for one that has none to set.
        is_made: Whether a configuration can add it; else it only changes one that the code has.
    """

    strategy: type[Any]
    options: type[Any] | None
    is_made: bool = True

    @property
    def fields(self) -> dict[str, dataclasses.Field[Any]]:
        """The options that can be set, by name."""
        if self.options is None:
            return {}
        return {field.name: field for field in dataclasses.fields(self.options) if field.name not in _IN_CODE_ONLY}

    @property
    def has_dependency(self) -> bool:
        """Whether it can stand for a dependency that several operations have in common."""
        return "dependency" in self.fields

    def faults(self, given: Mapping[str, Any]) -> dict[str, str]:
        """Return what is wrong with options, by their name; under an empty name what is wrong with them together."""
        hints = get_type_hints(self.options) if self.options is not None else {}
        faults = {}
        for name, value in given.items():
            if name not in self.fields:
                closest = closest_name(name, self.fields)
                meant = f"; did you mean '{closest}'?" if closest else ""
                faults[name] = f"there is no such option{meant}"
                continue
            try:
                TypeAdapter(hints[name]).validate_python(value, strict=True)
            except ValidationError as error:
                faults[name] = error.errors(include_url=False, include_input=False)[0]["msg"]
        if not faults and self.is_made and self.missing(given) == []:
            try:
                self.make(given)
            except ValueError as error:
                faults[""] = str(error)
        return faults

    def missing(self, given: Mapping[str, Any]) -> list[str]:
        """Return the options without a default that are not given."""
        needed = [name for name, field in self.fields.items() if field.default is dataclasses.MISSING]
        return [name for name in needed if name not in given]

    def make(self, given: Mapping[str, Any]) -> Any:
        """Return the strategy with these options."""
        return self.strategy(**given)

    def changed(self, strategy: Any, given: Mapping[str, Any]) -> Any:
        """Return a strategy of the code with these options in the place of its own; what else it was given stays."""
        if not given or self.options is None:
            return strategy
        twin = copy.copy(strategy)
        twin.options = dataclasses.replace(strategy.options, **given)
        return twin


CONFIGURABLE: dict[str, Configurable] = {
    "adaptive_concurrency": Configurable(AdaptiveConcurrency, AdaptiveConcurrencyOptions),
    "alternate_path": Configurable(AlternatePaths, None),
    "attempt_timeout": Configurable(AttemptTimeout, AttemptTimeoutOptions),
    "bulkhead": Configurable(Bulkhead, BulkheadOptions),
    "chaos": Configurable(Chaos, ChaosOptions),
    "circuit_breaker": Configurable(CircuitBreaker, CircuitOptions),
    "fallback": Configurable(Fallback, FallbackOptions, is_made=False),
    "hedge": Configurable(Hedge, HedgeOptions),
    "idempotency": Configurable(Idempotency, IdempotencyOptions),
    "rate_limit": Configurable(RateLimit, RateLimitOptions),
    "repair_arguments": Configurable(RepairArguments, None),
    "retry": Configurable(Retry, RetryOptions),
    "retry_budget": Configurable(RetryBudget, RetryBudgetOptions),
    "stale_cache": Configurable(StaleCache, StaleCacheOptions),
}
"""By the name that is used in receipts, metrics and `describe()`."""
