"""Recovery strategies, and the `RecoveryManager` that applies them to failed calls."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from failsoft.framework.call.call import Call
    from failsoft.framework.call.chain import RecoveryResult, RecoveryStrategy
    from failsoft.recovery.manager import RecoveryManager
    from failsoft.recovery.strategies.alternate_paths import Alternate, AlternatePaths, PathSource
    from failsoft.recovery.strategies.attempt_timeout import AttemptTimeout
    from failsoft.recovery.strategies.bulkhead import Bulkhead
    from failsoft.recovery.strategies.chaos import Chaos
    from failsoft.recovery.strategies.circuit_breaker import Circuit, CircuitBreaker, CircuitView
    from failsoft.recovery.strategies.fallback import Fallback
    from failsoft.recovery.strategies.hedge import Hedge
    from failsoft.recovery.strategies.idempotency.strategy import Idempotency
    from failsoft.recovery.strategies.rate_limit import RateLimit
    from failsoft.recovery.strategies.repair_arguments import RepairArguments
    from failsoft.recovery.strategies.retry import Retry
    from failsoft.recovery.strategies.retry_budget import RetryBudget
    from failsoft.recovery.strategies.stale_cache import StaleCache

__all__ = [
    "Alternate",
    "AlternatePaths",
    "AttemptTimeout",
    "Bulkhead",
    "Call",
    "Chaos",
    "Circuit",
    "CircuitBreaker",
    "CircuitView",
    "Fallback",
    "Hedge",
    "Idempotency",
    "PathSource",
    "RateLimit",
    "RecoveryManager",
    "RecoveryResult",
    "RecoveryStrategy",
    "RepairArguments",
    "Retry",
    "RetryBudget",
    "StaleCache",
]

_HOMES = {
    "Alternate": "recovery.strategies.alternate_paths",
    "AlternatePaths": "recovery.strategies.alternate_paths",
    "AttemptTimeout": "recovery.strategies.attempt_timeout",
    "Bulkhead": "recovery.strategies.bulkhead",
    "Call": "framework.call.call",
    "Chaos": "recovery.strategies.chaos",
    "Circuit": "recovery.strategies.circuit_breaker",
    "CircuitBreaker": "recovery.strategies.circuit_breaker",
    "CircuitView": "recovery.strategies.circuit_breaker",
    "Fallback": "recovery.strategies.fallback",
    "Hedge": "recovery.strategies.hedge",
    "Idempotency": "recovery.strategies.idempotency.strategy",
    "PathSource": "recovery.strategies.alternate_paths",
    "RateLimit": "recovery.strategies.rate_limit",
    "RecoveryManager": "recovery.manager",
    "RecoveryResult": "framework.call.chain",
    "RecoveryStrategy": "framework.call.chain",
    "RepairArguments": "recovery.strategies.repair_arguments",
    "Retry": "recovery.strategies.retry",
    "RetryBudget": "recovery.strategies.retry_budget",
    "StaleCache": "recovery.strategies.stale_cache",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first access: most servers use three of the strategies."""
    if name not in _HOMES:
        msg = f"module 'failsoft.recovery' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"failsoft.{_HOMES[name]}"), name)
