"""Recovery strategies, and the `RecoveryManager` that applies them to failed calls."""

from failsoft.framework.call.call import Call
from failsoft.framework.call.recovery_port import RecoveryResult, RecoveryStrategy
from failsoft.recovery.classification import Phase, Situation, verdict
from failsoft.recovery.manager import RecoveryManager
from failsoft.recovery.strategies.adaptive_concurrency import AdaptiveConcurrency, AdaptiveConcurrencyOptions
from failsoft.recovery.strategies.alternate_paths.rules import Alternate, PathSource
from failsoft.recovery.strategies.alternate_paths.strategy import AlternatePaths
from failsoft.recovery.strategies.attempt_timeout import AttemptTimeout, AttemptTimeoutOptions
from failsoft.recovery.strategies.bulkhead import Bulkhead, BulkheadOptions
from failsoft.recovery.strategies.chaos import Chaos, ChaosOptions
from failsoft.recovery.strategies.circuit_breaker.circuit import CircuitOptions, CircuitView
from failsoft.recovery.strategies.circuit_breaker.strategy import CircuitBreaker
from failsoft.recovery.strategies.fallback import Fallback, FallbackOptions
from failsoft.recovery.strategies.hedge import Hedge, HedgeOptions
from failsoft.recovery.strategies.idempotency.strategy import Idempotency, IdempotencyOptions
from failsoft.recovery.strategies.rate_limit.strategy import RateLimit, RateLimitOptions
from failsoft.recovery.strategies.repair_arguments.strategy import RepairArguments
from failsoft.recovery.strategies.retry import Retry, RetryOptions
from failsoft.recovery.strategies.retry_budget import RetryBudget, RetryBudgetOptions
from failsoft.recovery.strategies.stale_cache import StaleCache, StaleCacheOptions

__all__ = [
    "AdaptiveConcurrency",
    "AdaptiveConcurrencyOptions",
    "Alternate",
    "AlternatePaths",
    "AttemptTimeout",
    "AttemptTimeoutOptions",
    "Bulkhead",
    "BulkheadOptions",
    "Call",
    "Chaos",
    "ChaosOptions",
    "CircuitBreaker",
    "CircuitOptions",
    "CircuitView",
    "Fallback",
    "FallbackOptions",
    "Hedge",
    "HedgeOptions",
    "Idempotency",
    "IdempotencyOptions",
    "PathSource",
    "Phase",
    "RateLimit",
    "RateLimitOptions",
    "RecoveryManager",
    "RecoveryResult",
    "RecoveryStrategy",
    "RepairArguments",
    "Retry",
    "RetryBudget",
    "RetryBudgetOptions",
    "RetryOptions",
    "Situation",
    "StaleCache",
    "StaleCacheOptions",
    "verdict",
]
