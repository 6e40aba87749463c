"""Recovery: what may take the place of a failure, and the strategies that find it."""

from failsoft.framework.recovery_port import RecoveryResult, RecoveryStrategy
from failsoft.recovery.adaptive_concurrency import AdaptiveConcurrency, AdaptiveConcurrencyOptions
from failsoft.recovery.alternate_paths import AlternatePaths
from failsoft.recovery.alternates import Alternate, PathSource
from failsoft.recovery.attempt_timeout import AttemptTimeout, AttemptTimeoutOptions
from failsoft.recovery.bulkhead import Bulkhead, BulkheadOptions
from failsoft.recovery.chaos import Chaos, ChaosOptions
from failsoft.recovery.circuit import CircuitOptions, CircuitView
from failsoft.recovery.circuit_breaker import CircuitBreaker
from failsoft.recovery.classification import Phase, Situation, verdict
from failsoft.recovery.fallback import Fallback, FallbackOptions
from failsoft.recovery.hedge import Hedge, HedgeOptions
from failsoft.recovery.idempotency import Idempotency, IdempotencyOptions
from failsoft.recovery.manager import RecoveryManager
from failsoft.recovery.rate_limit import RateLimit, RateLimitOptions
from failsoft.recovery.repair_arguments import RepairArguments
from failsoft.recovery.retry import Retry, RetryOptions
from failsoft.recovery.retry_budget import RetryBudget, RetryBudgetOptions
from failsoft.recovery.stale_cache import StaleCache, StaleCacheOptions

__all__ = [
    "AdaptiveConcurrency",
    "AdaptiveConcurrencyOptions",
    "Alternate",
    "AlternatePaths",
    "AttemptTimeout",
    "AttemptTimeoutOptions",
    "Bulkhead",
    "BulkheadOptions",
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
