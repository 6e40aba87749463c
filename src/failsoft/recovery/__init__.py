"""Recovery strategies, and the `RecoveryManager` that applies them to failed calls."""

from __future__ import annotations

import importlib
from typing import Any

_FACE = {
    "failsoft.framework.call.call": "Call",
    "failsoft.framework.call.chain": "Proceed RecoveryResult RecoveryStrategy",
    "failsoft.recovery.idempotency.strategy": "Idempotency",
    "failsoft.recovery.manager": "RecoveryManager",
    "failsoft.recovery.strategies.alternate_paths": "Alternate AlternatePaths PathSource",
    "failsoft.recovery.strategies.ask_person": "AskPerson",
    "failsoft.recovery.strategies.attempt_timeout": "AttemptTimeout",
    "failsoft.recovery.strategies.bulkhead": "Bulkhead",
    "failsoft.recovery.strategies.chaos": "Chaos",
    "failsoft.recovery.strategies.circuit_breaker": "Circuit CircuitBreaker CircuitView",
    "failsoft.recovery.strategies.fallback": "Fallback",
    "failsoft.recovery.strategies.hedge": "Hedge",
    "failsoft.recovery.strategies.rate_limit": "RateLimit",
    "failsoft.recovery.strategies.repair_arguments": "RepairArguments",
    "failsoft.recovery.strategies.retry": "Retry",
    "failsoft.recovery.strategies.retry_budget": "RetryBudget",
    "failsoft.recovery.strategies.stale_cache": "StaleCache",
}
"""The public names, by module; each loads on first use, since most servers use three of the strategies.

`__init__.pyi` is generated from this.
"""

_homes = {name: module for module, names in _FACE.items() for name in names.split()}

__all__ = sorted(_homes)  # noqa: PLE0605 - made from the one list of names


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first access."""
    home = _homes.get(name)
    if home is None:
        msg = f"module 'failsoft.recovery' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value
