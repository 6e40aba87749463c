"""Recovery: what may take the place of a failure, and the strategies that find it."""

from failsoft.framework.recovery_port import RecoveryResult, RecoveryStrategy
from failsoft.recovery.alternate_paths import AlternatePaths
from failsoft.recovery.alternates import Alternate, PathSource
from failsoft.recovery.circuit import CircuitOptions, CircuitView
from failsoft.recovery.circuit_breaker import CircuitBreaker
from failsoft.recovery.idempotency import Idempotency, IdempotencyOptions
from failsoft.recovery.manager import RecoveryManager
from failsoft.recovery.retry import Retry, RetryOptions
from failsoft.recovery.retry_budget import RetryBudget, RetryBudgetOptions

__all__ = [
    "Alternate",
    "AlternatePaths",
    "CircuitBreaker",
    "CircuitOptions",
    "CircuitView",
    "Idempotency",
    "IdempotencyOptions",
    "PathSource",
    "RecoveryManager",
    "RecoveryResult",
    "RecoveryStrategy",
    "Retry",
    "RetryBudget",
    "RetryBudgetOptions",
    "RetryOptions",
]
