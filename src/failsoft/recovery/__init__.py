"""Recovery: what may take the place of a failure, and the strategies that find it."""

from failsoft.framework.recovery_port import RecoveryResult, RecoveryStrategy
from failsoft.recovery.alternate_paths import AlternatePaths
from failsoft.recovery.alternates import Alternate, PathSource
from failsoft.recovery.manager import RecoveryManager
from failsoft.recovery.retry import Retry, RetryOptions

__all__ = [
    "Alternate",
    "AlternatePaths",
    "PathSource",
    "RecoveryManager",
    "RecoveryResult",
    "RecoveryStrategy",
    "Retry",
    "RetryOptions",
]
